// An Engine continues the texts of many requests at once with one language model: continuous batching.
//
//   Engine engine(model, tokenizer, {.sequences = 32});
//   engine.start();
//   Stream stream = engine.submit({.prompt = "Once upon a time"});
//   while (std::optional<StreamEvent> event = stream.next()) …
//
// Each step computes one batch: a token of every choice that decodes, and chunks of the prompts of those that have begun. Requests join and
// leave between steps. Without start() the caller runs the steps: while (engine.step()) {}.
//
// Threads: submit(), metrics(), info(), drain() and stop() may be called by any thread at any time; step() by one thread, and not after
// start(). Those that follow accepts() may be called by any thread after start(), before it by the one that steps. The
// model belongs to the engine while it lives.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "wick/engine/engine_metrics.h"
#include "wick/engine/engine_options.h"
#include "wick/engine/request.h"
#include "wick/engine/stream.h"
#include "wick/model/language_model.h"
#include "wick/text/tokenizer/tokenizer.h"

namespace wick {

class EngineLoop;

class Engine {
 public:
  // The model must outlive the engine. `draft`: a small model with the same vocabulary that proposes tokens, or none.
  // Errors: invalid_argument for options out of range and a tokenizer of another model; out_of_memory.
  Engine(LanguageModel& model, std::shared_ptr<const Tokenizer> tokenizer, const EngineOptions& options = {},
         LanguageModel* draft = nullptr);
  // The same for a model that the engine owns, so that it can let go of it (unload, swap_model).
  Engine(std::shared_ptr<LanguageModel> model, std::shared_ptr<const Tokenizer> tokenizer, const EngineOptions& options = {},
         LanguageModel* draft = nullptr);
  // Stops.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  [[nodiscard]] EngineInfo info() const;
  [[nodiscard]] const Tokenizer& tokenizer() const noexcept;
  [[nodiscard]] EngineMetrics metrics() const;

  // Queues a request. Its prompt is tokenized here, on the caller's thread.
  // Errors: EngineBusy; invalid_argument naming all parameters that are out of range, and for a prompt that is no UTF-8 or is empty where
  // there is no BOS; index_out_of_range for a token that is not in the vocabulary; context_full for a prompt longer than info().context,
  // or one that the KV cache could never hold.
  [[nodiscard]] Stream submit(Request request);
  // The tokens that submit() would compute: with BOS first where the model wants one. Errors: as there.
  [[nodiscard]] std::vector<TokenId> encode_prompt(std::string_view prompt, bool parse_special) const;

  // One step. Returns whether anything is left to do. Errors of one request go to its stream; where the device is lost, all streams get the
  // error, and the engine has failed. Throws nothing.
  bool step();

  // Runs the steps on a thread of the engine, which sleeps while there is nothing to do.
  void start();
  // Takes no more requests and waits until all have ended, or until then: what has not ended is cancelled. Without start() it runs the
  // steps itself. Whether all ended by themselves.
  bool drain(std::chrono::nanoseconds time);
  // Takes no more requests, cancels all, and ends the thread.
  void stop();

  // Whether requests are taken; false once drain() or stop() was called and where the device was lost.
  [[nodiscard]] bool accepts() const;

  // Writes to a file what the prefix cache holds of these tokens; how many that are. Overwrites only as a whole.
  // Errors: io.
  int64_t save_session(std::span<const TokenId> tokens, const std::filesystem::path& path);
  // Takes a saved session into the prefix cache: a prompt that begins with its tokens finds them. How many these are.
  // Errors: io, corrupt_file; invalid_argument for one of another model or cache type; out_of_memory.
  int64_t restore_session(const std::filesystem::path& path);
  // Reads a low-rank adapter (LoRA) for the model, a GGUF file or a PEFT folder, and adds it between two steps; from then on requests may
  // name it (GenerationParams::adapters). `scale`: for those that name no other. Prompts share cached prefixes only with those of the same
  // adapters and scales. Errors: LoraAdapter::open's and LanguageModel::add_adapter's; nothing is added then.
  void add_adapter(const std::string& name, const std::filesystem::path& path, float scale = 1);
  // All loaded adapters: those of the model and those added since.
  [[nodiscard]] std::vector<LoadedAdapter> adapters() const;
  // Goes on with another model of the same vocabulary, such as another quantization or a later training: texts that have begun end with the
  // old one, all others are computed by the new one. Adapters that were added are added to it too. The future is ready once the new one has
  // taken over, or has the error, and the old one stays. Where nobody calls start(), steps must be run before it is waited for.
  // Errors: at once invalid_argument for another vocabulary or a shorter context than info().context; later those of add_adapter, and
  // out_of_memory for its KV cache.
  [[nodiscard]] std::future<void> swap_model(std::shared_ptr<LanguageModel> model);
  // Lets go of the model and the KV cache now, as after EngineOptions::unload_after. Whether they are gone: not while requests run or wait.
  // Errors: invalid_argument without EngineOptions::reload.
  bool unload();
  // Empties the prefix cache, in host memory and files too.
  void forget_prefixes();
  // Runs the model on a token and on a chunk of a prompt, so that the first request does not wait for kernels to be compiled and for pages
  // of the weights. Nothing is left of it. Errors: the model's.
  void warm_up();

 private:
  std::unique_ptr<EngineLoop> loop_;
};

}  // namespace wick
