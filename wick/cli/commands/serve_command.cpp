#include <string>
#include <utility>

#include "wick/base/fail.h"
#include "wick/cli/commands/serving.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/device/selection.h"
#include "wick/server/batch/batch_api.h"

namespace wick {
namespace {

// What belongs to one model is said in the file for each.
void check_no_other_model(const ServingOptions& options, const ServedModel& served) {
  const server::ServeOptions& serve = options.serve;
  for (const auto& [flag, is_given] :
       {std::pair("--model", !served.model.empty()), std::pair("--alias", !options.alias.empty()),
        std::pair("--lora", !options.adapters.empty()), std::pair("--draft-model", !served.draft.model.empty()),
        std::pair("--cache-folder", !options.engine.cache_folder.empty()), std::pair("--slot-save-path", !serve.slot_folder.empty())}) {
    if (is_given) fail(ErrorCode::invalid_argument, "{}: cannot be given with --models, whose file has it for each model, or none", flag);
  }
  if (!serve.queen_url.empty() || !serve.hive_url.empty() || !serve.callback_url.empty()) {
    fail(ErrorCode::invalid_argument,
         "--models: a worker of a fleet serves one model; leave out --queen-url, --hive-url and --callback-url");
  }
}

}  // namespace

void serve_command(Console& console, const Arguments& arguments) {
  ServingOptions options;
  ServedModel served;
  DeviceChoice device;
  int threads = 0;
  std::string batch_folder;
  Flags flags(
      "Serves a language model over HTTP, to many clients at once, with the APIs of OpenAI, Anthropic, Ollama and llama.cpp, and a chat "
      "page at /.",
      console);
  add_model(flags, served.model);
  flags.add_text("--models", "FILE", "serve the models that FILE lists, each loaded when a request names it (JSON)", options.models_file)
      .path()
      .group("Serving");
  add_served_model(flags, served, device, threads);
  add_serving_flags(flags, options);
  add_adapters(flags, options, "Serving");
  flags.add_text("--batch-folder", "FOLDER", "keep files and batches of OpenAI's /v1/files and /v1/batches in FOLDER (none)", batch_folder)
      .path()
      .group("Serving");
  add_fleet_flags(flags, options);
  add_verbosity(flags, console);
  flags.examples({"wick serve --model FILE.gguf --port 8080",
                  "wick serve -m FILE.gguf --parallel 8 --context 8192 --api-key SECRET --host 0.0.0.0",
                  "curl http://127.0.0.1:8080/v1/completions -d '{\"prompt\": \"Once upon a time\", \"max_tokens\": 40}'"});
  if (!flags.parse(arguments)) return;
  if (!options.is_asked_for()) options.port = 8080;
  if (!options.models_file.empty()) check_no_other_model(options, served);
  options.serve.batches = server::make_batch_part(batch_folder);
  choose_device(served, console, device, threads);
  serve_model(console, std::move(options), served);
}

}  // namespace wick
