#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <variant>

#include "wick/base/fail.h"
#include "wick/c/guard.h"
#include "wick/c/options.h"
#include "wick/engine/engine.h"
#include "wick/engine/label_scores.h"
#include "wick/engine/model_sampling.h"
#include "wick/engine/prompt.h"
#include "wick/engine/repetition.h"
#include "wick/engine/sampling.h"
#include "wick/model/shared_placement.h"
#include "wick/text/chat/call_detection.h"
#include "wick/text/chat/chat_parser.h"
#include "wick/text/tokenizer/tokenizer.h"

// The engine runs on a thread of its own, so that the calls of several threads are computed together.
struct wick_model {
  wick_model(wick::Checkpoint opened, const wick::Device& device, const wick::c::ModelChoices& choices)
      : file(std::move(opened)),
        sampling(wick::read_model_sampling(file).params),
        tokenizer(wick::load_tokenizer(file)),
        model(wick::load_language_model(file, device, choices.load)),
        engine(*model, tokenizer, choices.engine),
        info(engine.info()),
        constraints(tokenizer),
        chat_template(choices.chat_template) {
    engine.start();
  }

  wick::Checkpoint file;
  wick::SamplingParams sampling;
  std::shared_ptr<const wick::Tokenizer> tokenizer;
  std::unique_ptr<wick::LanguageModel> model;
  wick::Engine engine;
  const wick::EngineInfo info;  // whose texts the caller holds
  wick::ConstraintCompiler constraints;
  std::string chat_template;
};

struct wick_answer {
  std::string text = {};
  std::string reasoning = {};
  std::string stop_reason = {};
  std::vector<wick::TokenId> tokens = {};
  std::vector<wick::ToolCall> calls = {};
  wick::Usage usage = {};
  wick::Timings timings = {};
  uint64_t seed = 0;
};

struct wick_sampler {
  wick::Sampler sampler;
};

namespace wick::c {
namespace {

// Where the pieces of an answer go: into it, and to the caller, who may stop it.
class Receiver {
 public:
  Receiver(wick_answer& answer, wick_on_piece on_piece, void* user) : answer_(answer), on_piece_(on_piece), user_(user) {}

  void content(const std::string& text) {
    answer_.text += text;
    tell(WICK_CONTENT, text);
  }

  void event(const ChatEvent& event) {
    switch (event.kind) {
      case ChatEventKind::content: content(event.text); break;
      case ChatEventKind::reasoning:
        answer_.reasoning += event.text;
        tell(WICK_REASONING, event.text);
        break;
      case ChatEventKind::call_begin:
        answer_.calls.push_back({.id = event.id, .name = event.name});
        tell(WICK_CALL_BEGIN, event.name);
        break;
      case ChatEventKind::arguments:
        answer_.calls.back().arguments += event.text;
        tell(WICK_CALL_ARGUMENTS, event.text);
        break;
      case ChatEventKind::call_end: tell(WICK_CALL_END, ""); break;
    }
  }

  [[nodiscard]] bool refused() const noexcept { return refused_; }

 private:
  void tell(wick_piece_kind kind, const std::string& text) {
    const bool is_empty = text.empty() && kind != WICK_CALL_END;
    if (on_piece_ != nullptr && !refused_ && !is_empty && on_piece_(user_, kind, text.c_str()) == 0) refused_ = true;
  }

  wick_answer& answer_;
  wick_on_piece on_piece_;
  void* user_;
  bool refused_ = false;
};

// Reads a stream to its end, through the parser where there is one.
void read_stream(Stream& stream, wick_answer& answer, Receiver& receiver, ChatParser* parser) {
  const auto take = [&](TokenId token, const std::string& text) {
    if (parser == nullptr) {
      if (!text.empty()) receiver.content(text);
      return;
    }
    for (const ChatEvent& event : token == kNoToken ? parser->push(text) : parser->push(token, text)) receiver.event(event);
  };
  while (const std::optional<StreamEvent> event = stream.next()) {
    if (const auto* token = std::get_if<TokenEvent>(&*event)) {
      answer.tokens.push_back(token->token);
      take(token->token, token->text);
    } else if (const auto* finish = std::get_if<FinishEvent>(&*event)) {
      take(kNoToken, finish->text);
      answer.stop_reason = to_string(finish->reason);
      answer.usage = finish->usage;
      answer.timings = finish->timings;
      answer.seed = finish->seed;
    } else if (const auto* error = std::get_if<ErrorEvent>(&*event)) {
      throw error->error();
    }
    if (receiver.refused()) stream.cancel();
  }
  if (parser == nullptr) return;
  for (const ChatEvent& event : parser->finish()) receiver.event(event);
}

Request request_of(wick_model& model, const wick_options* options) {
  GenerationChoices choices = generation_choices(options, model.sampling);
  if (choices.format) choices.params.constraint = model.constraints.compile(*choices.format);
  if (SamplingParams& sampling = choices.params.sampling; sampling.dry_multiplier > 0) {
    if (choices.dry_breakers.empty()) choices.dry_breakers = default_dry_breakers();
    sampling.dry_breakers = tokens_with_any_of(*model.tokenizer, choices.dry_breakers);
  }
  return {.params = std::move(choices.params)};
}

std::unique_ptr<wick_model> load(const char* path, const wick_options* options) {
  ModelChoices choices = model_choices(options);
  Checkpoint file = Checkpoint::open(path);
  const Device device = choices.device.empty() ? Device::best() : Device::parse(choices.device);
  choices.load.placement = share_with_cpu(device, choices.gpu_layers, choices.cpu_expert_layers, "wick_model_load");
  return std::make_unique<wick_model>(std::move(file), device, choices);
}

std::string spelling(const Tokenizer& tokenizer, std::optional<TokenId> token) {
  return token ? std::string(tokenizer.token_text(*token)) : std::string();
}

std::string render(const wick_model& model, const ChatTemplate& chat_template, const char* messages, const char* tools) {
  return chat_template.render({.messages = chat_messages_from_json(messages),
                               .tools = tools == nullptr ? "" : tools,
                               .bos_token = spelling(*model.tokenizer, model.tokenizer->bos()),
                               .eos_token = spelling(*model.tokenizer, model.tokenizer->eos())});
}

std::unique_ptr<wick_answer> generate(wick_model& model, const char* prompt, const wick_options* options, wick_on_piece on_piece,
                                      void* user) {
  auto answer = std::make_unique<wick_answer>();
  Request request = request_of(model, options);
  request.prompt = prompt;
  Receiver receiver(*answer, on_piece, user);
  Stream stream = model.engine.submit(std::move(request));
  read_stream(stream, *answer, receiver, nullptr);
  return answer;
}

struct Conversation {
  const char* messages;
  const char* tools;
};

std::unique_ptr<wick_answer> chat(wick_model& model, const Conversation& conversation, const wick_options* options, wick_on_piece on_piece,
                                  void* user) {
  auto answer = std::make_unique<wick_answer>();
  const ChatTemplate chosen =
      choose_chat_template(find_chat_templates(model.file), model.chat_template, model.model->info().name, conversation.tools != nullptr);
  const std::string text = render(model, chosen, conversation.messages, conversation.tools);
  Request request = request_of(model, options);
  request.tokens = model.engine.encode_prompt(text, true);
  const std::shared_ptr<const CallSyntax> syntax = chosen.traits().syntax;
  ChatParser parser({.syntax = syntax,
                     .starts_in_reasoning = ends_in_reasoning(text, *syntax),
                     .tools = conversation.tools != nullptr ? conversation.tools : "",
                     .tokenizer = model.tokenizer.get()});
  Receiver receiver(*answer, on_piece, user);
  Stream stream = model.engine.submit(std::move(request));
  read_stream(stream, *answer, receiver, &parser);
  return answer;
}

std::vector<float> read_embedding(Stream stream) {
  std::vector<float> embedding;
  while (const std::optional<StreamEvent> event = stream.next()) {
    if (const auto* finish = std::get_if<FinishEvent>(&*event)) embedding = finish->embedding;
    if (const auto* error = std::get_if<ErrorEvent>(&*event)) throw error->error();
  }
  return embedding;
}

std::vector<float> embed(wick_model& model, const char* text) {
  return read_embedding(model.engine.submit({.task = Request::Task::embed, .prompt = text}));
}

void rerank(wick_model& model, const char* query, std::span<const char* const> documents, float* scores) {
  const EngineInfo info = model.engine.info();
  require_reranker(info.model, info.pooling, info.classifier);
  // No more at once than the engine's queue takes, beside those of other threads.
  const auto most = static_cast<size_t>(std::clamp<int64_t>(info.queue / 4, 1, 64));
  for (size_t first = 0; first < documents.size(); first += most) {
    std::vector<Stream> streams;
    for (const char* document : documents.subspan(first, std::min(most, documents.size() - first))) {
      TextPair pair = encode_pair(*model.tokenizer, query, document);
      streams.push_back(model.engine.submit({.task = Request::Task::embed, .tokens = std::move(pair.tokens), .second = pair.second}));
    }
    for (Stream& stream : streams) *scores++ = pair_score(info.classifier, read_embedding(std::move(stream)));
  }
}

std::optional<int64_t> number_of(const EngineInfo& info, std::string_view name) {
  if (name == "context") return info.context;
  if (name == "model_context") return info.model_context;
  if (name == "vocab_size") return info.vocab_size;
  if (name == "width") return info.width;
  if (name == "layers") return info.layers;
  if (name == "parameters") return info.parameters;
  if (name == "file_bytes") return static_cast<int64_t>(info.file_bytes);
  return std::nullopt;
}

double number_of(const wick_answer& answer, std::string_view name) {
  if (name == "prompt_tokens") return static_cast<double>(answer.usage.prompt_tokens);
  if (name == "cached_tokens") return static_cast<double>(answer.usage.cached_tokens);
  if (name == "completion_tokens") return static_cast<double>(answer.usage.completion_tokens);
  if (name == "seed") return static_cast<double>(answer.seed);
  if (name == "prefill") return answer.timings.prefill;
  if (name == "decode") return answer.timings.decode;
  return std::numeric_limits<double>::quiet_NaN();
}

// As much of the values as there is room for.
template <class T>
void hand_out(const std::vector<T>& values, T* into, size_t capacity, size_t* count) {
  if (into != nullptr) std::copy_n(values.begin(), std::min(capacity, values.size()), into);
  *count = values.size();
}

}  // namespace
}  // namespace wick::c

extern "C" {

wick_status wick_model_load(const char* path, const wick_options* options, wick_model** model) {
  return wick::c::guarded([&] {
    wick::c::need(path, "wick_model_load", "path");
    wick::c::need(model, "wick_model_load", "model");
    *model = wick::c::load(path, options).release();
  });
}

void wick_model_free(wick_model* model) { const std::unique_ptr<wick_model> freed(model); }

wick_status wick_model_number(const wick_model* model, const char* name, int64_t* value) {
  return wick::c::guarded([&] {
    wick::c::need(model, "wick_model_number", "model");
    wick::c::need(name, "wick_model_number", "name");
    wick::c::need(value, "wick_model_number", "value");
    const std::optional<int64_t> found = wick::c::number_of(model->engine.info(), name);
    if (!found) wick::fail(wick::ErrorCode::invalid_argument, "wick_model_number: there is no number {}; wick/c.h lists them", name);
    *value = *found;
  });
}

const char* wick_model_text(const wick_model* model, const char* name) {
  if (model == nullptr || name == nullptr) return nullptr;
  const wick::EngineInfo& info = model->info;
  if (std::strcmp(name, "name") == 0) return info.model.c_str();
  if (std::strcmp(name, "architecture") == 0) return info.architecture.c_str();
  if (std::strcmp(name, "device") == 0) return info.device.c_str();
  return nullptr;
}

wick_status wick_tokenize(const wick_model* model, const char* text, int32_t parse_special, int32_t* tokens, size_t capacity,
                          size_t* count) {
  return wick::c::guarded([&] {
    wick::c::need(model, "wick_tokenize", "model");
    wick::c::need(text, "wick_tokenize", "text");
    wick::c::need(count, "wick_tokenize", "count");
    wick::c::hand_out(model->engine.encode_prompt(text, parse_special != 0), tokens, capacity, count);
  });
}

wick_status wick_detokenize(const wick_model* model, const int32_t* tokens, size_t count, char* text, size_t capacity, size_t* length) {
  return wick::c::guarded([&] {
    wick::c::need(model, "wick_detokenize", "model");
    wick::c::need(count > 0 ? tokens : reinterpret_cast<const int32_t*>(model), "wick_detokenize", "tokens");
    wick::c::need(length, "wick_detokenize", "length");
    const std::string decoded = model->tokenizer->decode(std::span(tokens, count));
    if (text != nullptr && capacity > 0) {
      const size_t written = std::min(capacity - 1, decoded.size());
      std::memcpy(text, decoded.data(), written);
      text[written] = '\0';
    }
    *length = decoded.size();
  });
}

wick_status wick_generate(wick_model* model, const char* prompt, const wick_options* options, wick_on_piece on_piece, void* user,
                          wick_answer** answer) {
  return wick::c::guarded([&] {
    wick::c::need(model, "wick_generate", "model");
    wick::c::need(prompt, "wick_generate", "prompt");
    wick::c::need(answer, "wick_generate", "answer");
    *answer = wick::c::generate(*model, prompt, options, on_piece, user).release();
  });
}

wick_status wick_chat(wick_model* model, const char* messages, const char* tools, const wick_options* options, wick_on_piece on_piece,
                      void* user, wick_answer** answer) {
  return wick::c::guarded([&] {
    wick::c::need(model, "wick_chat", "model");
    wick::c::need(messages, "wick_chat", "messages");
    wick::c::need(answer, "wick_chat", "answer");
    *answer = wick::c::chat(*model, {messages, tools}, options, on_piece, user).release();
  });
}

void wick_answer_free(wick_answer* answer) { const std::unique_ptr<wick_answer> freed(answer); }

const char* wick_answer_text(const wick_answer* answer) { return answer == nullptr ? "" : answer->text.c_str(); }

const char* wick_answer_reasoning(const wick_answer* answer) { return answer == nullptr ? "" : answer->reasoning.c_str(); }

const char* wick_answer_stop_reason(const wick_answer* answer) { return answer == nullptr ? "" : answer->stop_reason.c_str(); }

const int32_t* wick_answer_tokens(const wick_answer* answer, size_t* count) {
  if (count != nullptr) *count = answer == nullptr ? 0 : answer->tokens.size();
  return answer == nullptr ? nullptr : answer->tokens.data();
}

double wick_answer_number(const wick_answer* answer, const char* name) {
  if (answer == nullptr || name == nullptr) return std::numeric_limits<double>::quiet_NaN();
  return wick::c::number_of(*answer, name);
}

size_t wick_answer_calls(const wick_answer* answer) { return answer == nullptr ? 0 : answer->calls.size(); }

const char* wick_answer_call_name(const wick_answer* answer, size_t index) {
  return index < wick_answer_calls(answer) ? answer->calls[index].name.c_str() : nullptr;
}

const char* wick_answer_call_arguments(const wick_answer* answer, size_t index) {
  return index < wick_answer_calls(answer) ? answer->calls[index].arguments.c_str() : nullptr;
}

wick_status wick_embed(wick_model* model, const char* text, float* embedding, size_t capacity, size_t* count) {
  return wick::c::guarded([&] {
    wick::c::need(model, "wick_embed", "model");
    wick::c::need(text, "wick_embed", "text");
    wick::c::need(count, "wick_embed", "count");
    wick::c::hand_out(wick::c::embed(*model, text), embedding, capacity, count);
  });
}

wick_status wick_rerank(wick_model* model, const char* query, const char* const* documents, size_t count, float* scores) {
  return wick::c::guarded([&] {
    wick::c::need(model, "wick_rerank", "model");
    wick::c::need(query, "wick_rerank", "query");
    if (count == 0) return;
    wick::c::need(documents, "wick_rerank", "documents");
    wick::c::need(scores, "wick_rerank", "scores");
    for (size_t index = 0; index < count; ++index) wick::c::need(documents[index], "wick_rerank", "documents");
    wick::c::rerank(*model, query, {documents, count}, scores);
  });
}

wick_status wick_sampler_new(const wick_options* options, wick_sampler** sampler) {
  return wick::c::guarded([&] {
    wick::c::need(sampler, "wick_sampler_new", "sampler");
    *sampler = std::make_unique<wick_sampler>(wick::Sampler(wick::c::sampling_choices(options))).release();
  });
}

void wick_sampler_free(wick_sampler* sampler) { const std::unique_ptr<wick_sampler> freed(sampler); }

wick_status wick_sampler_accept(wick_sampler* sampler, int32_t token) {
  return wick::c::guarded([&] {
    wick::c::need(sampler, "wick_sampler_accept", "sampler");
    sampler->sampler.accept(token);
  });
}

wick_status wick_sampler_sample(wick_sampler* sampler, const float* logits, size_t count, int32_t* token) {
  return wick::c::guarded([&] {
    wick::c::need(sampler, "wick_sampler_sample", "sampler");
    wick::c::need(logits, "wick_sampler_sample", "logits");
    wick::c::need(token, "wick_sampler_sample", "token");
    if (count == 0) wick::fail(wick::ErrorCode::invalid_argument, "wick_sampler_sample: no logits");
    *token = sampler->sampler.sample(std::span(logits, count));
  });
}

}  // extern "C"
