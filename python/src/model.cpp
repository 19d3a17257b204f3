// Language models: an Engine on a thread of its own, the streams of its requests, and what else is asked of a model.
#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <system_error>
#include <variant>

#include "array.h"
#include "tokenizer.h"
#include "wick/engine/engine.h"
#include "wick/engine/label_scores.h"
#include "wick/engine/model_sampling.h"
#include "wick/engine/prompt.h"
#include "wick/engine/repetition.h"
#include "wick/model/language_model.h"
#include "wick/model/shared_placement.h"
#include "wick/text/grammar/token_constraint.h"

namespace wick_python {
namespace {

using wick::TokenId;

struct Constraint {
  std::shared_ptr<const wick::TokenConstraint> value;
};

constexpr const char* kClosed = "the model is closed";

// What close() frees: file, weights and engine. A call in another thread holds a reference until it returns.
struct Loaded {
  Loaded(wick::Checkpoint opened, std::shared_ptr<const wick::Tokenizer> tokenizer, const Device& device, const wick::LoadOptions& load,
         const wick::EngineOptions& options)
      : file(std::move(opened)),
        language_model(wick::load_language_model(file, device, load)),
        engine(*language_model, std::move(tokenizer), options) {
    engine.start();
  }

  wick::Checkpoint file;
  std::unique_ptr<wick::LanguageModel> language_model;
  wick::Engine engine;
};

struct Model {
  Model(wick::Checkpoint opened, const Device& target, const wick::LoadOptions& load, const wick::EngineOptions& options)
      : sampling(wick::read_model_sampling(opened).params),
        tokenizer(wick::load_tokenizer(opened)),
        loaded(std::make_shared<Loaded>(std::move(opened), tokenizer, target, load, options)),
        device(loaded->language_model->device()) {}
  ~Model() {
    // In a child of fork() the engine's thread is not there: nobody can end it.
    if (is_left_behind()) new std::shared_ptr<Loaded>(std::move(loaded));  // NOLINT: it stays
  }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  [[nodiscard]] bool is_left_behind() const noexcept { return getpid() != process; }
  void refuse_child() const {
    if (!is_left_behind()) return;
    throw std::runtime_error(
        "the model was loaded before fork(), and its threads stayed behind; load it in this process, or start processes by 'spawn'");
  }
  // With the interpreter's lock, as close().
  [[nodiscard]] std::shared_ptr<Loaded> running() const {
    refuse_child();
    if (loaded == nullptr) throw nb::value_error(kClosed);
    return loaded;
  }
  void close() {
    if (is_left_behind() || loaded == nullptr) return;
    std::shared_ptr<Loaded> ending = std::move(loaded);
    unlocked([&] {
      ending->engine.stop();
      ending.reset();
    });
  }

  wick::SamplingParams sampling;
  std::shared_ptr<const wick::Tokenizer> tokenizer;
  std::shared_ptr<Loaded> loaded;
  Device device;
  wick::ConstraintCompiler constraints{tokenizer};
  pid_t process = getpid();
};

// A file descriptor that can be read once it was rung: what the loops of asyncio wait for.
class Bell {
 public:
  Bell() : descriptor_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  }
  ~Bell() { close(descriptor_); }
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;

  void ring() const { (void)eventfd_write(descriptor_, 1); }  // one that was not heard yet stays rung
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

struct EventStream {
  EventStream(std::shared_ptr<Model> of, wick::Stream events) : model(std::move(of)), stream(std::move(events)) {}
  ~EventStream() {
    if (model->is_left_behind()) new wick::Stream(std::move(stream));  // NOLINT: it stays, as the engine that it belongs to
  }
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;

  std::shared_ptr<Model> model;
  wick::Stream stream;
  std::mutex reading = {};
  std::shared_ptr<Bell> bell = {};
};

// A stop that Python asked for, or an error that its handlers raised.
void check_signals() {
  const nb::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() != 0) nb::raise_python_error();
}

// --- Requests ---

template <class T>
void take(const nb::dict& from, const char* name, T& into) {
  if (!from.contains(name)) return;
  const nb::object value = from[name];
  if (value.is_none()) return;
  into = value_as<T>(value, name);
}

void take_sampling(const nb::dict& from, const wick::Tokenizer& tokenizer, wick::SamplingParams& into) {
  for (const wick::SamplingParameter& row : wick::kSamplingParameters) {
    row.visit(into, [&](auto& value) { take(from, row.name.data(), value); });
  }
  std::optional<uint64_t> seed;
  take(from, "seed", seed);
  into.seed = seed;
  std::optional<std::string> order;
  take(from, "samplers", order);
  if (order) into.order = wick::parse_sampling_order(*order, "samplers");
  std::vector<std::string> breakers = wick::default_dry_breakers();
  take(from, "dry_sequence_breakers", breakers);
  if (into.dry_multiplier > 0) into.dry_breakers = wick::tokens_with_any_of(tokenizer, breakers);
  if (from.contains("logit_bias") && !nb::object(from["logit_bias"]).is_none()) {
    for (const auto& [token, bias] : value_as<nb::dict>(from["logit_bias"], "logit_bias")) {
      into.logit_bias.push_back({value_as<int32_t>(token, "a token of logit_bias"), value_as<float>(bias, "a bias of logit_bias")});
    }
  }
}

void take_adapters(const nb::dict& from, std::vector<wick::AdapterChoice>& into) {
  if (!from.contains("adapters") || nb::object(from["adapters"]).is_none()) return;
  for (const auto& [name, scale] : value_as<nb::dict>(from["adapters"], "adapters")) {
    const std::optional<float> given = scale.is_none() ? std::nullopt : std::optional(value_as<float>(scale, "a scale of adapters"));
    into.push_back({value_as<std::string>(name, "a name of adapters"), given});
  }
}

// What the parameters do not say of sampling is the model's.
wick::Request request_of(const nb::dict& from, const wick::Tokenizer& tokenizer, const wick::SamplingParams& own) {
  wick::Request request;
  request.params.sampling = own;
  take(from, "prompt", request.prompt);
  take(from, "tokens", request.tokens);
  take_sampling(from, tokenizer, request.params.sampling);
  take_adapters(from, request.params.adapters);
  take(from, "max_tokens", request.params.max_tokens);
  take(from, "stop", request.params.stop);
  take(from, "stop_tokens", request.params.stop_tokens);
  take(from, "ignore_eos", request.params.ignore_eos);
  take(from, "parse_special", request.params.parse_special);
  std::optional<int64_t> logprobs;
  take(from, "logprobs", logprobs);
  request.params.logprobs = logprobs;
  take(from, "n", request.n);
  take(from, "best_of", request.best_of);
  take(from, "priority", request.priority);
  take(from, "user", request.user);
  take(from, "cache_prompt", request.cache_prompt);
  take(from, "second", request.second);
  bool truncate = false;
  take(from, "truncate", truncate);
  if (truncate) request.truncation = wick::Truncation::end;
  bool embed = false;
  take(from, "embed", embed);
  if (embed) request.task = wick::Request::Task::embed;
  if (from.contains("constraint") && !nb::object(from["constraint"]).is_none()) {
    request.params.constraint = nb::cast<const Constraint&>(from["constraint"]).value;
  }
  return request;
}

std::unique_ptr<EventStream> submit(const std::shared_ptr<Model>& model, const nb::dict& parameters) {
  wick::Request request = request_of(parameters, *model->tokenizer, model->sampling);
  const std::shared_ptr<Loaded> loaded = model->running();
  return unlocked([&] {
    try {
      return std::make_unique<EventStream>(model, loaded->engine.submit(std::move(request)));
    } catch (const wick::EngineBusy& busy) {
      if (busy.reason() == wick::EngineBusy::Reason::draining) throw nb::value_error(kClosed);
      throw;
    }
  });
}

// --- Events ---

nb::dict usage_of(const wick::Usage& usage) {
  nb::dict dict;
  dict["prompt_tokens"] = usage.prompt_tokens;
  dict["cached_tokens"] = usage.cached_tokens;
  dict["completion_tokens"] = usage.completion_tokens;
  dict["draft_tokens"] = usage.draft_tokens;
  dict["accepted_tokens"] = usage.accepted_tokens;
  return dict;
}

nb::object logprob_of(const std::optional<wick::GeneratedLogprob>& logprob) {
  if (!logprob) return nb::none();
  nb::list top;
  for (const wick::TokenLogprob& token : logprob->top) top.append(nb::make_tuple(token.token, token.logprob));
  return nb::make_tuple(logprob->chosen.token, logprob->chosen.logprob, top);
}

nb::object event_of(const wick::StreamEvent& event) {
  if (const auto* token = std::get_if<wick::TokenEvent>(&event)) {
    return nb::make_tuple("token", token->choice, token->token, token->text, logprob_of(token->logprob));
  }
  if (const auto* finish = std::get_if<wick::FinishEvent>(&event)) {
    nb::dict timings;
    timings["queued"] = finish->timings.queued;
    timings["prefill"] = finish->timings.prefill;
    timings["time_to_first_token"] = finish->timings.time_to_first_token;
    timings["decode"] = finish->timings.decode;
    timings["decode_steps"] = finish->timings.decode_steps;
    nb::object embedding = nb::none();
    if (!finish->embedding.empty()) {
      embedding = nb::cast(Array{Tensor::from_vector(finish->embedding, {static_cast<int64_t>(finish->embedding.size())}, Device::cpu())});
    }
    return nb::make_tuple("finish", finish->choice, std::string(to_string(finish->reason)), finish->text, finish->stop_sequence_matched,
                          usage_of(finish->usage), timings, finish->seed, embedding);
  }
  if (const auto* error = std::get_if<wick::ErrorEvent>(&event)) throw error->error();
  return nb::make_tuple("prompt", usage_of(std::get<wick::PromptEvent>(event).usage));
}

// The next event, or None once all were taken; signals are handled meanwhile.
nb::object next_event(EventStream& self) {
  self.model->refuse_child();
  std::optional<wick::StreamEvent> event;
  {
    const InterpreterUnlocked unlocked_interpreter;
    const std::lock_guard lock(self.reading);
    while (!(event = self.stream.next_within(std::chrono::milliseconds(50))) && !self.stream.ended()) check_signals();
  }
  return event ? event_of(*event) : nb::none();
}

// The next event if it is there.
nb::object poll_event(EventStream& self) {
  self.model->refuse_child();
  std::optional<wick::StreamEvent> event = unlocked([&] {
    const std::lock_guard lock(self.reading);
    return self.stream.poll();
  });
  return event ? event_of(*event) : nb::none();
}

// Of a file that can be read when events have come.
int bell_of(EventStream& self) {
  self.model->refuse_child();
  if (self.bell == nullptr) {
    self.bell = std::make_shared<Bell>();
    unlocked([&] { self.stream.on_ready([bell = self.bell] { bell->ring(); }); });
  }
  return self.bell->descriptor();
}

// --- The model ---

std::shared_ptr<Model> load(const std::filesystem::path& path, const nb::object& device, const nb::dict& options) {
  wick::LoadOptions load;
  wick::EngineOptions engine;
  take(options, "precise", load.precise);
  take(options, "fast", load.fast);
  take(options, "deterministic", load.deterministic);
  if (options.contains("kv_dtype") && !nb::object(options["kv_dtype"]).is_none())
    load.kv_type = kind_of(options["kv_dtype"], "load: kv_dtype").dtype;
  take(options, "context", engine.context);
  take(options, "sequences", engine.sequences);
  take(options, "queue", engine.queue);
  take(options, "prefix_cache", engine.prefix_cache);
  take(options, "cache_ram_bytes", engine.cache_ram_bytes);
  take(options, "speculation", engine.speculation.ngram);
  const nb::object progress = options.contains("progress") ? nb::object(options["progress"]) : nb::none();
  load.progress = [&progress](uint64_t done, uint64_t total) {
    const nb::gil_scoped_acquire lock;
    if (!progress.is_none()) progress(done, total);
    if (PyErr_CheckSignals() != 0) nb::raise_python_error();
  };
  const Device target = device.is_none() ? unlocked([] { return Device::best(); }) : device_of(device, "load");
  std::optional<int64_t> gpu_layers;
  int64_t cpu_expert_layers = 0;
  take(options, "gpu_layers", gpu_layers);
  take(options, "cpu_expert_layers", cpu_expert_layers);
  return unlocked([&] {
    load.placement = wick::share_with_cpu(target, gpu_layers, cpu_expert_layers, "load");
    std::shared_ptr<Model> made = std::make_shared<Model>(wick::Checkpoint::open(path), target, load, engine);
    return made;
  });
}

nb::dict info_of(const Model& model) {
  const wick::EngineInfo info = model.running()->engine.info();
  nb::dict dict;
  dict["name"] = info.model;
  dict["architecture"] = info.architecture;
  dict["device"] = info.device;
  dict["context"] = info.context;
  dict["model_context"] = info.model_context;
  dict["vocab_size"] = info.vocab_size;
  dict["width"] = info.width;
  dict["layers"] = info.layers;
  dict["parameters"] = info.parameters;
  dict["file_bytes"] = info.file_bytes;
  nb::dict prompts;
  for (const auto& [name, text] : info.prompts.all) prompts[nb::str(name.c_str())] = text;
  dict["prompts"] = prompts;
  dict["default_prompt"] = info.prompts.by_default;
  dict["labels"] = info.classifier ? info.classifier->labels : std::vector<std::string>();
  dict["classifies_tokens"] = info.classifier && info.classifier->of_tokens;
  nb::dict sampling;
  for (const wick::SamplingParameter& row : wick::kSamplingParameters) {
    row.visit(model.sampling, [&](auto value) { sampling[row.name.data()] = value; });
  }
  dict["sampling"] = sampling;
  return dict;
}

wick::OutputFormat format_of(const std::string& kind, const std::string& text, const std::vector<std::string>& choices) {
  using Format = wick::OutputFormat::Kind;
  wick::OutputFormat format = {.text = text, .choices = choices};
  if (kind == "json") {
    format.kind = Format::json;
  } else if (kind == "json_schema") {
    format.kind = Format::json_schema;
  } else if (kind == "regex") {
    format.kind = Format::regex;
  } else if (kind == "grammar") {
    format.kind = Format::grammar;
  } else if (kind == "choices") {
    format.kind = Format::choices;
  } else {
    throw nb::value_error(
        fmt::format("there is no output format '{}'; there are json, json_schema, regex, grammar and choices", kind).c_str());
  }
  return format;
}

void bind_stream(nb::module_& module) {
  nb::class_<Constraint>(module, "_Constraint");
  nb::class_<EventStream>(module, "_EventStream")
      .def("next", &next_event)
      .def("poll", &poll_event)
      .def("bell", &bell_of)
      .def("cancel",
           [](EventStream& self) {
             if (!self.model->is_left_behind()) unlocked([&] { self.stream.cancel(); });
           })
      .def_prop_ro("ended", [](EventStream& self) { return self.stream.ended(); });
}

}  // namespace

void bind_model(nb::module_& module) {
  nb::list parameters;
  for (const wick::SamplingParameter& row : wick::kSamplingParameters) parameters.append(row.name.data());
  module.attr("sampling_parameters") = nb::tuple(parameters);
  bind_stream(module);
  nb::class_<Model>(module, "_Model")
      .def_static("load", &load, nb::arg("path"), nb::arg("device").none(), nb::arg("options"))
      .def_prop_ro("info", &info_of)
      .def_prop_ro("tokenizer", [](const Model& self) { return SharedTokenizer{self.tokenizer}; })
      .def_prop_ro("device", [](const Model& self) { return self.device; })
      .def(
          "chat_template",
          [](const Model& self, const std::string& choice, bool with_tools) {
            const std::shared_ptr<Loaded> loaded = self.running();
            return unlocked([&] {
              const std::string& name = loaded->language_model->info().name;
              return wick::choose_chat_template(wick::find_chat_templates(loaded->file), choice, name, with_tools);
            });
          },
          nb::arg("choice"), nb::arg("with_tools"))
      .def(
          "encode_prompt",
          [](const Model& self, const std::string& text, bool parse_special) {
            const std::shared_ptr<Loaded> loaded = self.running();
            return unlocked([&] { return loaded->engine.encode_prompt(text, parse_special); });
          },
          nb::arg("text"), nb::arg("parse_special"))
      .def(
          "encode_text",
          [](const Model& self, const std::string& text) {
            const std::shared_ptr<Loaded> loaded = self.running();
            return unlocked([&] { return wick::encode_embedded(*self.tokenizer, loaded->language_model->info().name, text); });
          },
          nb::arg("text"))
      .def(
          "encode_pair",
          [](const Model& self, const std::string& first, const std::string& second) {
            wick::TextPair pair = unlocked([&] { return wick::encode_pair(*self.tokenizer, first, second); });
            return nb::make_tuple(std::move(pair.tokens), pair.second);
          },
          nb::arg("first"), nb::arg("second"))
      .def(
          "is_special", [](const Model& self, TokenId token) { return self.tokenizer->is_special(token); }, nb::arg("token"))
      .def("require_reranker",
           [](const Model& self) {
             const wick::EngineInfo info = self.running()->engine.info();
             wick::require_reranker(info.model, info.pooling, info.classifier);
           })
      .def("require_classifier",
           [](const Model& self) {
             const wick::EngineInfo info = self.running()->engine.info();
             wick::require_classifier(info.model, info.pooling, info.classifier);
           })
      .def(
          "pair_score",
          [](const Model& self, const std::vector<float>& results) {
            return wick::pair_score(self.running()->engine.info().classifier, results);
          },
          nb::arg("results"))
      .def(
          "label_scores",
          [](const Model& self, const std::vector<float>& results) {
            return wick::label_scores(*self.running()->engine.info().classifier, results);
          },
          nb::arg("results"))
      .def(
          "constrain",
          [](Model& self, const std::string& kind, const std::string& text, const std::vector<std::string>& choices) {
            const wick::OutputFormat format = format_of(kind, text, choices);
            return unlocked([&] { return Constraint{self.constraints.compile(format)}; });
          },
          nb::arg("kind"), nb::arg("text"), nb::arg("choices"))
      .def(
          "save_session",
          [](const Model& self, const std::vector<TokenId>& tokens, const std::filesystem::path& path) {
            const std::shared_ptr<Loaded> loaded = self.running();
            return unlocked([&] { return loaded->engine.save_session(tokens, path); });
          },
          nb::arg("tokens"), nb::arg("path"))
      .def(
          "restore_session",
          [](const Model& self, const std::filesystem::path& path) {
            const std::shared_ptr<Loaded> loaded = self.running();
            return unlocked([&] { return loaded->engine.restore_session(path); });
          },
          nb::arg("path"))
      .def(
          "add_adapter",
          [](const Model& self, const std::string& name, const std::filesystem::path& path, float scale) {
            const std::shared_ptr<Loaded> loaded = self.running();
            unlocked([&] { loaded->engine.add_adapter(name, path, scale); });
          },
          nb::arg("name"), nb::arg("path"), nb::arg("scale"))
      .def("adapters",
           [](const Model& self) {
             nb::dict scales;
             const std::shared_ptr<Loaded> loaded = self.running();
             for (const wick::LoadedAdapter& adapter : unlocked([&] { return loaded->engine.adapters(); })) {
               scales[adapter.name.c_str()] = adapter.scale;
             }
             return scales;
           })
      .def("close", &Model::close);
  module.def(
      "_submit", [](nb::handle model, const nb::dict& parameters) { return submit(nb::cast<std::shared_ptr<Model>>(model), parameters); },
      nb::arg("model"), nb::arg("parameters"));
}

}  // namespace wick_python
