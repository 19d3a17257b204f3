// A LanguageModel turns token ids into logits, on one device or shared between two.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wick/model/batch.h"
#include "wick/model/checkpoint/checkpoint.h"
#include "wick/model/checkpoint/classifier.h"
#include "wick/model/checkpoint/pooling.h"
#include "wick/model/checkpoint/text_prompts.h"
#include "wick/model/kv/cached_sequence.h"
#include "wick/model/kv/kv_pool.h"
#include "wick/model/placement.h"
#include "wick/tensor/tensor.h"

namespace wick {

struct ModelInfo {
  std::string architecture;    // "llama"
  std::string name;            // general.name, fit for a message (printable_name); else the file's
  int64_t context_length = 0;  // the most positions that the model was made for
  int64_t vocab_size = 0;
  int64_t layers = 0;
  int64_t width = 0;         // embedding length
  int64_t vector_width = 0;  // of vectors of texts: the same, or that of the dense layers after pooling
  int64_t parameters = 0;
  uint64_t file_bytes = 0;                    // of all parts of the model file
  Pooling pooling = Pooling::mean;            // as the file says
  bool headless = false;                      // it gives vectors of texts, and no logits
  std::optional<Classifier> classifier = {};  // of a model with a head for scores
  TextPrompts prompts = {};
  bool encoder = false;  // tokens see later ones
  // Limits of an encoder–decoder: tokens of a source, and of a target; 0: the model is none. context_length is both together.
  int64_t source_length = 0, target_length = 0;
  std::vector<int32_t> target_start = {};  // the tokens that a target begins with
  std::string context_limit = {};          // for people: the key that says context_length, or what is not supported beyond it

  // The longest context for a message: its number, and context_limit.
  [[nodiscard]] std::string longest() const;
};

// Which tokens of a call get logits.
enum class LogitRows { last, all };

// The input of a weight.
struct WeightInput {
  std::string_view weight;  // "blk.0.attn_q.weight"
  const Tensor& values;     // [tokens, columns of the weight]; or [tokens, used, columns], where each matrix of a stack has its own
  // For a stack of matrices: their number, and those that each token uses, [tokens, used].
  int64_t matrices = 1;
  const Tensor* chosen = nullptr;
};
// Called with the input of each weight.
using InputObserver = std::function<void(const WeightInput& input)>;

struct LoadOptions {
  // f32 activations throughout; otherwise the device may round them to 8 bits.
  bool precise = false;
  // A CPU may round F16 weights, and what they are multiplied by, to the 8 bits of bf16; otherwise F16 weights keep their 11 bits.
  bool fast = false;
  // A token's results have the same bits alone and in any batch, for any way its text was cut into batches and any number of threads.
  bool deterministic = false;
  // A device that runs kernels records steps of few tokens and replays them (model/recorded_steps.h).
  bool record = true;
  // Told how much of the weights is ready, in bytes; may be empty.
  std::function<void(uint64_t done, uint64_t total)> progress = {};
  // Told how many of the layers are ready; may be empty.
  std::function<void(int64_t done, int64_t total)> layer_progress = {};
  // Shown the inputs of all weights of the layers, each time the model runs; may be empty.
  InputObserver observe = {};
  // Dtype of the KV cache, one of kCacheDTypes; default f16, with `precise` f32.
  std::optional<DType> kv_type = {};
  // Parts of the model on another device.
  PlacementOptions placement = {};

  [[nodiscard]] DType cache_dtype() const noexcept { return kv_type.value_or(precise ? DType::f32 : DType::f16); }
};

// Whether a call is to be given up.
using StopCheck = std::function<bool()>;

// The result of a model for a batch.
enum class ModelResult {
  logits,  // f32 [logit_rows, vocab_size]
  hidden,  // f32 [logit_rows, width]: what the head is multiplied by
  // f32 [sequences, vector_width]: the hidden states of each sequence in this batch as one vector. Pooling::rank: [sequences, labels],
  // scores in its place; or [tokens, labels], where Classifier::of_tokens.
  pooled,
};

class LoraAdapter;

// An adapter that a model has taken in; its number in a batch is its place in LanguageModel::adapters(), from 1.
struct LoadedAdapter {
  std::string name;
  float scale = 1;        // for who names no other
  uint64_t identity = 0;  // of what it computes: a hash of its numbers
};

struct ForwardOptions {
  ModelResult result = ModelResult::logits;
  // Pooling for ModelResult::pooled; none: the model's own. Errors of forward(): unsupported for Pooling::rank.
  std::optional<Pooling> pooling = {};
  // Asked before each layer, for a long prompt takes long; may be empty.
  StopCheck stop = {};
  // i32 [any] on the model's device: what Batch::earlier_token names, such as tokens that an earlier step has drawn and that the host has
  // not read yet. Each must be in the vocabulary. Once they are known, KvPool::set_tokens is told.
  Tensor earlier = {};
};

class LanguageModel {
 public:
  LanguageModel() = default;
  virtual ~LanguageModel() = default;
  LanguageModel(const LanguageModel&) = delete;
  LanguageModel& operator=(const LanguageModel&) = delete;

  [[nodiscard]] virtual const ModelInfo& info() const noexcept = 0;
  // Where tokens go in and results come out.
  [[nodiscard]] virtual const Device& device() const noexcept = 0;
  // Which device computes which layer; nullptr: device() computes all.
  [[nodiscard]] virtual const Placement* placement() const noexcept { return nullptr; }
  // Layout of the data kept for each position.
  [[nodiscard]] virtual const KvLayout& cache_layout() const noexcept = 0;
  // The device of each layer of cache_layout(), then of each of its states; empty: all on device(). For KvPoolOptions::devices.
  [[nodiscard]] virtual std::vector<Device> cache_devices() const { return {}; }

  // Steps of no more rows are recorded by the device, with room for a power of two; 0: none are.
  [[nodiscard]] virtual int64_t recorded_rows() const { return 0; }

  // An empty pool for so many sequences of `context` positions each, or for more that are shorter, at most `most` where states are kept
  // (KvPoolOptions::sequences). Errors: context_full for more positions than info().context_length; out_of_memory.
  [[nodiscard]] std::unique_ptr<KvPool> new_pool(int64_t context, int64_t sequences = 1, bool keep_prefixes = false,
                                                 int64_t most = 0) const;
  // A sequence in a pool of its own. Errors: new_pool's.
  [[nodiscard]] std::unique_ptr<CachedSequence> new_sequence(int64_t capacity) const;

  // Appends each slice's tokens to its sequence, and returns the results in the order of the batch's logit_rows. A batch is processed in
  // parts, so that scratch memory does not grow with it; the result itself does. Where options.stop says so the result is an empty tensor.
  // Errors: those of KvPool::begin; index_out_of_range for a token outside the vocabulary; invalid_argument and device_mismatch for a pool
  // of another model or device. All sequences are then what they were, as they are where it was stopped.
  [[nodiscard]] virtual Tensor forward(const Batch& batch, KvPool& pool, const ForwardOptions& options) const = 0;
  [[nodiscard]] Tensor forward(const Batch& batch, KvPool& pool) const { return forward(batch, pool, ForwardOptions{}); }
  // The same for one sequence: logits of the last token, or of all.
  [[nodiscard]] Tensor forward(std::span<const int32_t> tokens, CachedSequence& sequence, LogitRows rows, const StopCheck& stop = {}) const;

  // Takes in an adapter under a name, which rows of a batch may then go through (SequenceSlice::adapters). Not while another thread is in
  // forward(). Errors: invalid_argument for a name that is taken; shape_mismatch and unsupported for an adapter of another model and for
  // weights that this one computes in no way that an adapter could change, naming file and tensor; out_of_memory. None is then added.
  virtual void add_adapter(const std::string& name, std::shared_ptr<const LoraAdapter> adapter, float scale);
  [[nodiscard]] virtual std::span<const LoadedAdapter> adapters() const noexcept { return {}; }
};

// Supported values of general.architecture.
[[nodiscard]] std::vector<std::string_view> supported_architectures();

// Tokens that go through the layers together.
[[nodiscard]] int64_t rows_at_once(const Device& device);

// Loads a model of any architecture Wick knows. The files' bytes are used where they lie, so that a loaded model answers at once; the
// device may then prepare its weights (Runtime::prepare_weight), whose pages of the file are forgotten, so that each is in memory once. The
// model keeps the mappings.
// Errors: unsupported (architecture, tensor type, kv_type), not_found (a tensor or key), corrupt_file, shape_mismatch; each names the file.
[[nodiscard]] std::unique_ptr<LanguageModel> load_language_model(const Checkpoint& checkpoint, const Device& device,
                                                                 const LoadOptions& options = {});
[[nodiscard]] std::unique_ptr<LanguageModel> load_language_model(const GgufFile& file, const Device& device,
                                                                 const LoadOptions& options = {});

}  // namespace wick
