
#include <algorithm>
#include <ostream>
#include <span>

#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/base/process.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/cli/flags/adapter_flags.h"
#include "wick/cli/flags/flags.h"
#include "wick/cli/hub/model_path.h"
#include "wick/cli/load_model.h"
#include "wick/cli/measure/bench_report.h"
#include "wick/cli/measure/bench_suite.h"
#include "wick/cli/measure/request_load.h"
#include "wick/cli/measure/speed.h"
#include "wick/cli/text_format.h"
#include "wick/convert/synthetic.h"

namespace wick {
namespace {

struct Options {
  std::string model;
  DeviceChoice device;
  std::vector<int64_t> prompt_tokens = {512};
  std::vector<int64_t> gen_tokens = {128};
  std::vector<int64_t> depths = {0};
  std::vector<int64_t> sequences = {};  // none: one, and the lengths of prompt_tokens
  std::vector<int64_t> threads = {0};
  int64_t reps = 3;
  Precision precision;
  BenchFormat format = BenchFormat::table;
  std::string suite;
  RequestLoad load{.requests = 0};  // 0: no requests
  std::vector<int64_t> concurrency = {8};
  EngineOptions engine{.prefix_cache = true};
  int64_t draft_tokens = 16;
  bool no_ahead = false;
  std::string draft;
  int64_t cache_mebibytes = 0;
};

struct Measured {
  std::vector<BenchRow> rows;
  // Of the first model that was loaded.
  double load_seconds = 0;
  double first_token_seconds = 0;
};

BenchRow describe(const Options& options, const LoadedModel& loaded) {
  const ModelInfo& info = loaded.model->info();
  const Device& device = loaded.model->device();
  return {.model = info.name,
          .model_bytes = info.file_bytes,
          .parameters = info.parameters,
          .device = device.location().to_string(),
          .variant = device.caps().driver,
          .threads = device.caps().compute_units,
          .precise = options.precision.precise,
          .fast = options.precision.fast,
          .deterministic = options.precision.deterministic,
          .kv_type = std::string(to_string(options.precision.cache_dtype())),
          .speed = {}};
}

// What is measured together, in turns: the n-th prompt length with the n-th length of decoding; or so many sequences that decode at once
// with a prompt of as many tokens, which has as much to compute.
std::vector<SpeedOptions> tests_of(const Options& options, int64_t depth) {
  std::vector<SpeedOptions> tests;
  const size_t count = std::max(options.prompt_tokens.size(), options.gen_tokens.size());
  for (size_t index = 0; index < count && options.sequences.empty(); ++index) {
    tests.push_back({.prompt_tokens = index < options.prompt_tokens.size() ? options.prompt_tokens[index] : 0,
                     .gen_tokens = index < options.gen_tokens.size() ? options.gen_tokens[index] : 0,
                     .depth = depth,
                     .reps = options.reps});
  }
  for (const int64_t sequences : options.sequences) {
    for (const int64_t gen_tokens : options.gen_tokens) {
      tests.push_back({.prompt_tokens = sequences,
                       .gen_tokens = gen_tokens,
                       .depth = depth,
                       .reps = options.reps,
                       .sequences = sequences,
                       .all_logits = true});
    }
  }
  return tests;
}

void measure_depth(const Console& console, const Options& options, const LoadedModel& loaded, int64_t depth, Measured& measured) {
  std::vector<BenchRow> decode_rows;
  for (const SpeedOptions& test : tests_of(options, depth)) {
    if (test.prompt_tokens == 0 && test.gen_tokens == 0) continue;
    const Speed speed = measure_speed(console, *loaded.model, test);
    if (measured.first_token_seconds == 0) {
      measured.load_seconds = loaded.load_seconds;
      measured.first_token_seconds = loaded.load_seconds + speed.first_token_seconds;
    }
    BenchRow row = describe(options, loaded);
    row.depth = depth;
    if (test.prompt_tokens > 0) {
      row.tokens = test.prompt_tokens;
      row.all_logits = test.all_logits;
      row.speed = speed.prefill;
      measured.rows.push_back(row);
    }
    if (test.gen_tokens > 0) {
      row.decode = true;
      row.tokens = test.gen_tokens;
      row.sequences = test.sequences;
      row.all_logits = false;
      row.speed = speed.decode;
      decode_rows.push_back(row);
    }
  }
  measured.rows.insert(measured.rows.end(), decode_rows.begin(), decode_rows.end());
}

nlohmann::ordered_json to_json(const Options& options, const std::filesystem::path& path, const Measured& measured,
                               const BenchMachine& machine) {
  const BenchRow& first = measured.rows.front();
  nlohmann::ordered_json json = {{"model", path.string()},
                                 {"device", first.device},
                                 {"variant", first.variant},
                                 {"threads", first.threads},
                                 {"precise", first.precise},
                                 {"fast", first.fast},
                                 {"deterministic", first.deterministic},
                                 {"kv_type", first.kv_type},
                                 {"depth", first.depth},
                                 {"reps", options.reps},
                                 {"cpu", machine.cpu},
                                 {"version", machine.version},
                                 {"commit", machine.commit},
                                 {"date", machine.date}};
  // With one test of a kind its numbers are here too.
  for (const bool decode : {false, true}) {
    const auto is_kind = [decode](const BenchRow& row) { return row.decode == decode; };
    if (std::count_if(measured.rows.begin(), measured.rows.end(), is_kind) != 1) continue;
    const BenchRow& row = *std::find_if(measured.rows.begin(), measured.rows.end(), is_kind);
    const std::string name = decode ? "decode_tokens_per_second" : "prefill_tokens_per_second";
    json[decode ? "gen_tokens" : "prompt_tokens"] = row.tokens;
    json[name] = row.speed.median;
    json[name + "_min"] = row.speed.minimum;
    json[name + "_max"] = row.speed.maximum;
    json[name + "_mean"] = row.speed.mean;
    json[name + "_stddev"] = row.speed.deviation;
  }
  json["results"] = nlohmann::ordered_json::array();
  for (const BenchRow& row : measured.rows) json["results"].push_back(wick::to_json(row, machine));
  json["load_seconds"] = measured.load_seconds;
  json["first_token_seconds"] = measured.first_token_seconds;
  json["model_bytes"] = first.model_bytes;
  json["peak_rss_bytes"] = peak_resident_bytes();
  return json;
}

void print(const Console& console, const Options& options, const std::filesystem::path& path, const Measured& measured) {
  const BenchMachine machine = bench_machine();
  const BenchRow& first = measured.rows.front();
  switch (options.format) {
    case BenchFormat::table:
      console.out << fmt::format("{}, {}, {} ({}), first token after {:.3f} s, peak memory {}\n", first.model,
                                 format_bytes(first.model_bytes), first.device, first.variant, measured.first_token_seconds,
                                 format_bytes(peak_resident_bytes()))
                  << fmt::format("{}, wick {} ({}), {}\n", machine.cpu, machine.version, machine.commit, machine.date)
                  << render_table(measured.rows);
      return;
    case BenchFormat::markdown: console.out << render_markdown(measured.rows, machine); return;
    case BenchFormat::csv: console.out << render_csv(measured.rows, machine); return;
    case BenchFormat::jsonl: console.out << render_jsonl(measured.rows, machine); return;
    case BenchFormat::json: console.out << json_text(to_json(options, path, measured, machine), 2) << '\n'; return;
  }
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
  if (options.format != BenchFormat::table && options.format != BenchFormat::json)
    fail(ErrorCode::invalid_argument, "--output: --suite prints a table or json");
  if (!options.sequences.empty()) fail(ErrorCode::invalid_argument, "--sequences: --suite measures one sequence");
  for (const auto* list : {&options.prompt_tokens, &options.gen_tokens, &options.depths, &options.threads}) {
    if (list->size() > 1) fail(ErrorCode::invalid_argument, "--suite takes one value for each flag, not a list");
  }
  suite.speed.prompt_tokens = options.prompt_tokens.front();
  if (own_gen_tokens) suite.speed.gen_tokens = options.gen_tokens.front();
  suite.speed.depth = options.depths.front();
  suite.speed.reps = options.reps;
  suite.precision = options.precision;
  suite.json = options.format == BenchFormat::json;
  run_bench_suite(console, suite, open_device(console, {.name = "cpu", .trace_file = {}}, static_cast<int>(options.threads.front())));
}

// What determinism costs each of the rows: their tests again without it.
void measure_cost(const Console& console, Options options, const std::filesystem::path& path, const ModelDevice& device,
                  std::span<BenchRow> rows) {
  options.precision.deterministic = false;
  const LoadedModel loaded = load_model(console, path, device, options.precision, WithTokenizer::no);
  Measured free;
  for (const int64_t depth : options.depths) measure_depth(console, options, loaded, depth, free);
  for (size_t index = 0; index < rows.size(); ++index) rows[index].cost = free.rows[index].speed.median / rows[index].speed.median;
}

void bench_model(Console& console, const Options& options) {
  const auto path = resolve_model(console, options.model);
  Measured measured;
  for (const int64_t threads : options.threads) {
    const ModelDevice device = open_model_device(console, options.device, static_cast<int>(threads));
    const LoadedModel loaded = load_model(console, path, device, options.precision, WithTokenizer::no);
    const size_t first = measured.rows.size();
    for (const int64_t depth : options.depths) measure_depth(console, options, loaded, depth, measured);
    if (options.precision.deterministic) measure_cost(console, options, path, device, std::span(measured.rows).subspan(first));
    note_fallback_ops(console, loaded.model->device());
  }
  print(console, options, path, measured);
}

void bench_requests(Console& console, Options& options) {
  if (options.format != BenchFormat::table && options.format != BenchFormat::json) {
    fail(ErrorCode::invalid_argument, "--output: --requests prints a table or json");
  }
  for (const auto* list : {&options.prompt_tokens, &options.gen_tokens, &options.threads}) {
    if (list->size() > 1) fail(ErrorCode::invalid_argument, "--requests takes one value for each flag, not a list");
  }
  const ModelDevice device = open_model_device(console, options.device, static_cast<int>(options.threads.front()));
  const auto path = resolve_model(console, options.model);
  const LoadedModel loaded = load_model(console, path, device, options.precision);
  // Each under the flag's value: a file may come twice, with two scales.
  for (const std::string& value : options.load.adapters) load_adapter(parse_adapter_file(value), value, *loaded.model);
  std::optional<LoadedModel> draft;
  if (!options.draft.empty())
    draft = load_model(console, resolve_model(console, options.draft), device.device, options.precision, WithTokenizer::no);
  EngineOptions& engine_options = options.engine;
  options.load.prompt_tokens = std::max<int64_t>(1, options.prompt_tokens.front());
  options.load.max_tokens = options.gen_tokens.front();
  engine_options.sequences = *std::max_element(options.concurrency.begin(), options.concurrency.end());
  engine_options.queue = std::max(options.load.requests, engine_options.sequences);  // the warm-up has as many as run at once
  engine_options.speculation.most = options.draft_tokens;
  engine_options.ahead = !options.no_ahead;
  engine_options.kv_bytes = options.cache_mebibytes << 20;
  std::vector<LoadResult> results;
  for (const int64_t concurrency : options.concurrency) {
    Engine engine(*loaded.model, loaded.tokenizer, engine_options, draft ? draft->model.get() : nullptr);
    // What a first run pays for: pages of the weights, and their layout.
    RequestLoad warm_up = options.load;
    warm_up.requests = warm_up.concurrency = concurrency;
    warm_up.rate = 0;
    warm_up.max_tokens = std::min<int64_t>(warm_up.max_tokens, 16);
    warm_up.seed += 1000;
    warm_up.shared_tokens = 0;
    (void)run_load(engine, warm_up);
    device.device.runtime().finish_preparing();
    options.load.concurrency = concurrency;
    results.push_back(run_load(engine, options.load));
  }
  note_fallback_ops(console, device.device);
  if (options.format == BenchFormat::table) {
    console.out << render_table(results);
    return;
  }
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const LoadResult& result : results) json.push_back(to_json(result));
  const BenchRow of = describe(options, loaded);
  const BenchMachine machine = bench_machine();
  const nlohmann::ordered_json all = {{"model", path.string()},     {"device", of.device},      {"threads", of.threads},
                                      {"precise", of.precise},      {"kv_type", of.kv_type},    {"cpu", machine.cpu},
                                      {"version", machine.version}, {"commit", machine.commit}, {"date", machine.date},
                                      {"results", std::move(json)}};
  console.out << json_text(all, 2) << '\n';
}

void add_request_flags(Flags& flags, Options& options) {
  const char* group = "Requests";
  flags
      .add_integer("--requests", "benchmark continuous batching with N requests instead: times to the first and between tokens",
                   options.load.requests, 1, 10000000)
      .group(group);
  flags.add_integers("--concurrency", "maximum number of requests in flight, such as 8,32 (8)", options.concurrency, 1, 4096).group(group);
  flags
      .add_decimal("--rate", "requests a second that arrive at random times (Poisson); 0 = the next when one has ended (0)",
                   options.load.rate, 0, 1e6)
      .group(group);
  flags.add_integer("--shared-tokens", "length of the prefix that all prompts share (0)", options.load.shared_tokens, 0).group(group);
  flags.add_integer("--repeat-tokens", "the prompt repeats so many tokens; 0 = it does not (0)", options.load.repeated_tokens, 0)
      .group(group);
  flags
      .add_integer(
          "--step-rows",
          "the most tokens of a step while requests generate: larger reads prompts faster and delays tokens (16 on a CPU, up to 24 "
          "while many prompts are read; else 1,024)",
          options.engine.step_rows, 1)
      .group(group);
  flags.add_integer("--cache-mib", "memory of the KV cache in MiB (1,024 tokens a request)", options.cache_mebibytes, 1).group(group);
  flags.add_integer("--draft-tokens", "the most tokens proposed at once by speculation; 0 = off (16)", options.draft_tokens, 0, 256)
      .group(group);
  flags
      .add_values("--lora", "FILE[=SCALE]", "requests take turns at these LoRA adapters, one each (scale 1); repeatable",
                  options.load.adapters)
      .group(group);
  flags.add_switch("--no-ahead", "on a GPU, read the tokens of each step before the next one is queued", options.no_ahead).group(group);
  flags.add_text("--draft-model", "FILE", "a small model of the same vocabulary that proposes tokens", options.draft).group(group);
}

}  // namespace

void bench_command(Console& console, const Arguments& arguments) {
  Options options;
  SuiteOptions suite;
  bool json = false;
  Flags flags(
      "Benchmarks prompt processing and token generation, starting at the same cache depth. Reports mean, standard deviation and median of "
      "N runs after one warm-up run. LIST is one number or several, such as 128,512. --suite cpu benchmarks synthetic models and compares "
      "them with the machine's measured memory bandwidth and peak arithmetic rate.",
      console);
  add_model(flags, options.model);
  const Flags::Added prompt_tokens = flags.add_integers("-p,--prompt-tokens,--n-prompt",
                                                        "lengths of the prompt; 0 = no prompt processing (512)", options.prompt_tokens, 0);
  const Flags::Added gen_tokens = flags.add_integers("-n,--max-tokens,--gen-tokens,--n-gen",
                                                     "tokens to generate; 0 = no generation (128; with --suite 64)", options.gen_tokens, 0);
  flags.add_integer("-r,--reps,--repetitions", "number of runs (3)", options.reps, 1, 1000);
  flags.add_integers("-d,--depth,--n-depth", "tokens in the cache before each run (0)", options.depths, 0);
  flags
      .add_integers("--sequences",
                    "sequences that generate at once, such as 8,32; each beside the processing of a prompt of as many tokens with all "
                    "logits",
                    options.sequences, 1, 4096)
      .excludes(prompt_tokens);
  flags.add_integers("-t,--threads", "threads to compute with, each 1 to 1024 (one per usable core)", options.threads, 1, 1024);
  flags
      .add_value("-o,--format,--output", "FORMAT", "table, md, csv, jsonl or json (table)",
                 [&](const std::string& text) { options.format = parse_bench_format("--format", text); })
      .choices({"table", "md", "csv", "jsonl", "json"});
  flags.add_switch("--json", "the same as --format json", json);
  flags.add_text("--suite", "NAME", "cpu: synthetic models of several types, compared with the machine's limits", options.suite)
      .choices({"cpu"});
  flags
      .add_value("--types", "LIST", "types of the suite's models (q8_0 q4_0 q4_k_m bf16 f16 tq2_0)",
                 [&](const std::string& value) { suite.types = split_types(value); })
      .choices(synthetic_types());
  flags.add_text("--shape", "SHAPE", "shape of the suite's models, as in wick synth (1b)", suite.shape).choices({"1b", "8b"});
  flags.add_value("--folder", "DIR", "where the suite writes its models, one at a time (the system's temporary folder)",
                  [&](const std::string& value) { suite.folder = value; });
  add_request_flags(flags, options);
  add_device(flags, options.device);
  add_precision(flags, options.precision);
  add_verbosity(flags, console);
  flags.examples({"wick bench --prompt-tokens 256", "wick bench -m FILE.gguf -p 128,512 -n 64 -t 1,2 -r 5 -o md",
                  "wick bench -m FILE.gguf --sequences 8,32 -n 64", "wick bench --suite cpu --types q8_0,q4_0 --threads 2",
                  "wick bench -m FILE.gguf --requests 64 --concurrency 8,32 -p 128 -n 128"});
  if (!flags.parse(arguments)) return;
  if (json) options.format = BenchFormat::json;
  if (options.load.requests > 0) {
    if (!prompt_tokens.given()) options.prompt_tokens = {128};
    return bench_requests(console, options);
  }
  for (const std::string& name : flags.typed({"Requests"})) console.warn(fmt::format("{} does nothing without --requests", name));
  const auto measures = [](const std::vector<int64_t>& list) {
    return std::any_of(list.begin(), list.end(), [](int64_t n) { return n > 0; });
  };
  if (options.sequences.empty() && !measures(options.prompt_tokens) && !measures(options.gen_tokens)) {
    fail(ErrorCode::invalid_argument, "--prompt-tokens 0 and --max-tokens 0: nothing is left to measure");
  }
  if (options.suite.empty()) return bench_model(console, options);
  bench_suite(console, options, suite, gen_tokens.given());
}

}  // namespace wick
