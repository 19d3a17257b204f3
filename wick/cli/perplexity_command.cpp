#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <ostream>

#include "wick/base/fail.h"
#include "wick/cli/flags.h"
#include "wick/cli/load_model.h"
#include "wick/cli/model_path.h"
#include "wick/cli/progress_bar.h"
#include "wick/cli/text_input.h"
#include "wick/cli/wick_command.h"

namespace wick {
namespace {

// Tokens whose logits are in memory together.
constexpr int64_t kRowsAtOnce = 64;

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

  [[nodiscard]] int64_t scored() const { return static_cast<int64_t>(targets.size()) - first; }
};

// Each token of the chunk is predicted from BOS and the tokens before it.
Chunk whole_chunk(TokenId bos, std::span<const TokenId> tokens) {
  Chunk chunk{.input = {bos}, .targets = tokens};
  chunk.input.insert(chunk.input.end(), tokens.begin(), tokens.end() - 1);
  return chunk;
}

// As llama-perplexity cuts: BOS takes the place of the first token (where the tokenizer adds it), and the second half is scored.
Chunk half_chunk(std::optional<TokenId> bos, std::span<const TokenId> tokens) {
  Chunk chunk{.input = {tokens.begin(), tokens.end() - 1}, .targets = tokens.subspan(1), .first = static_cast<int64_t>(tokens.size() / 2)};
  if (bos) chunk.input.front() = *bos;
  return chunk;
}

double chunk_loss(const LanguageModel& model, KvCache& cache, const Chunk& chunk) {
  cache.truncate(0);
  double loss = 0;
  const auto count = static_cast<int64_t>(chunk.input.size());
  for (int64_t done = 0; done < count; done += kRowsAtOnce) {
    const auto rows = static_cast<size_t>(std::min(kRowsAtOnce, count - done));
    const auto begin = static_cast<size_t>(done);
    const Tensor logits = model.forward(std::span(chunk.input).subspan(begin, rows), cache, LogitRows::all);
    const std::vector<float> values = logits.to_vector<float>();
    const size_t width = values.size() / rows;
    for (size_t row = 0; row < rows; ++row) {
      if (done + static_cast<int64_t>(row) < chunk.first) continue;
      loss += negative_log_likelihood(std::span(values).subspan(row * width, width), chunk.targets[begin + row]);
    }
  }
  return loss;
}

struct Options {
  std::string model;
  std::string file;
  DeviceChoice device;
  int64_t context = 512;
  int64_t chunks = 0;
  int threads = 0;
  bool second_half = false;
  Precision precision;
  bool json = false;
};

void measure(const Console& console, const Options& options, const LoadedModel& loaded) {
  const ModelInfo& info = loaded.model->info();
  if (options.context > info.context_length) {
    fail(ErrorCode::context_full, "--context {}: the context of {} holds {}", options.context, info.name, info.context_length);
  }
  const std::optional<TokenId> bos = loaded.tokenizer->bos();
  if (!bos && !options.second_half)
    fail(ErrorCode::unsupported, "{}: the vocabulary has no BOS token, which each chunk begins with", info.name);
  if (options.second_half && options.context < 4) {
    fail(ErrorCode::invalid_argument, "--context {}: half of a chunk must have something to score; give at least 4", options.context);
  }
  const std::vector<TokenId> tokens =
      loaded.tokenizer->encode(read_text_file(options.file), {.add_special = options.second_half, .parse_special = false});
  const int64_t available = static_cast<int64_t>(tokens.size()) / options.context;
  if (available == 0) {
    fail(ErrorCode::invalid_argument, "{}: {} tokens are less than one chunk of {}; give a longer text or a smaller --context",
         options.file, tokens.size(), options.context);
  }
  if (options.chunks > available) {
    fail(ErrorCode::invalid_argument, "--chunks {}: {} has {} chunks of {} tokens", options.chunks, options.file, available,
         options.context);
  }
  const int64_t chunks = options.chunks > 0 ? options.chunks : available;
  const std::unique_ptr<KvCache> cache = loaded.model->new_cache(options.context);
  ProgressBar bar(console, "perplexity");
  double loss = 0;
  int64_t scored = 0;
  for (int64_t index = 0; index < chunks; ++index) {
    const auto part = std::span(tokens).subspan(static_cast<size_t>(index * options.context), static_cast<size_t>(options.context));
    const bool adds_bos = bos && tokens.front() == *bos;
    const Chunk chunk = options.second_half ? half_chunk(adds_bos ? bos : std::nullopt, part) : whole_chunk(*bos, part);
    loss += chunk_loss(*loaded.model, *cache, chunk);
    scored += chunk.scored();
    const double mean = loss / static_cast<double>(scored);
    bar.update(static_cast<uint64_t>(index + 1), static_cast<uint64_t>(chunks),
               fmt::format("NLL {:.4f}, perplexity {:.4f}", mean, std::exp(mean)));
  }
  const double mean = loss / static_cast<double>(scored);
  if (options.json) {
    const nlohmann::ordered_json json = {{"nll", mean},
                                         {"perplexity", std::exp(mean)},
                                         {"chunks", chunks},
                                         {"ctx", options.context},
                                         {"tokens", scored},
                                         {"precise", options.precision.precise},
                                         {"kv_type", to_string(options.precision.cache_dtype())}};
    console.out << json.dump() << '\n';
  } else {
    console.out << fmt::format("NLL {:.6f} perplexity {:.6f} over {} chunks of {} tokens\n", mean, std::exp(mean), chunks, options.context);
  }
}

}  // namespace

void perplexity_command(Console& console, const Arguments& arguments) {
  Options options;
  Flags flags(
      "Measures how well a model predicts a text: the mean negative log-likelihood of a token (NLL) and its exponential. The text is cut "
      "into\n"
      "chunks of N tokens; each token is predicted from BOS and the chunk's tokens before it. A rest shorter than a chunk is left out.",
      console);
  add_model(flags, options.model);
  flags.add_value("-f,--file", "FILE", "the text", [&](const std::string& value) { options.file = value; }).required();
  add_context(flags, options.context, "tokens per chunk (512)", 1);
  flags.add_integer("--chunks", "only the first K chunks (all)", options.chunks, 1).value_name("K");
  flags.add_switch("--second-half",
                   "score the second half of each chunk only, and let BOS take the place of its first token, as llama-perplexity does",
                   options.second_half);
  add_precision(flags, options.precision);
  add_json(flags, options.json);
  add_device(flags, options.device);
  add_threads(flags, options.threads);
  add_verbosity(flags, console);
  flags.footer(examples({"wick perplexity --model FILE.gguf --file text.txt --context 512",
                         "wick perplexity --model FILE.gguf --file text.txt --chunks 8 --precise --json"}));
  if (!flags.parse(arguments)) return;
  const auto path = resolve_model(console, options.model);
  const LoadedModel loaded = load_model(console, path, open_device(console, options.device, options.threads), options.precision);
  measure(console, options, loaded);
  note_fallback_ops(console, loaded.model->device());
}

}  // namespace wick
