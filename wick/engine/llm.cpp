#include "wick/engine/llm.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "wick/base/fail.h"
#include "wick/engine/generator.h"
#include "wick/engine/model_sampling.h"
#include "wick/model/checkpoint/checkpoint.h"
#include "wick/model/language_model.h"
#include "wick/model/shared_placement.h"
#include "wick/text/grammar/token_constraint.h"
#include "wick/text/tokenizer/tokenizer.h"

namespace wick {

struct Llm::State {
  State(Checkpoint opened, const Device& device, const LlmOptions& options)
      : file(std::move(opened)),
        sampling(read_model_sampling(file).params),
        tokenizer(load_tokenizer(file)),
        model(load_language_model(file, device,
                                  {.precise = options.precise,
                                   .fast = options.fast,
                                   .deterministic = options.deterministic,
                                   .progress = options.progress,
                                   .kv_type = options.kv_dtype,
                                   .placement = share_with_cpu(device, options.gpu_layers, options.cpu_expert_layers, "LlmOptions")})),
        generator(*model, tokenizer, options.context > 0 ? options.context : std::min(model->info().context_length, kDefaultContext)) {
    const ModelInfo& from = model->info();
    info = {.architecture = from.architecture,
            .name = from.name,
            .context_length = from.context_length,
            .vocab_size = from.vocab_size,
            .layers = from.layers,
            .parameters = from.parameters};
    chat_template = options.chat_template;
  }

  // The cache of a whole context is only allocated as far as a request needs it; this bounds what a careless request can take.
  static constexpr int64_t kDefaultContext = 4096;

  // Made by the first conversation: it has a cache of its own.
  Chat& chat() {
    if (chat_ == nullptr) {
      chat_ = std::make_unique<Chat>(*model, tokenizer, choose_chat_template(find_chat_templates(file), chat_template, info.name),
                                     ChatOptions{.context = generator.context()});
    }
    return *chat_;
  }

  Checkpoint file;
  SamplingParams sampling;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::unique_ptr<LanguageModel> model;
  Generator generator;
  ConstraintCompiler constraints{tokenizer};
  LlmInfo info;
  std::mutex running;
  std::string chat_template;

 private:
  std::unique_ptr<Chat> chat_;
};

Llm Llm::load(const std::filesystem::path& path, const LlmOptions& options) {
  if (options.context < 0) fail(ErrorCode::invalid_argument, "Llm::load: context {}: must be 0 or more", options.context);
  Checkpoint file = Checkpoint::open(path);
  return Llm(std::make_shared<State>(std::move(file), options.device ? *options.device : Device::best(), options));
}

const LlmInfo& Llm::info() const noexcept { return state_->info; }
const Device& Llm::device() const noexcept { return state_->model->device(); }
const SamplingParams& Llm::sampling() const noexcept { return state_->sampling; }
const Tokenizer& Llm::tokenizer() const noexcept { return *state_->tokenizer; }

std::vector<TokenId> Llm::tokenize(std::string_view text) const { return state_->generator.encode_prompt(text, false); }

std::string Llm::detokenize(std::span<const TokenId> ids) const { return state_->tokenizer->decode(ids); }

GenerationResult Llm::generate(std::string_view prompt) const { return generate(prompt, {.sampling = sampling()}); }

GenerationResult Llm::generate(std::string_view prompt, const GenerationParams& params, const TextCallback& on_text) const {
  const std::lock_guard lock(state_->running);
  return state_->generator.generate(prompt, params, on_text);
}

ChatAnswer Llm::chat(const ChatPrompt& prompt) const { return chat(prompt, {.sampling = sampling()}); }

ChatAnswer Llm::chat(const ChatPrompt& prompt, const GenerationParams& params, const ChatCallback& on_event) const {
  const std::lock_guard lock(state_->running);
  return state_->chat().answer(prompt, params, on_event);
}

std::shared_ptr<const TokenConstraint> Llm::constrain(const OutputFormat& format) const { return state_->constraints.compile(format); }

Tensor Llm::logits(std::span<const TokenId> ids) const {
  if (ids.empty()) fail(ErrorCode::invalid_argument, "Llm::logits: no token ids; give at least one");
  const auto count = static_cast<int64_t>(ids.size());
  if (count > state_->generator.context()) {
    fail(ErrorCode::context_full, "Llm::logits: {} tokens and the context holds {}", count, state_->generator.context());
  }
  const std::lock_guard lock(state_->running);
  const std::unique_ptr<CachedSequence> cache = state_->model->new_sequence(count);
  return state_->model->forward(ids, *cache, LogitRows::all);
}

}  // namespace wick
