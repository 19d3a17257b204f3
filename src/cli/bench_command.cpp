#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <ostream>

#include "base/error.h"
#include "base/process.h"
#include "cli/flags.h"
#include "cli/load_model.h"
#include "cli/model_path.h"
#include "cli/progress_bar.h"
#include "cli/text_format.h"
#include "cli/wick_command.h"

namespace wick {
namespace {

struct Options {
  std::string model;
  std::string device = "auto";
  int64_t prompt_tokens = 512;
  int64_t gen_tokens = 128;
  int64_t reps = 3;
  int threads = 0;
  bool precise = false;
  bool json = false;
};

struct Summary {
  double median = 0;
  double minimum = 0;
  double maximum = 0;
};

Summary summarize(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  const double median = values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {median, values.front(), values.back()};
}

// Ids spread over the vocabulary. Speed does not depend on which, but a mixture of experts or a table's pages might.
std::vector<TokenId> spread_tokens(int64_t count, int64_t vocab_size) {
  std::vector<TokenId> tokens(static_cast<size_t>(count));
  for (int64_t index = 0; index < count; ++index)
    tokens[static_cast<size_t>(index)] = static_cast<TokenId>((index * 7919 + 13) % vocab_size);
  return tokens;
}

class Bench {
 public:
  Bench(const LanguageModel& model, const Options& options) : model_(model), options_(options) {
    const int64_t longest = std::max(options.prompt_tokens, options.gen_tokens);
    if (longest > model.info().context_length) {
      fail(ErrorCode::context_full, "{} tokens are more than the context of {} holds, {}; lower --prompt-tokens or --gen-tokens", longest,
           model.info().name, model.info().context_length);
    }
    tokens_ = spread_tokens(longest, model.info().vocab_size);
    cache_ = model.new_cache(longest);
  }

  void run(const Program& program) {
    ProgressBar bar(program, "bench");
    const auto total = static_cast<uint64_t>(options_.reps + 1);
    for (int64_t rep = -1; rep < options_.reps; ++rep) {  // the first one warms up
      const double prefill = time_prefill();
      const double decode = time_decode();
      bar.update(static_cast<uint64_t>(rep + 2), total);
      if (rep < 0) continue;
      if (prefill > 0) prefill_.push_back(static_cast<double>(options_.prompt_tokens) / prefill);
      if (decode > 0) decode_.push_back(static_cast<double>(options_.gen_tokens) / decode);
    }
  }

  [[nodiscard]] Summary prefill() const { return summarize(prefill_); }
  [[nodiscard]] Summary decode() const { return summarize(decode_); }

 private:
  template <class Body>
  double timed(const Body& body) {
    cache_->truncate(0);
    const auto start = std::chrono::steady_clock::now();
    body();
    model_.device().synchronize();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  double time_prefill() {
    if (options_.prompt_tokens == 0) return 0;
    return timed(
        [&] { (void)model_.forward(std::span(tokens_).first(static_cast<size_t>(options_.prompt_tokens)), *cache_, LogitRows::last); });
  }

  double time_decode() {
    if (options_.gen_tokens == 0) return 0;
    return timed([&] {
      for (int64_t step = 0; step < options_.gen_tokens; ++step) {
        (void)model_.forward(std::span(tokens_).subspan(static_cast<size_t>(step), 1), *cache_, LogitRows::last);
      }
    });
  }

  const LanguageModel& model_;
  const Options& options_;
  std::vector<TokenId> tokens_;
  std::unique_ptr<KvCache> cache_;
  std::vector<double> prefill_;
  std::vector<double> decode_;
};

void print_json(const Program& program, const Options& options, const LoadedModel& loaded, const std::filesystem::path& path,
                const Bench& bench) {
  const Device& device = loaded.model->device();
  nlohmann::ordered_json json;
  json["model"] = path.string();
  json["device"] = device.location().to_string();
  json["variant"] = device.caps().driver;
  json["threads"] = device.caps().compute_units;
  json["precise"] = options.precise;
  json["prompt_tokens"] = options.prompt_tokens;
  json["gen_tokens"] = options.gen_tokens;
  json["reps"] = options.reps;
  const auto add = [&json](const std::string& name, int64_t tokens, const Summary& summary) {
    if (tokens == 0) return;
    json[name] = summary.median;
    json[name + "_min"] = summary.minimum;
    json[name + "_max"] = summary.maximum;
  };
  add("prefill_tokens_per_second", options.prompt_tokens, bench.prefill());
  add("decode_tokens_per_second", options.gen_tokens, bench.decode());
  json["load_seconds"] = loaded.load_seconds;
  json["model_bytes"] = loaded.model->info().file_bytes;
  json["peak_rss_bytes"] = peak_resident_bytes();
  program.out << json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

void print_table(const Program& program, const Options& options, const LoadedModel& loaded, const Bench& bench) {
  const Device& device = loaded.model->device();
  program.out << fmt::format("{}, {}, {} ({}), threads {}, load {:.3f} s, peak memory {}\n", loaded.model->info().name,
                             format_bytes(loaded.model->info().file_bytes), device.location().to_string(), device.caps().driver,
                             device.caps().compute_units, loaded.load_seconds, format_bytes(peak_resident_bytes()));
  program.out << fmt::format("{:<20} {:>12} {:>12} {:>12}\n", "tokens/s", "median", "min", "max");
  const auto print = [&](const std::string& name, int64_t tokens, const Summary& summary) {
    if (tokens == 0) return;
    program.out << fmt::format("{:<20} {:>12.2f} {:>12.2f} {:>12.2f}\n", fmt::format("{} {}", name, tokens), summary.median,
                               summary.minimum, summary.maximum);
  };
  print("prefill", options.prompt_tokens, bench.prefill());
  print("decode", options.gen_tokens, bench.decode());
}

}  // namespace

void bench_command(Program& program, const Arguments& arguments) {
  Options options;
  CLI::App app(
      "Measures speed: prefill of a prompt, and decoding token by token, both from an empty cache; medians of the repetitions after one\n"
      "that warms up.",
      program.name);
  add_value(app, "--model", "FILE", "a GGUF model (default: Wick's model)", [&](const std::string& value) { options.model = value; });
  add_integer(app, "--prompt-tokens", "tokens of the prompt; 0: no prefill (512)", options.prompt_tokens, 0);
  add_integer(app, "--gen-tokens", "tokens to decode; 0: no decoding (128)", options.gen_tokens, 0);
  add_integer(app, "--reps", "repetitions (3)", options.reps, 1, 1000);
  add_device(app, options.device);
  add_threads(app, options.threads);
  app.add_flag("--precise", options.precise, "f32 activations and KV cache throughout: slower");
  app.add_flag("--json", options.json, "print JSON: medians, and _min and _max beside them");
  app.add_flag("--quiet", program.quiet, "say nothing but errors");
  add_version(app, program);
  app.footer(examples(
      {"wick bench --prompt-tokens 256", "wick bench --model FILE.gguf --prompt-tokens 512 --gen-tokens 128 --threads 2 --reps 5 --json"}));
  if (!parse_flags(app, arguments, program)) return;
  if (options.prompt_tokens == 0 && options.gen_tokens == 0) {
    fail(ErrorCode::invalid_argument, "--prompt-tokens 0 and --gen-tokens 0: nothing is left to measure");
  }
  const auto path = resolve_model(program, options.model);
  const LoadedModel loaded = load_model(program, path, open_device(options.device, options.threads), options.precise, WithTokenizer::no);
  Bench bench(*loaded.model, options);
  bench.run(program);
  if (options.json) {
    print_json(program, options, loaded, path, bench);
  } else {
    print_table(program, options, loaded, bench);
  }
}

}  // namespace wick
