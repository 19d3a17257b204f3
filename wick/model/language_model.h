// A LanguageModel turns token ids into logits, on one device.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wick/formats/gguf.h"
#include "wick/model/kv_cache.h"
#include "wick/tensor/tensor.h"

namespace wick {

struct ModelInfo {
  std::string architecture;    // "llama"
  std::string name;            // general.name, fit for a message (printable_name); else the file's
  int64_t context_length = 0;  // the most positions that the model was made for
  int64_t vocab_size = 0;
  int64_t layers = 0;
  int64_t width = 0;  // embedding length
  int64_t parameters = 0;
  uint64_t file_bytes = 0;  // of all parts of the model file
};

// Which tokens of a call get logits.
enum class LogitRows { last, all };

// Is shown what a weight ("blk.0.attn_q.weight") is multiplied by: [tokens, columns of the weight].
using InputObserver = std::function<void(std::string_view weight, const Tensor& input)>;

struct LoadOptions {
  // f32 activations throughout; otherwise the device may round them to 8 bits.
  bool precise = false;
  // A CPU may round F16 weights, and what they are multiplied by, to the 8 bits of bf16; otherwise F16 weights keep their 11 bits.
  bool fast = false;
  // Told how much of the weights is ready, in bytes; may be empty.
  std::function<void(uint64_t done, uint64_t total)> progress = {};
  // Shown the inputs of all weights of the layers, each time the model runs; may be empty.
  InputObserver observe = {};
  // What keys and values are kept as, one of kCacheDTypes; without it f16, with `precise` f32.
  std::optional<DType> kv_type = {};

  [[nodiscard]] DType cache_dtype() const noexcept { return kv_type.value_or(precise ? DType::f32 : DType::f16); }
};

// Whether a call is to be given up.
using StopCheck = std::function<bool()>;

class LanguageModel {
 public:
  LanguageModel() = default;
  virtual ~LanguageModel() = default;
  LanguageModel(const LanguageModel&) = delete;
  LanguageModel& operator=(const LanguageModel&) = delete;

  [[nodiscard]] virtual const ModelInfo& info() const noexcept = 0;
  [[nodiscard]] virtual const Device& device() const noexcept = 0;
  // An empty cache for `capacity` positions. Errors: context_full if that is more than info().context_length; out_of_memory.
  [[nodiscard]] virtual std::unique_ptr<KvCache> new_cache(int64_t capacity) const = 0;
  // Appends the tokens to the cache and returns f32 logits [rows, vocab]. At least one token. Long prompts are processed in parts,
  // so that scratch memory does not grow with them; with LogitRows::all the result itself does.
  // Errors: context_full, leaving the cache as it was; index_out_of_range for a token outside the vocabulary.
  [[nodiscard]] Tensor forward(std::span<const int32_t> tokens, KvCache& cache, LogitRows rows) const {
    return forward(tokens, cache, rows, {});
  }
  // The same, but `stop` is asked before each layer, for a long prompt takes long. Where it says so the result is an empty tensor, and the
  // cache as it was.
  [[nodiscard]] virtual Tensor forward(std::span<const int32_t> tokens, KvCache& cache, LogitRows rows, const StopCheck& stop) const = 0;
  // A loaded model reads its weights where the file is mapped, which answers at once. A CPU decodes about twice as fast from weights
  // that are rearranged for it; prefill and results are the same. This takes the next matrices into that layout until `seconds` have
  // passed, at least one; where memory is short the rest stays in the file. Returns whether nothing is left to do. Not while another thread
  // is in forward().
  virtual bool rearrange(double /*seconds*/) { return true; }
};

// What general.architecture may be.
[[nodiscard]] std::vector<std::string_view> supported_architectures();

// Loads a model of any architecture Wick knows from an open GGUF file. The file's bytes are used where they lie; what is rearranged is
// forgotten, so that each weight is in memory once.
// Errors: unsupported (architecture, tensor type, kv_type), not_found (a tensor or key), corrupt_file, shape_mismatch; each names the file.
[[nodiscard]] std::unique_ptr<LanguageModel> load_language_model(const GgufFile& file, const Device& device,
                                                                 const LoadOptions& options = {});

}  // namespace wick
