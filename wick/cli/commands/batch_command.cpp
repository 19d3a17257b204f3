#include <chrono>
#include <filesystem>
#include <ostream>
#include <string>
#include <system_error>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/interrupt.h"
#include "wick/base/json.h"
#include "wick/cli/commands/serving.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/cli/flags/flags.h"
#include "wick/cli/hub/model_path.h"
#include "wick/cli/output_file.h"
#include "wick/cli/progress_bar.h"
#include "wick/cli/text_format.h"
#include "wick/server/batch/batch_input.h"
#include "wick/server/batch/batch_results.h"
#include "wick/server/batch/batch_run.h"
#include "wick/server/batch/local_handlers.h"

namespace wick {
namespace {

using server::BatchInput;
using server::BatchResults;

struct BatchFiles {
  std::string input, output, errors;
};

// "answers.errors.jsonl" for "answers.jsonl".
std::string errors_beside(const std::string& output) {
  const std::filesystem::path path(output);
  return (path.parent_path() / path.stem()).string() + ".errors" + path.extension().string();
}

void check_files(BatchFiles& files) {
  if (files.errors.empty()) files.errors = errors_beside(files.output);
  std::error_code ignored;
  if (!std::filesystem::exists(files.input, ignored)) fail(ErrorCode::not_found, "{}: no such file; check the path", files.input);
  for (const std::string& written : {files.output, files.errors}) {
    refuse_to_overwrite_file(files.input, written);
    refuse_to_overwrite_file(files.input, written + ".partial");
  }
  if (std::filesystem::path(files.output).lexically_normal() == std::filesystem::path(files.errors).lexically_normal()) {
    fail(ErrorCode::invalid_argument, "--errors {}: this is the file of the results; name another one", files.errors);
  }
}

BatchInput read_input(const std::string& path) {
  BatchInput input(path);
  if (input.problems().empty()) return input;
  const server::BatchProblem& first = input.problems().front();
  const std::string place = first.line > 0 ? fmt::format("{}:{}", path, first.line) : path;
  const size_t more = input.problems().size() - 1;
  fail(ErrorCode::invalid_argument, "{}: {}{}; nothing was answered", place, first.message,
       more == 0 ? "" : fmt::format(" (and {} more line{} with faults)", more, more == 1 ? "" : "s"));
}

struct BatchSpeed {
  uint64_t prompt_tokens = 0, generated_tokens = 0, cached_tokens = 0;
  double seconds = 0;
};

class BatchProgress {
 public:
  BatchProgress(const Console& console, const server::LocalHandlers& handlers, const BatchInput& input, const BatchResults& results)
      : handlers_(handlers), results_(results), bar_(console, "batch"), total_(static_cast<int64_t>(input.size())), begun_with_(done()) {}

  void show() {
    const BatchSpeed now = speed();
    const auto per_second = [&](uint64_t tokens) { return now.seconds > 0 ? static_cast<double>(tokens) / now.seconds : 0; };
    bar_.update(static_cast<uint64_t>(done() - begun_with_), static_cast<uint64_t>(total_ - begun_with_),
                fmt::format("{} of {}, {:.0f} tokens/s read, {:.0f} written", done(), total_, per_second(now.prompt_tokens),
                            per_second(now.generated_tokens)));
  }

  [[nodiscard]] BatchSpeed speed() const {
    const EngineMetrics metrics = handlers_.engine().metrics();
    return {.prompt_tokens = metrics.prompt_tokens,
            .generated_tokens = metrics.generated_tokens,
            .cached_tokens = metrics.prefix_hit_tokens,
            .seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count()};
  }

 private:
  [[nodiscard]] int64_t done() const { return results_.succeeded() + results_.failed(); }

  const server::LocalHandlers& handlers_;
  const BatchResults& results_;
  ProgressBar bar_;
  int64_t total_, begun_with_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

struct BatchOutcome {
  bool is_complete = true;
  int64_t earlier = 0;  // results of runs before this one
  BatchSpeed speed = {};
};

BatchOutcome answer(const server::LocalHandlers& handlers, const BatchInput& input, BatchResults& results, const Console& console) {
  BatchOutcome outcome{.earlier = results.succeeded() + results.failed()};
  BatchProgress progress(console, handlers, input, results);
  const InterruptGuard interrupt;
  const EngineInfo& info = handlers.engine().info();
  // More than are computed at once, so that the engine never waits for the next ones.
  outcome.is_complete = server::run_batch(handlers.router(), input, results, {.at_once = 2 * info.sequences}, [&] {
    progress.show();
    return !interrupt.requested();
  });
  outcome.speed = progress.speed();
  return outcome;
}

void report(Console& console, const BatchFiles& files, const BatchInput& input, const BatchResults& results, const BatchOutcome& outcome,
            bool json) {
  const BatchSpeed& speed = outcome.speed;
  const auto total = static_cast<int64_t>(input.size());
  const int64_t done = results.succeeded() + results.failed();
  if (json) {
    console.out << json_text(nlohmann::ordered_json{{"input", files.input},
                                                    {"output", files.output},
                                                    {"errors", results.failed() > 0 ? nlohmann::ordered_json(files.errors) : nullptr},
                                                    {"requests", total},
                                                    {"succeeded", results.succeeded()},
                                                    {"failed", results.failed()},
                                                    {"of_earlier_runs", outcome.earlier},
                                                    {"prompt_tokens", speed.prompt_tokens},
                                                    {"cached_tokens", speed.cached_tokens},
                                                    {"generated_tokens", speed.generated_tokens},
                                                    {"seconds", speed.seconds}})
                << '\n';
  }
  if (!outcome.is_complete) {
    console.warn(fmt::format("stopped: {} of {} requests have a result; run the same command again to go on", done, total));
    console.exit_code = kExitInterrupted;
    return;
  }
  console.note(fmt::format("{}, {} of them in earlier runs, {} prompt tokens ({} found in the cache) and {} generated in {:.1f} s",
                           format_counted(done, "request"), outcome.earlier, speed.prompt_tokens, speed.cached_tokens,
                           speed.generated_tokens, speed.seconds));
  if (results.failed() == 0) return;
  console.error(fmt::format("{} of {} requests failed; {} says why, and without it the same command tries them again", results.failed(),
                            total, files.errors));
  console.exit_code = kExitUserError;
}

}  // namespace

void batch_command(Console& console, const Arguments& arguments) {
  BatchFiles files;
  ServingOptions options;
  ServedModel served;
  DeviceChoice device;
  int threads = 0;
  bool json = false;
  std::string ray, ray_cpus, ray_gpus;
  Flags flags(
      "Answers a file of requests in OpenAI's batch format, many at once: each line of INPUT has custom_id, method, url and body. OUTPUT "
      "gets a line for each answer, in any order. A run that was ended goes on where it stopped when the same command is given again.",
      console);
  flags.add_argument("INPUT", "the requests, a JSON object on each line", files.input).required().path();
  flags.add_argument("OUTPUT", "the results; OUTPUT.partial until all are there", files.output).required().path();
  flags.add_text("--errors", "FILE", "where requests that fail are written (OUTPUT's name with .errors)", files.errors).path();
  add_model(flags, served.model);
  add_served_model(flags, served, device, threads);
  add_engine_flags(flags, options, "Engine");
  add_adapters(flags, options, "Engine");
  flags.add_text("--ray", "ADDRESS", "answer a folder of files on a cluster, auto or HOST:PORT; the Python package's wick has it", ray);
  flags.add_text("--ray-cpus", "N", "CPUs of each file's task (1)", ray_cpus);
  flags.add_text("--ray-gpus", "N", "GPUs of each file's task (0)", ray_gpus);
  add_json(flags, json);
  add_verbosity(flags, console);
  flags.notes(
      "URLs: /v1/chat/completions, /v1/completions, /v1/responses, /v1/embeddings, /v1/rerank. The exit code is 2 where a request failed.");
  flags.examples({"wick batch requests.jsonl answers.jsonl --model FILE.gguf"});
  if (!flags.parse(arguments)) return;
  // The package takes such commands before they come here.
  if (!ray.empty() || !ray_cpus.empty() || !ray_gpus.empty()) {
    fail(ErrorCode::invalid_argument,
         "--ray: this program has no Ray; the wick of the Python package has: pip install 'wick[ray]', then wick batch … --ray auto");
  }

  check_files(files);
  const BatchInput input = read_input(files.input);
  settle_engine_options(options);
  const std::filesystem::path path = resolve_model(console, served.model);
  BatchResults results(input, files.output, files.errors);
  BatchOutcome outcome{.earlier = results.succeeded() + results.failed()};
  if (!results.is_complete()) {
    if (outcome.earlier > 0) console.note(fmt::format("{} of {} requests have a result already", outcome.earlier, input.size()));
    lock_memory_if(served.mlock);
    choose_device(served, console, device, threads);
    options.serve.model_ref = model_file_name(path);
    const server::LocalHandlers handlers(load_service(console, options, served, path, {}));
    outcome = answer(handlers, input, results, console);
  }
  if (outcome.is_complete) results.commit();
  report(console, files, input, results, outcome, json);
}

}  // namespace wick
