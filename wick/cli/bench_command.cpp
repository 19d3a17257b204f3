#include <nlohmann/json.hpp>

#include <algorithm>
#include <ostream>

#include "wick/base/fail.h"
#include "wick/base/process.h"
#include "wick/cli/bench_suite.h"
#include "wick/cli/flags.h"
#include "wick/cli/load_model.h"
#include "wick/cli/model_path.h"
#include "wick/cli/speed.h"
#include "wick/cli/text_format.h"
#include "wick/cli/wick_command.h"

namespace wick {
namespace {

struct Options {
  std::string model;
  DeviceChoice device;
  SpeedOptions speed;
  int threads = 0;
  Precision precision;
  bool json = false;
  std::string suite;
};

void print_json(const Console& console, const Options& options, const LoadedModel& loaded, const std::filesystem::path& path,
                const Speed& speed) {
  const Device& device = loaded.model->device();
  nlohmann::ordered_json json;
  json["model"] = path.string();
  json["device"] = device.location().to_string();
  json["variant"] = device.caps().driver;
  json["threads"] = device.caps().compute_units;
  json["precise"] = options.precision.precise;
  json["kv_type"] = to_string(options.precision.cache_dtype());
  json["prompt_tokens"] = options.speed.prompt_tokens;
  json["gen_tokens"] = options.speed.gen_tokens;
  json["depth"] = options.speed.depth;
  json["reps"] = options.speed.reps;
  const auto add = [&json](const std::string& name, int64_t tokens, const Summary& summary) {
    if (tokens == 0) return;
    json[name] = summary.median;
    json[name + "_min"] = summary.minimum;
    json[name + "_max"] = summary.maximum;
  };
  add("prefill_tokens_per_second", options.speed.prompt_tokens, speed.prefill);
  add("decode_tokens_per_second", options.speed.gen_tokens, speed.decode);
  json["load_seconds"] = loaded.load_seconds;
  json["first_token_seconds"] = loaded.load_seconds + speed.first_token_seconds;
  json["model_bytes"] = loaded.model->info().file_bytes;
  json["peak_rss_bytes"] = peak_resident_bytes();
  console.out << json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

void print_table(const Console& console, const Options& options, const LoadedModel& loaded, const Speed& speed) {
  const Device& device = loaded.model->device();
  console.out << fmt::format("{}, {}, {} ({}), threads {}, first token after {:.3f} s, peak memory {}\n", loaded.model->info().name,
                             format_bytes(loaded.model->info().file_bytes), device.location().to_string(), device.caps().driver,
                             device.caps().compute_units, loaded.load_seconds + speed.first_token_seconds,
                             format_bytes(peak_resident_bytes()));
  console.out << fmt::format("{:<20} {:>12} {:>12} {:>12}\n", "tokens/s", "median", "min", "max");
  const auto print = [&](const std::string& name, int64_t tokens, const Summary& summary) {
    if (tokens == 0) return;
    console.out << fmt::format("{:<20} {:>12.2f} {:>12.2f} {:>12.2f}\n", fmt::format("{} {}", name, tokens), summary.median,
                               summary.minimum, summary.maximum);
  };
  print("prefill", options.speed.prompt_tokens, speed.prefill);
  print("decode", options.speed.gen_tokens, speed.decode);
}

// "q8_0 q4_0" or "q8_0,q4_0"
std::vector<std::string> split_types(const std::string& text) {
  std::vector<std::string> types;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_of(", ", begin), text.size());
    if (end > begin) types.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (types.empty()) fail(ErrorCode::invalid_argument, "--types '{}': name at least one type, such as q8_0", text);
  return types;
}

void bench_suite(Console& console, const Options& options, SuiteOptions& suite, bool own_gen_tokens) {
  if (options.suite != "cpu") fail(ErrorCode::invalid_argument, "--suite '{}': there is cpu", options.suite);
  if (!options.model.empty())
    fail(ErrorCode::invalid_argument, "--model: --suite makes its own models; choose them with --types and --shape");
  const int64_t gen_tokens = own_gen_tokens ? options.speed.gen_tokens : suite.speed.gen_tokens;
  suite.speed = options.speed;
  suite.speed.gen_tokens = gen_tokens;
  suite.precision = options.precision;
  suite.json = options.json;
  run_bench_suite(console, suite, open_device(console, {.name = "cpu"}, options.threads));
}

void bench_model(Console& console, const Options& options) {
  const auto path = resolve_model(console, options.model);
  const LoadedModel loaded =
      load_model(console, path, open_device(console, options.device, options.threads), options.precision, WithTokenizer::no);
  const Speed speed = measure_speed(console, *loaded.model, options.speed);
  note_fallback_ops(console, loaded.model->device());
  if (options.json) {
    print_json(console, options, loaded, path, speed);
  } else {
    print_table(console, options, loaded, speed);
  }
}

}  // namespace

void bench_command(Console& console, const Arguments& arguments) {
  Options options;
  SuiteOptions suite;
  Flags flags(
      "Measures speed: prefill of a prompt, and decoding token by token, both from the same place in the cache; medians of the\n"
      "repetitions after one that warms up. --suite cpu does so for models of several types with random weights, beside what memory and\n"
      "cores can do at most, measured right before and after.",
      console);
  add_model(flags, options.model);
  flags.add_integer("--prompt-tokens", "tokens of the prompt; 0: no prefill (512)", options.speed.prompt_tokens, 0);
  const Flags::Added gen_tokens =
      flags.add_integer("--gen-tokens", "tokens to decode; 0: no decoding (128; with --suite 64)", options.speed.gen_tokens, 0);
  flags.add_integer("--reps", "repetitions (3)", options.speed.reps, 1, 1000);
  flags.add_integer("--depth", "tokens that are in the cache before (0)", options.speed.depth, 0);
  flags.add_value("--suite", "NAME", "cpu: synthetic models of several types, and their shares of the machine's limits",
                  [&](const std::string& value) { options.suite = value; });
  flags.add_value("--types", "LIST", "types of the suite's models (q8_0 q4_0 q4_k_m bf16 f16 tq2_0)",
                  [&](const std::string& value) { suite.types = split_types(value); });
  flags.add_value("--shape", "SHAPE", "shape of the suite's models, as `wick synth` takes it (1b)",
                  [&](const std::string& value) { suite.shape = value; });
  flags.add_value("--folder", "DIR", "where the suite writes its models, one at a time (the system's for temporary files)",
                  [&](const std::string& value) { suite.folder = value; });
  add_device(flags, options.device);
  add_threads(flags, options.threads);
  add_precision(flags, options.precision);
  flags.add_switch("--json", "print JSON: medians, and _min and _max beside them", options.json);
  add_verbosity(flags, console);
  flags.footer(examples({"wick bench --prompt-tokens 256",
                         "wick bench --model FILE.gguf --prompt-tokens 512 --gen-tokens 128 --threads 2 --reps 5 --json",
                         "wick bench --suite cpu --types q8_0,q4_0 --threads 2"}));
  if (!flags.parse(arguments)) return;
  if (options.speed.prompt_tokens == 0 && options.speed.gen_tokens == 0) {
    fail(ErrorCode::invalid_argument, "--prompt-tokens 0 and --gen-tokens 0: nothing is left to measure");
  }
  if (options.suite.empty()) return bench_model(console, options);
  bench_suite(console, options, suite, gen_tokens.given());
}

}  // namespace wick
