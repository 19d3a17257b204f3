#include "wick/cli/commands/serving.h"

#include <limits>
#include <mutex>
#include <ostream>
#include <syncstream>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/process.h"
#include "wick/cli/build_info.h"
#include "wick/cli/commands/generate.h"
#include "wick/cli/commands/models_file.h"
#include "wick/cli/hub/model_path.h"
#include "wick/cli/output_file.h"
#include "wick/device/registry.h"
#include "wick/server/request_id.h"
#include "wick/text/chat/call_detection.h"
#include "wick/text/chat/chat_parser.h"
#include "wick/text/chat/chat_template.h"

namespace wick {
namespace {

constexpr const char* kServingGroup = "Serving";
constexpr int64_t kBytesOfMebibyte = 1 << 20;

void add_report_flags(Flags& flags, ServingOptions& options) {
  flags.add_integer("--queue", "maximum number of waiting requests; further ones get status 429 (256)", options.engine.queue, 0, 1'000'000)
      .group(kServingGroup);
  flags
      .add_text("--slot-save-path", "FOLDER", "let POST /slots/N save prompts' caches to FOLDER and restore them (none)",
                options.serve.slot_folder)
      .path()
      .group(kServingGroup);
  flags
      .add_integer("--unload-after", "unload the model after so many seconds without requests; 0 = never (0)", options.unload_seconds, 0,
                   1'000'000)
      .group(kServingGroup);
  flags.add_switch("--no-ui,--no-webui", "do not serve the chat page at /", options.no_page).group(kServingGroup);
  flags.add_text("--alias", "NAME", "name of the model in requests and responses (its file's name)", options.alias).group(kServingGroup);
}

// The model's own template, or the one that --chat-template names. A model without one serves everything but conversations.
void choose_template(const ServingOptions& options, const Checkpoint& file, server::Service& service) {
  const std::vector<ChatTemplateSource> found = find_chat_templates(file);
  if (found.empty() && options.chat_template.empty()) {
    service.chat_template_error = fmt::format(
        "{} has no chat template; start the server with --chat-template NAME or FILE, or use /v1/completions", service.model_id);
    return;
  }
  service.chat_template = choose_chat_template(found, options.chat_template, service.model_id);
  service.call_syntax = service.chat_template->traits().syntax;
}

// A server that cannot write where it is told to says so when it starts, not at the first prompt.
void check_folders(const ServingOptions& options) {
  if (!options.engine.cache_folder.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options.engine.cache_folder, error);
    if (error) {
      fail(ErrorCode::invalid_argument, "--cache-folder {}: cannot be created: {}; name another one", options.engine.cache_folder.string(),
           error.message());
    }
    check_writable_folder("--cache-folder", options.engine.cache_folder);
  }
  if (!options.serve.slot_folder.empty()) check_writable_folder("--slot-save-path", options.serve.slot_folder);
}

// The memory limit of all models of --models where the file has none: the machine's memory; 0, no limit, for an accelerator.
uint64_t host_limit(const ServedModel& served) {
  const bool is_host = served.device_name == "auto" || served.device_name.starts_with("cpu");
  return is_host ? physical_memory_bytes() : 0;
}

server::PooledModel pooled_model(const Console& console, const ServingOptions& options, const ServedModel& served,
                                 const ModelsFileEntry& entry) {
  ServingOptions own_options = options;
  ServedModel own = served;
  own_options.alias = entry.name;
  own_options.adapters = entry.adapters;
  own_options.unload_seconds = 0;  // the pool's task, which unloads all of it
  if (!entry.chat_template.empty()) own_options.chat_template = entry.chat_template;
  if (entry.parallel) own_options.engine.sequences = *entry.parallel;
  if (entry.kv_mib) own_options.engine.kv_bytes = *entry.kv_mib * kBytesOfMebibyte;
  if (entry.pooling) own_options.engine.pooling = entry.pooling;
  if (entry.pooling || entry.embeds_each_token) own_options.engine.embeds_each_token = entry.embeds_each_token;
  if (entry.context) own.context = *entry.context;
  own.draft.model = entry.draft_model;
  if (entry.draft_tokens) own.draft.tokens = *entry.draft_tokens;
  return {.name = entry.name,
          .aliases = entry.aliases,
          .adapters = entry.adapter_names,
          .only_embeds = entry.only_embeds,
          .is_preloaded = entry.is_preloaded,
          .bytes = entry.bytes,
          .unload_after = std::chrono::seconds(entry.unload_seconds.value_or(options.unload_seconds)),
          .load = [&console, own_options = std::move(own_options), own = std::move(own), path = entry.path](
                      const server::Progress& progress) { return load_service(console, own_options, own, path, progress); }};
}

// `console` must outlive the server.
server::PoolOptions pool_options(const Console& console, const ServingOptions& options, const ServedModel& served, const ModelsFile& file) {
  server::PoolOptions pool{.max_loaded = file.max_loaded,
                           .memory_bytes = file.memory_bytes != 0 ? file.memory_bytes : host_limit(served),
                           .queue = static_cast<size_t>(options.engine.queue)};
  for (const ModelsFileEntry& entry : file.models) pool.models.push_back(pooled_model(console, options, served, entry));
  return pool;
}

// What the driver tells of the device, for /metrics; nothing where it does not tell.
server::Json device_metrics(const DeviceLocation& location) {
  server::Json json = server::Json::object();
  try {
    const std::optional<DeviceUsage> usage = device_usage(location.kind, location.index);
    if (!usage) return json;
    json["memory_used_bytes"] = usage->memory_used;
    json["memory_total_bytes"] = usage->memory_total;
    if (usage->busy) json["utilization"] = *usage->busy;
    if (usage->watts) json["power_watts"] = *usage->watts;
    if (usage->celsius) json["temperature_celsius"] = *usage->celsius;
  } catch (const Error&) {
    // A driver that has gone says nothing; requests tell of it.
  }
  return json;
}

// The device that loading has opened, once it has.
class OpenedDevice {
 public:
  void set(const DeviceLocation& location) {
    const std::scoped_lock lock(mutex_);
    location_ = location;
  }
  [[nodiscard]] std::optional<DeviceLocation> get() const {
    const std::scoped_lock lock(mutex_);
    return location_;
  }

 private:
  mutable std::mutex mutex_;
  std::optional<DeviceLocation> location_;
};

}  // namespace

void add_engine_flags(Flags& flags, ServingOptions& options, const std::string& group) {
  flags
      .add_integer("--parallel,--np,--slots",
                   "maximum number of requests computed at once (32; on a GPU up to 256, as its memory has room)", options.engine.sequences,
                   1, 1024)
      .group(group);
  flags
      .add_integer("--step-tokens",
                   "most tokens computed in one step while others wait for theirs: more reads prompts faster, less answers more evenly "
                   "(16 on a CPU, up to 24 while many prompts are read; else 1,024)",
                   options.engine.step_rows, 1, 65536)
      .group(group);
  flags.add_integer("--kv-memory", "memory of the KV cache, in MiB (enough for --parallel requests of 1,024 tokens)", options.kv_mib, 1)
      .group(group);
  add_pooling(flags, options.engine.pooling, &options.engine.embeds_each_token).group(group);
  flags.add_switch("--no-prefix-cache", "do not reuse the KV cache of prompts with a common prefix", options.no_prefix_cache).group(group);
  flags.add_integer("--cache-ram", "host memory in MiB for prefixes evicted from the KV cache (0)", options.cache_ram_mib, 0).group(group);
  flags
      .add_value("--cache-folder", "FOLDER", "keep prefixes in FOLDER, across restarts too (none)",
                 [&options](const std::string& text) { options.engine.cache_folder = text; })
      .path()
      .group(group);
  flags.add_switch("--no-speculation", "no speculative decoding by n-grams of the text so far", options.no_speculation).group(group);
  flags
      .add_text("--chat-template", "NAME", "chat template of conversations: a name such as chatml, or a file (the model's own)",
                options.chat_template)
      .path()
      .group(group);
}

void add_served_model(Flags& flags, ServedModel& served, DeviceChoice& device, int& threads) {
  add_context(flags, served.context, "context size in tokens, prompt and answer together (the model's, at most 4096)", 1);
  add_threads(flags, threads);
  add_precision(flags, served.precision);
  add_draft(flags, served.draft);
  add_mlock(flags, served.mlock);
  add_device(flags, device);
  add_request_defaults(flags, served);
}

void add_adapters(Flags& flags, ServingOptions& options, const std::string& group) {
  flags
      .add_values("--lora", "NAME=FILE", "a LoRA adapter that requests can name as their model: a GGUF file or a PEFT folder; repeatable",
                  options.adapters)
      .group(group);
}

void choose_device(ServedModel& served, const Console& console, const DeviceChoice& device, const int& threads) {
  served.device_name = device.name;
  served.open_device = [&] { return open_model_device(console, device, threads); };
}

void add_address_flags(Flags& flags, ServingOptions& options) {
  server::HttpServerOptions& http = options.serve.http;
  flags
      .add_value("--port", "N", "serve over HTTP on this port; 0 = any that is free",
                 [&options](const std::string& text) { options.port = parse_integer("--port", text, 0, 65535); })
      .group(kServingGroup);
  flags.add_text("--host", "ADDRESS", "listen on this address (127.0.0.1); others than loopback need an API key or --insecure", http.host)
      .group(kServingGroup);
  flags.add_text("--unix-socket", "PATH", "listen on a Unix socket instead", http.unix_socket).path().group(kServingGroup);
  flags.add_text("--tls-cert", "FILE", "serve HTTPS with this certificate chain, in PEM", http.tls_certificate).path().group(kServingGroup);
  flags.add_text("--tls-key", "FILE", "the certificate's private key, in PEM", http.tls_key).path().group(kServingGroup);
  flags.add_values("--api-key", "KEY", "require this key from clients; repeatable", options.keys).group(kServingGroup);
  flags.add_text("--api-key-file", "FILE", "require one of the keys in FILE, one per line", options.key_file).path().group(kServingGroup);
  flags.add_switch("--insecure", "allow access from other machines without an API key", options.serve.insecure).group(kServingGroup);
  flags.add_values("--cors-origin", "ORIGIN", "allow web pages of this origin, * = any; repeatable (none)", options.serve.origins)
      .group(kServingGroup);
  flags
      .add_values("--allowed-host", "NAME",
                  "without an API key: further names that clients may use for this server, * = any; repeatable (localhost and its address)",
                  options.serve.hosts)
      .group(kServingGroup);
  flags.add_decimal("--rate-limit", "requests per minute for each key, or address; 0 = no limit (0)", options.rate_limit, 0, 1e6)
      .group(kServingGroup);
  flags.add_integer("--max-body", "maximum size of a request body in MiB (16)", options.body_mib, 1, 1024).group(kServingGroup);
  flags.add_integer("--server-threads", "threads that read requests and write responses (2)", http.threads, 1, 64).group(kServingGroup);
  flags.add_integer("--drain", "seconds for running requests to finish after SIGTERM or Ctrl-C (30)", options.drain_seconds, 0, 3600)
      .group(kServingGroup);
}

void add_log_flags(Flags& flags, ServingOptions& options) {
  options.serve.metrics_prefix = "wick:";
  flags
      .add_value("--log-format", "FORMAT", "text or json (text); prompts and answers are never logged",
                 [&options](const std::string& text) {
                   if (text != "text" && text != "json") fail(ErrorCode::invalid_argument, "--log-format {}: must be text or json", text);
                   options.serve.log_format = text == "json" ? server::LogFormat::json : server::LogFormat::text;
                 })
      .choices({"text", "json"})
      .group(kServingGroup);
  flags
      .add_text("--metrics-prefix", "TEXT",
                "prefix of the names in /metrics (wick:); vLLM's dashboards expect vllm:", options.serve.metrics_prefix)
      .group(kServingGroup);
}

void settle_address(ServingOptions& options) {
  server::ServeOptions& serve = options.serve;
  serve.http.port = static_cast<int>(options.port.value_or(0));
  if (options.local) serve.http.host = "127.0.0.1";
  serve.http.body_bytes = static_cast<uint64_t>(options.body_mib * kBytesOfMebibyte);
  serve.drain = std::chrono::seconds(options.drain_seconds);
  serve.access = {.keys = options.keys, .requests_per_minute = options.rate_limit};
  if (!options.key_file.empty()) {
    for (std::string& key : server::read_key_file(options.key_file)) serve.access.keys.push_back(std::move(key));
  }
  const server::HttpServerOptions& http = serve.http;
  if (http.tls_certificate.empty() != http.tls_key.empty()) {
    fail(ErrorCode::invalid_argument, "--tls-cert, --tls-key: one needs the other; give both, or neither");
  }
  if (!http.tls_key.empty() && !http.unix_socket.empty()) {
    fail(ErrorCode::invalid_argument, "--tls-cert: a Unix socket has no TLS; leave out one of the two");
  }
  for (const std::string& key : serve.access.keys) {
    if (key.empty()) fail(ErrorCode::invalid_argument, "--api-key '': a key must not be empty");
  }
}

void add_serving_flags(Flags& flags, ServingOptions& options) {
  add_address_flags(flags, options);
  add_engine_flags(flags, options, kServingGroup);
  add_report_flags(flags, options);
  add_log_flags(flags, options);
}

void settle_engine_options(ServingOptions& options) {
  options.engine.prefix_cache = !options.no_prefix_cache;
  options.engine.speculation.ngram = !options.no_speculation;
  options.engine.cache_ram_bytes = options.cache_ram_mib * kBytesOfMebibyte;
  options.engine.kv_bytes = options.kv_mib * kBytesOfMebibyte;
  check_folders(options);
  for (const std::string& adapter : options.adapters) {
    const size_t equals = adapter.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == adapter.size())
      fail(ErrorCode::invalid_argument, "--lora {}: must be NAME=FILE", adapter);
  }
}

std::string model_file_name(std::filesystem::path path) {
  if (!path.has_filename()) path = path.parent_path();
  return (std::filesystem::is_directory(path) ? path.filename() : path.stem()).string();
}

std::shared_ptr<server::Service> load_service(const Console& console, const ServingOptions& options, const ServedModel& served,
                                              const std::filesystem::path& path, const server::Progress& progress) {
  const ModelDevice device = served.open_device();
  auto loaded = std::make_shared<LoadedModel>(load_model(console, path, device, served.precision, WithTokenizer::yes, {}, progress));
  auto service = std::make_shared<server::Service>();
  EngineOptions engine = options.engine;
  engine.context = served.context;
  if (options.unload_seconds > 0) {
    engine.unload_after = std::chrono::seconds(options.unload_seconds);
    engine.reload = [&console, path, device, precision = served.precision] {
      const auto again = std::make_shared<LoadedModel>(load_model(console, path, device, precision, WithTokenizer::no));
      return std::shared_ptr<LanguageModel>(again, again->model.get());
    };
  }
  // The engine's alone, so that it can let go of it.
  std::shared_ptr<LanguageModel> model(loaded, loaded->model.get());
  service->draft = load_draft(console, served.draft, *loaded, served.precision);
  if (service->draft != nullptr) engine.speculation.most = served.draft.tokens;
  service->engine = std::make_unique<Engine>(std::move(model), loaded->tokenizer, engine, service->draft.get());
  service->constraints = std::make_unique<ConstraintCompiler>(loaded->tokenizer);
  for (const std::string& adapter : options.adapters) {
    const size_t equals = adapter.find('=');
    service->engine->add_adapter(adapter.substr(0, equals), adapter.substr(equals + 1));
  }
  service->path = path.string();
  service->model_id = options.alias.empty() ? options.serve.model_ref : options.alias;
  service->created = server::Worker::unix_time();
  service->defaults = served.defaults;
  service->defaults.dry_breakers = dry_breaker_texts(served.sampling);
  service->defaults.params.sampling = resolve_sampling(served.sampling, loaded->file, *loaded->tokenizer, console);
  choose_template(options, loaded->file, *service);
  const bool names_bos = service->chat_template && service->chat_template->source().find("bos_token") != std::string::npos;
  if (names_bos && !loaded->tokenizer->bos()) console.note("the chat template's bos_token is empty: the model has none");
  return service;
}

void add_request_defaults(Flags& flags, ServedModel& served) {
  GenerationParams& params = served.defaults.params;
  flags
      .add_value("-n,--max-tokens,--n-predict,--predict", "N",
                 "tokens of an answer whose request sets no limit; -1 = as many as the context holds (each API's own)",
                 [&served](const std::string& text) {
                   served.defaults.max_tokens = parse_integer("--max-tokens", text, -1, std::numeric_limits<int32_t>::max());
                 })
      .group("Sampling");
  flags.add_values("-r,--stop,--reverse-prompt", "TEXT", "stop at this text, which is not printed; repeatable", params.stop)
      .group("Sampling");
  flags.add_switch("--ignore-eos", "continue after the model's end-of-text token", params.ignore_eos).group("Sampling");
  add_sampling(flags, served.sampling);
  flags.notes("Sampling flags are defaults for requests that do not set the same parameter.");
}

void add_fleet_flags(Flags& flags, ServingOptions& options) {
  const auto text = [&](const char* name, const char* value, const char* description, std::string& target) {
    flags.add_text(name, value, description, target).group("Fleet");
  };
  text("--worker-id", "ID", "the worker's id in /info and heartbeats (a random one)", options.serve.worker_id);
  text("--model-ref", "NAME", "how the fleet names the model", options.serve.model_ref);
  text("--queen-url", "URL", "send heartbeats to URL/v1/worker-heartbeat", options.serve.queen_url);
  text("--hive-url", "URL", "send heartbeats there too", options.serve.hive_url);
  text("--callback-url", "URL", "POST the worker's state to URL once it is ready", options.serve.callback_url);
  flags.add_switch("--local-mode", "listen on 127.0.0.1, whatever --host says", options.local).group("Fleet");
}

void serve_model(Console& console, ServingOptions options, const ServedModel& served) {
  server::ServeOptions& serve = options.serve;
  settle_address(options);
  settle_engine_options(options);
  const bool has_several = !options.models_file.empty();
  const std::filesystem::path path = has_several ? std::filesystem::path() : resolve_model(console, served.model);
  const ModelsFile models = has_several ? read_models_file(console, options.models_file, host_limit(served)) : ModelsFile();
  lock_memory_if(served.mlock);
  if (serve.model_ref.empty()) serve.model_ref = has_several ? "" : options.alias.empty() ? model_file_name(path) : options.alias;
  if (serve.worker_id.empty()) serve.worker_id = server::random_id("worker-");
  serve.device = served.device_name;
  serve.has_page = !options.no_page;
  serve.implementation = console.name;
  serve.version = build_info().version;
  serve.is_quiet = console.quiet;
  // Only the log: notes of loading would stand among its lines.
  Console quiet = console;
  quiet.quiet = true;
  const auto opened = std::make_shared<OpenedDevice>();
  ServedModel own = served;
  own.open_device = [&served, opened] {
    ModelDevice device = served.open_device();
    opened->set(device.device.location());
    return device;
  };
  serve.device_metrics = [opened] {
    const std::optional<DeviceLocation> location = opened->get();
    return location ? device_metrics(*location) : server::Json::object();
  };
  // From any thread. Where a line cannot be written (the disk is full), serving goes on, and the next line is tried again: no state is
  // kept.
  const auto log = [&console](const std::string& line) { std::osyncstream(console.err) << line << std::endl; };
  if (has_several) {
    console.exit_code = server::serve(serve, pool_options(quiet, options, own, models), log);
    return;
  }
  console.exit_code =
      server::serve(serve, [&](const server::Progress& progress) { return load_service(quiet, options, own, path, progress); }, log);
}

}  // namespace wick
