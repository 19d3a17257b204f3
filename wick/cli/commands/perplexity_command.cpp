
#include <algorithm>
#include <cmath>
#include <optional>
#include <ostream>

#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/cli/flags/flags.h"
#include "wick/cli/hub/model_path.h"
#include "wick/cli/load_model.h"
#include "wick/cli/measure/base_logits.h"
#include "wick/cli/measure/divergence.h"
#include "wick/cli/measure/statistics.h"
#include "wick/cli/output_file.h"
#include "wick/cli/progress_bar.h"
#include "wick/cli/text_format.h"
#include "wick/cli/text_input.h"

namespace wick {
namespace {

// -ln p(target) under the softmax of one row of logits.
double negative_log_likelihood(std::span<const float> logits, TokenId target) {
  if (target < 0 || static_cast<size_t>(target) >= logits.size()) {
    fail(ErrorCode::index_out_of_range, "token {} of the text is outside the model's vocabulary of {}", target, logits.size());
  }
  const double highest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - highest);
  return highest + std::log(sum) - logits[static_cast<size_t>(target)];
}

// What the model reads of a chunk, and what follows each token of it; those before `first` are not scored.
struct Chunk {
  std::vector<TokenId> input;
  std::span<const TokenId> targets;
  int64_t first = 0;
};

// Each token of the chunk is predicted from BOS and the tokens before it.
Chunk whole_chunk(TokenId bos, std::span<const TokenId> tokens) {
  Chunk chunk{.input = {bos}, .targets = tokens};
  chunk.input.insert(chunk.input.end(), tokens.begin(), tokens.end() - 1);
  return chunk;
}

// As llama-perplexity cuts: BOS replaces the first token (where the tokenizer adds it), and the second half is scored.
Chunk half_chunk(std::optional<TokenId> bos, std::span<const TokenId> tokens) {
  Chunk chunk{.input = {tokens.begin(), tokens.end() - 1}, .targets = tokens.subspan(1), .first = static_cast<int64_t>(tokens.size() / 2)};
  if (bos) chunk.input.front() = *bos;
  return chunk;
}

struct PerplexityOptions {
  std::string model;
  std::string file;
  DeviceChoice device;
  int64_t context = 512;
  bool own_context = false;
  int64_t chunks = 0;
  int threads = 0;
  bool second_half = false;
  std::string base_file;
  bool compare = false;
  Precision precision;
  bool json = false;
};

// Scores one chunk after another.
class Scorer {
 public:
  Scorer(const LoadedModel& loaded, int64_t context) : model_(*loaded.model), cache_(loaded.model->new_sequence(context)) {}

  // Also shown each row that is scored; may stay empty.
  std::function<void(std::span<const float> logits, TokenId target)> observe = {};
  RunningMean loss;

  void score(const Chunk& chunk) {
    cache_->truncate(0);
    const auto count = static_cast<int64_t>(chunk.input.size());
    for (int64_t done = 0; done < count; done += kLogitsAtOnce) {
      const auto rows = static_cast<size_t>(std::min(kLogitsAtOnce, count - done));
      const auto begin = static_cast<size_t>(done);
      const Tensor logits = model_.forward(std::span(chunk.input).subspan(begin, rows), *cache_, LogitRows::all);
      const std::vector<float> values = logits.to_vector<float>();
      const size_t width = values.size() / rows;
      for (size_t row = 0; row < rows; ++row) {
        if (done + static_cast<int64_t>(row) < chunk.first) continue;
        const auto logits_row = std::span(values).subspan(row * width, width);
        const TokenId target = chunk.targets[begin + row];
        loss.add(negative_log_likelihood(logits_row, target));
        if (observe) observe(logits_row, target);
      }
    }
  }

 private:
  const LanguageModel& model_;
  std::unique_ptr<CachedSequence> cache_;
};

// The tokens to score, a multiple of the context.
struct Text {
  std::vector<TokenId> tokens;
  int64_t context = 0;
  bool adds_bos = false;  // its first token is BOS

  [[nodiscard]] int64_t chunks() const { return static_cast<int64_t>(tokens.size()) / context; }
  [[nodiscard]] std::span<const TokenId> chunk(int64_t index) const {
    return std::span(tokens).subspan(static_cast<size_t>(index * context), static_cast<size_t>(context));
  }
};

Text read_text(const PerplexityOptions& options, const LoadedModel& loaded, const std::string& content) {
  Text text{.tokens = loaded.tokenizer->encode(content, {.add_special = options.second_half, .parse_special = false}),
            .context = options.context};
  text.adds_bos = !text.tokens.empty() && loaded.tokenizer->bos() && text.tokens.front() == *loaded.tokenizer->bos();
  if (text.chunks() == 0) {
    fail(ErrorCode::invalid_argument, "{}: {} tokens are less than one chunk of {}; give a longer text or a smaller --context",
         options.file, text.tokens.size(), options.context);
  }
  return text;
}

// The text of a base file, which holds its tokens.
Text text_of(const PerplexityOptions& options, const LoadedModel& loaded, const BaseLogitsHeader& header) {
  if (header.vocabulary != loaded.model->info().vocab_size) {
    fail(ErrorCode::invalid_argument, "{}: its vocabulary has {} tokens and {} has {}; compare models of one vocabulary", options.base_file,
         header.vocabulary, loaded.model->info().name, loaded.model->info().vocab_size);
  }
  if (options.own_context && header.context != options.context) {
    fail(ErrorCode::invalid_argument, "--context {}: {} was written with chunks of {} tokens", options.context, options.base_file,
         header.context);
  }
  return {.tokens = header.tokens, .context = header.context, .adds_bos = loaded.tokenizer->adds_bos()};
}

void check_context(const PerplexityOptions& options, const LoadedModel& loaded, int64_t context) {
  const ModelInfo& info = loaded.model->info();
  if (context > info.context_length) {
    fail(ErrorCode::context_full, "--context {}: the context of {} holds {}", context, info.name, info.longest());
  }
  if (!loaded.tokenizer->bos() && !options.second_half) {
    fail(ErrorCode::unsupported, "{}: the vocabulary has no BOS token, which each chunk begins with; give --second-half", info.name);
  }
  if (options.second_half && context < 4) {
    fail(ErrorCode::invalid_argument, "--context {}: half of a chunk must have something to score; give at least 4", context);
  }
}

// "[1]73.6913,[2]48.8460," in a log; a terminal has the bar.
void show_running(const Console& console, ProgressBar& bar, int64_t done, int64_t chunks, const RunningMean& loss) {
  const double perplexity = std::exp(loss.mean());
  if (console.quiet) return;
  if (bar.moves()) {
    bar.update(static_cast<uint64_t>(done), static_cast<uint64_t>(chunks),
               fmt::format("NLL {:.4f}, perplexity {:.4f}", loss.mean(), perplexity));
  } else {
    console.err << fmt::format("[{}]{:.4f},{}", done, perplexity, done == chunks || done % 8 == 0 ? "\n" : "") << std::flush;
  }
}

void print_result(const Console& console, const PerplexityOptions& options, const Scorer& scorer, const Text& text, int64_t chunks,
                  const Divergence* divergence) {
  const double mean = scorer.loss.mean();
  const double perplexity = std::exp(mean);
  if (options.json) {
    nlohmann::ordered_json json = {{"nll", mean},
                                   {"nll_error", scorer.loss.error()},
                                   {"perplexity", perplexity},
                                   {"perplexity_error", perplexity * scorer.loss.error()},
                                   {"chunks", chunks},
                                   {"ctx", text.context},
                                   {"tokens", scorer.loss.count()},
                                   {"precise", options.precision.precise},
                                   {"fast", options.precision.fast},
                                   {"deterministic", options.precision.deterministic},
                                   {"kv_type", to_string(options.precision.cache_dtype())}};
    if (divergence != nullptr) json["kl_divergence"] = divergence->to_json();
    console.out << json_text(json) << '\n';
    return;
  }
  console.out << fmt::format("NLL {:.6f} ± {:.6f}, perplexity {:.6f} ± {:.6f} over {} of {} tokens\n", mean, scorer.loss.error(),
                             perplexity, perplexity * scorer.loss.error(), format_counted(chunks, "chunk"), text.context);
  if (divergence != nullptr) console.out << divergence->report();
}

void measure(const Console& console, const PerplexityOptions& options, const LoadedModel& loaded, const std::string& content) {
  std::optional<BaseLogits> base;
  if (options.compare) base = BaseLogits::open(options.base_file);
  check_context(options, loaded, base ? base->header().context : options.context);
  const Text text = base ? text_of(options, loaded, base->header()) : read_text(options, loaded, content);
  if (options.chunks > text.chunks()) {
    fail(ErrorCode::invalid_argument, "--chunks {}: {} has {} chunks of {} tokens", options.chunks, base ? options.base_file : options.file,
         text.chunks(), text.context);
  }
  const int64_t chunks = options.chunks > 0 ? options.chunks : text.chunks();
  Scorer scorer(loaded, text.context);
  Divergence divergence;
  std::vector<float> base_row(base ? static_cast<size_t>(base->header().vocabulary) : 0);
  std::optional<BaseLogitsWriter> writer;
  if (base) {
    scorer.observe = [&, row = int64_t{0}](std::span<const float> logits, TokenId target) mutable {
      base->read_row(row++, base_row);
      divergence.add(base_row, logits, target);
    };
  } else if (!options.base_file.empty()) {
    const auto scored = std::span(text.tokens).first(static_cast<size_t>(chunks * text.context));
    writer.emplace(options.base_file, BaseLogitsHeader{.context = text.context,
                                                       .vocabulary = loaded.model->info().vocab_size,
                                                       .chunks = chunks,
                                                       .tokens = {scored.begin(), scored.end()}});
    scorer.observe = [&](std::span<const float> logits, TokenId) { writer->add(logits); };
  }
  {
    ProgressBar bar(console, "perplexity");
    const std::optional<TokenId> bos = loaded.tokenizer->bos();
    for (int64_t index = 0; index < chunks; ++index) {
      const auto part = text.chunk(index);
      scorer.score(options.second_half ? half_chunk(text.adds_bos ? bos : std::nullopt, part) : whole_chunk(*bos, part));
      show_running(console, bar, index + 1, chunks, scorer.loss);
    }
  }
  if (writer) writer->finish();
  print_result(console, options, scorer, text, chunks, base ? &divergence : nullptr);
}

}  // namespace

void perplexity_command(Console& console, const Arguments& arguments) {
  PerplexityOptions options;
  Flags flags(
      "Measures how well a model predicts a text: the mean negative log-likelihood of a token (NLL) and its exponential, the perplexity, "
      "each with its standard error. The text is cut into chunks; each token is predicted from BOS and the tokens of its chunk before it. "
      "A final partial chunk is ignored.",
      console);
  add_model(flags, options.model);
  flags.add_text("-f,--file", "FILE", "the text", options.file);
  const Flags::Added context = add_context(flags, options.context, "tokens per chunk (512)", 1);
  flags.add_integer("--chunks", "use only the first K chunks (all)", options.chunks, 1).value_name("K");
  flags.add_switch("--second-half",
                   "score only the second half of each chunk, and replace its first token by BOS, as llama-perplexity does",
                   options.second_half);
  flags.add_text("--kl-divergence-base,--save-all-logits", "FILE",
                 "write the model's log-probabilities to FILE, in llama-perplexity's format; implies --second-half", options.base_file);
  flags.add_switch("--kl-divergence", "compare the model with the one that wrote --kl-divergence-base, on the text that is in that file",
                   options.compare);
  add_precision(flags, options.precision);
  add_json(flags, options.json);
  add_device(flags, options.device);
  add_threads(flags, options.threads);
  add_verbosity(flags, console);
  flags.examples({"wick perplexity --model FILE.gguf --file text.txt --context 512",
                  "wick perplexity --model FILE.gguf --file text.txt --chunks 8 --precise --json",
                  "wick perplexity --model f16.gguf --file text.txt --kl-divergence-base f16.logits",
                  "wick perplexity --model q4_k_m.gguf --kl-divergence-base f16.logits --kl-divergence"});
  if (!flags.parse(arguments)) return;
  options.own_context = context.given();
  if (options.compare && options.base_file.empty()) {
    fail(ErrorCode::invalid_argument, "--kl-divergence: name the other model's log-probabilities with --kl-divergence-base FILE");
  }
  if (!options.compare && options.file.empty()) fail(ErrorCode::invalid_argument, "--file is missing: name the text");
  if (options.compare && !options.file.empty()) console.warn("--file is not read: the text is that of --kl-divergence-base");
  if (!options.base_file.empty()) options.second_half = true;
  // What is missing is said before a large model is loaded.
  const std::string content = options.compare ? "" : read_text_file(options.file);
  if (!options.compare && !options.base_file.empty()) check_writable(options.base_file, {options.file});
  const auto path = resolve_model(console, options.model);
  const LoadedModel loaded = load_model(console, path, open_model_device(console, options.device, options.threads), options.precision);
  if (!options.compare) refuse_to_overwrite(loaded.file, options.base_file);
  measure(console, options, loaded, content);
  note_fallback_ops(console, loaded.model->device());
}

}  // namespace wick
