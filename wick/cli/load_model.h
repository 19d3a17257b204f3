// Opening a model file as a language model with its tokenizer, on a chosen device.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "wick/cli/console.h"
#include "wick/cli/flags/flags.h"
#include "wick/device/device.h"
#include "wick/model/checkpoint/checkpoint.h"
#include "wick/model/language_model.h"
#include "wick/server/loading_state.h"
#include "wick/text/tokenizer/tokenizer.h"

namespace wick {

struct LoadedModel {
  Checkpoint file;
  std::shared_ptr<const Tokenizer> tokenizer;  // none if it was not requested
  std::unique_ptr<LanguageModel> model;
  double load_seconds = 0;
};

// Refuses fakes in strict mode. Errors: invalid_argument.
void check_fakes(const Console& console, bool strict, bool explicit_device);
// The device that a model is loaded for, and what of it another one computes.
struct ModelDevice {
  ModelDevice(Device of, PlacementOptions parts = {}) : device(std::move(of)), placement(std::move(parts)) {}  // NOLINT(*-explicit-*)

  Device device;
  PlacementOptions placement;
};

// The device of that name; "auto": the best one. Errors: those of Device::best and Device::parse; invalid_argument for flags that exclude
// each other, and for fakes in strict mode.
[[nodiscard]] Device open_device(const Console& console, const DeviceChoice& choice, int threads);
// The same for a model, which the flags may share between that device and the CPU. Errors: also invalid_argument where there is no GPU that
// could have a part of it; backend_not_linked in a program without the CPU.
[[nodiscard]] ModelDevice open_model_device(const Console& console, const DeviceChoice& choice, int threads);

// Says which ops ran on the CPU instead, how often and how long; nothing where none did.
void note_fallback_ops(const Console& console, const Device& device);

// How numbers are kept while a model runs.
struct Precision {
  bool precise = false;
  bool fast = false;             // F16 weights may be rounded to bf16
  bool deterministic = false;    // results do not depend on the batch or the threads
  std::optional<DType> kv_type;  // the model's choice, if none is given

  [[nodiscard]] DType cache_dtype() const noexcept { return LoadOptions{.precise = precise, .kv_type = kv_type}.cache_dtype(); }
  // ", precise, KV q8_0": what is not usual; empty if nothing is.
  [[nodiscard]] std::string describe() const;
};

// The word for no pooling: a vector for each token.
inline constexpr std::string_view kNoPooling = "none";
// --pooling: how vectors of texts are made, if not as the model's file says. With `each_token`, kNoPooling is one of its values, which
// sets it.
Flags::Added add_pooling(Flags& flags, std::optional<Pooling>& pooling, bool* each_token = nullptr);

// --precise, --fast, --deterministic and --kv-type.
void add_precision(Flags& flags, Precision& precision);

enum class WithTokenizer { no, yes };

constexpr int64_t kLogitsAtOnce = 64;  // tokens whose logits are in memory together

// Says what was loaded, and shows progress. Errors: those of Checkpoint, load_tokenizer, load_language_model and check_vocabulary.
[[nodiscard]] LoadedModel load_model(const Console& console, const std::filesystem::path& path, const ModelDevice& device,
                                     const Precision& precision, WithTokenizer with_tokenizer = WithTokenizer::yes,
                                     InputObserver observe = {}, const server::Progress& progress = {});

}  // namespace wick
