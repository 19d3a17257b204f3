// An Llm is a language model with its tokenizer, loaded from a file or folder: tokenize, generate, stream, or take logits and sample.
//
//   wick::Llm model = wick::Llm::load("model.gguf");
//   std::cout << model.generate("Once upon a time").text << "\n";
//   model.generate("The sea", {.max_tokens = 64}, [](std::string_view piece) { std::cout << piece << std::flush; return true; });
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wick/base/remedy.h"
#include "wick/device/device.h"
#include "wick/engine/chat.h"
#include "wick/engine/generation.h"
#include "wick/layout/dtype.h"
#include "wick/tensor/tensor.h"

namespace [[gnu::visibility("default")]] wick {

struct OutputFormat;
class Tokenizer;

// Errors that a setting of these would avoid say so (RemediableError, "wick/base/remedy.h").
struct LlmOptions {
  // None: Device::best().
  std::optional<Device> device = {};
  // The most tokens of prompt and generated text together. 0: the model's own context length, at most 4096.
  int64_t context = 0;
  // f32 activations and cache throughout: slower. Otherwise the device may round activations to 8 bits.
  bool precise = false;
  // A CPU may round F16 weights, and what they are multiplied by, to the 8 bits of bf16: long prompts are read faster. Otherwise F16
  // weights keep their 11 bits.
  bool fast = false;
  // Results have the same bits for any way a text was cut into batches and any number of threads; prompts are read more slowly.
  bool deterministic = false;
  // Dtype of the KV cache: f32, f16, bf16 or q8_0. None: f16, with `precise` f32.
  std::optional<DType> kv_dtype = {};
  // Where the device's memory does not hold the whole model: the device has the last so many layers, and the CPU the others, the embedding
  // and the head. More than info().layers, or none: all of it is the device's. Errors: invalid_argument for a number below 0, and where the
  // device is the CPU.
  std::optional<int64_t> gpu_layers = {};
  // The CPU has the experts of the first so many layers.
  int64_t cpu_expert_layers = 0;
  // For chat(): a name such as "chatml", or a file. Empty: the template that came with the model.
  std::string chat_template = {};
  // Called while the weights load, with bytes; may be empty.
  std::function<void(uint64_t done, uint64_t total)> progress = {};
};

struct LlmInfo {
  std::string architecture;    // "llama"
  std::string name;            // general.name; the file's name without one
  int64_t context_length = 0;  // the most positions that the model was trained for
  int64_t vocab_size = 0;
  int64_t layers = 0;
  int64_t parameters = 0;
};

// A handle: copies share the model. Any number of threads may use one; generations and logits run one after another.
class Llm {
 public:
  // Reads a GGUF file (of a split one, the first part) or a Hugging Face folder. The weights stay mapped, so that loading takes
  // milliseconds. Errors: not_found, corrupt_file, unsupported (architecture, tensor type), shape_mismatch, each naming the file;
  // invalid_argument for a context beyond the model's; no_device and backend_not_linked.
  [[nodiscard]] static Llm load(const std::filesystem::path& path, const LlmOptions& options = {});

  [[nodiscard]] const LlmInfo& info() const noexcept;
  [[nodiscard]] const Device& device() const noexcept;
  [[nodiscard]] const Tokenizer& tokenizer() const noexcept;  // "wick/text/tokenizer/tokenizer.h": special tokens, single tokens

  // The token ids of `text`, with the BOS that the model wants first. An empty text is BOS alone, where the vocabulary has one.
  [[nodiscard]] std::vector<TokenId> tokenize(std::string_view text) const;
  // The text of `ids`, always valid UTF-8, without control tokens. Errors: index_out_of_range.
  [[nodiscard]] std::string detokenize(std::span<const TokenId> ids) const;

  // How tokens are chosen where nobody says otherwise: as the model's files say (generation_config.json; "general.sampling.…" of a GGUF
  // file), and as in SamplingParams where they say nothing.
  [[nodiscard]] const SamplingParams& sampling() const noexcept;

  // Continues the prompt, by default with sampling(). `on_text`, where given, receives each piece of the text as it is ready: valid UTF-8,
  // never empty; it returns false to stop. Errors: context_full if the prompt does not fit; invalid_argument for parameters out of range
  // and a prompt that is not UTF-8; out_of_memory.
  GenerationResult generate(std::string_view prompt) const;                                                                    // NOLINT
  GenerationResult generate(std::string_view prompt, const GenerationParams& params, const TextCallback& on_text = {}) const;  // NOLINT

  // Answers a conversation by the model's chat template, by default with sampling(). `on_event` receives content, reasoning and calls of
  // tools as they come; it returns false to stop. What a conversation has in common with the last one is not computed again. Errors:
  // not_found where the model has no template and none was chosen; invalid_argument where the template refuses the messages; context_full;
  // generate's.
  ChatAnswer chat(const ChatPrompt& prompt) const;                                                                     // NOLINT
  ChatAnswer chat(const ChatPrompt& prompt, const GenerationParams& params, const ChatCallback& on_event = {}) const;  // NOLINT

  // Returns a value for GenerationParams::constraint: the text will be JSON, or match a schema, a pattern or a grammar
  // ("wick/text/grammar/token_constraint.h"). Equal formats are compiled once. Errors: invalid_argument and unsupported, naming the part of
  // the format.
  [[nodiscard]] std::shared_ptr<const TokenConstraint> constrain(const OutputFormat& format) const;

  // f32 [ids, vocab_size]: row i is the prediction of the token after ids[i]. To choose one: Sampler::sample of the last row.
  // Errors: invalid_argument for no ids, index_out_of_range for an id outside the vocabulary, context_full.
  [[nodiscard]] Tensor logits(std::span<const TokenId> ids) const;

 private:
  struct State;
  explicit Llm(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

}  // namespace wick
