// Serving a model over HTTP: the flags that `wick serve` and the workers share, and running it.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wick/cli/console.h"
#include "wick/cli/flags/draft_flags.h"
#include "wick/cli/flags/flags.h"
#include "wick/cli/flags/sampling_flags.h"
#include "wick/cli/load_model.h"
#include "wick/device/device.h"
#include "wick/engine/engine_options.h"
#include "wick/server/serve.h"

namespace wick {

struct ServingOptions {
  std::optional<int64_t> port;  // without a port or a socket a worker answers one prompt and ends
  server::ServeOptions serve;
  EngineOptions engine;
  std::vector<std::string> keys;
  std::string key_file;
  std::string models_file;            // of --models: several models instead of one
  std::string alias;                  // what requests call the model
  std::string chat_template;          // a name or a file; empty: the model's own
  std::vector<std::string> adapters;  // of --lora: NAME=FILE
  float rate_limit = 0;
  int64_t body_mib = 16, cache_ram_mib = 0, kv_mib = 0, drain_seconds = 30;
  int64_t unload_seconds = 0;  // without requests, until the model's memory is given back; 0: never
  bool no_prefix_cache = false, no_speculation = false, local = false, no_page = false;

  [[nodiscard]] bool is_asked_for() const noexcept { return port.has_value() || !serve.http.unix_socket.empty(); }
};

// The model that is served, and its device.
struct ServedModel {
  std::string model;  // as --model has it
  int64_t context = 0;
  Precision precision;
  DraftChoice draft = {};
  bool mlock = false;
  std::string device_name;  // "cpu:0", before it is open
  server::RequestDefaults defaults = {};
  SamplingFlags sampling = {};  // in place of the model's own
  std::function<ModelDevice()> open_device;
};

// --context to --temperature: how the model is loaded and where it runs, and the defaults of requests.
void add_served_model(Flags& flags, ServedModel& served, DeviceChoice& device, int& threads);
// --lora, under a heading of the help text.
void add_adapters(Flags& flags, ServingOptions& options, const std::string& group);
// Lets the model be loaded on the device that was chosen. The arguments outlive `served`.
void choose_device(ServedModel& served, const Console& console, const DeviceChoice& device, const int& threads);
void add_serving_flags(Flags& flags, ServingOptions& options);
// The parts of them that any HTTP server has: its address, keys and limits; its log and metrics.
void add_address_flags(Flags& flags, ServingOptions& options);
void add_log_flags(Flags& flags, ServingOptions& options);
// Sets options.serve by the flags of add_address_flags. Errors: invalid_argument for those that contradict each other; read_key_file's.
void settle_address(ServingOptions& options);
// The part of them that sets up the engine, and the chat template, under a heading of the help text.
void add_engine_flags(Flags& flags, ServingOptions& options, const std::string& group);
// Sets options.engine by the flags. Errors: invalid_argument for a folder or an adapter that cannot be used.
void settle_engine_options(ServingOptions& options);
// "model" for "folder/model.gguf"; the whole name of a folder.
[[nodiscard]] std::string model_file_name(std::filesystem::path path);
// Loads the model and makes its engine, which does not run yet. Errors: those of load_model, load_draft and Engine.
[[nodiscard]] std::shared_ptr<server::Service> load_service(const Console& console, const ServingOptions& options,
                                                            const ServedModel& served, const std::filesystem::path& path,
                                                            const server::Progress& progress);
// Defaults for requests: the flags that `wick run` has for its prompt.
void add_request_defaults(Flags& flags, ServedModel& served);
// The flags that the fleet's hive writes; they are in no help text.
void add_fleet_flags(Flags& flags, ServingOptions& options);

// Serves until a signal comes; sets the console's exit code. Errors: those of server::serve, and a file of keys that cannot be read.
void serve_model(Console& console, ServingOptions options, const ServedModel& served);

}  // namespace wick
