
#include <algorithm>
#include <cmath>
#include <iterator>
#include <ostream>
#include <string>
#include <vector>

#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/cli/commands/text_list.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/cli/flags/flags.h"
#include "wick/cli/hub/model_path.h"
#include "wick/cli/load_model.h"
#include "wick/cli/text_format.h"
#include "wick/cli/text_input.h"
#include "wick/engine/logprobs.h"
#include "wick/engine/prompt.h"

namespace wick {
namespace {

struct Score {
  std::vector<TokenId> tokens;   // that were scored
  std::vector<double> logprobs;  // ln p of each, given all before it

  [[nodiscard]] double sum() const {
    double result = 0;
    for (const double logprob : logprobs) result += logprob;
    return result;
  }
};

// Of the tokens from `first` on; the one at 0 has nothing before it.
Score score(const LanguageModel& model, std::span<const TokenId> tokens, size_t first) {
  const auto count = static_cast<int64_t>(tokens.size());
  if (count > model.info().context_length) {
    fail(ErrorCode::context_full, "the text has {} tokens and the context of {} holds {}; shorten it", count, model.info().name,
         model.info().longest());
  }
  Score result;
  const std::unique_ptr<CachedSequence> cache = model.new_sequence(count);
  for (int64_t done = 0; done + 1 < count; done += kLogitsAtOnce) {
    const int64_t rows = std::min(kLogitsAtOnce, count - 1 - done);
    const std::vector<float> logits =
        model.forward(tokens.subspan(static_cast<size_t>(done), static_cast<size_t>(rows)), *cache, LogitRows::all).to_vector<float>();
    const size_t width = logits.size() / static_cast<size_t>(rows);
    for (int64_t row = 0; row < rows; ++row) {
      const auto next = static_cast<size_t>(done + row + 1);
      if (next < first) continue;
      result.tokens.push_back(tokens[next]);
      result.logprobs.push_back(
          logprob_of(std::span(logits).subspan(static_cast<size_t>(row) * width, width), tokens[next], 0).chosen.logprob);
    }
  }
  return result;
}

nlohmann::ordered_json to_json(const std::string& text, const Score& score, const Tokenizer& tokenizer) {
  const auto count = static_cast<double>(score.tokens.size());
  nlohmann::ordered_json tokens = nlohmann::ordered_json::array();
  for (size_t index = 0; index < score.tokens.size(); ++index) {
    tokens.push_back({{"token", score.tokens[index]},
                      {"text", tokenizer.decode(std::span(score.tokens).subspan(index, 1), false)},
                      {"logprob", score.logprobs[index]}});
  }
  return {{"text", text},
          {"logprob", score.sum()},
          {"token_count", score.tokens.size()},
          {"mean_logprob", count > 0 ? score.sum() / count : 0.0},
          {"perplexity", count > 0 ? std::exp(-score.sum() / count) : 1.0},
          {"tokens", std::move(tokens)}};
}

}  // namespace

void score_command(Console& console, const Arguments& arguments) {
  std::string model_name;
  std::string prefix;
  TextList texts;
  DeviceChoice device;
  int threads = 0;
  Precision precision;
  bool json = false;
  Flags flags(
      "Says how likely a model finds given texts: the sum of the natural logarithms of the probabilities of their tokens, each given the "
      "prompt, "
      "if there is one, and the text before it. Without a prompt and a BOS token the first token is not scored.",
      console);
  add_model(flags, model_name);
  add_text_list(flags, texts);
  flags.add_text("--prefix", "TEXT", "the text that comes before each of them and is not scored itself", prefix);
  add_precision(flags, precision);
  add_json(flags, json);
  add_device(flags, device);
  add_threads(flags, threads);
  add_verbosity(flags, console);
  flags.examples({"wick score --text \"The cat sat on the mat.\" --text \"The cat sat on the moon.\"",
                  "wick score --prefix \"Q: Is water wet? A:\" --text \" yes\" --text \" no\" --json"});
  if (!flags.parse(arguments)) return;
  const std::vector<std::string> all = read_text_list(console, texts);
  check_prompt(prefix, "--prefix");

  const auto path = resolve_model(console, model_name);
  const LoadedModel loaded = load_model(console, path, open_model_device(console, device, threads), precision);
  const Tokenizer& tokenizer = *loaded.tokenizer;
  const std::string& name = loaded.model->info().name;
  const size_t before =
      prefix.empty() ? (tokenizer.adds_bos() && tokenizer.bos() ? 1 : 0) : encode_prompt(tokenizer, name, prefix, false).size();
  for (const std::string& text : all) {
    // Tokens that reach over the border count for the text, as lm-evaluation-harness has it.
    const std::vector<TokenId> tokens = encode_prompt(tokenizer, name, prefix + text, false);
    const Score result = score(*loaded.model, tokens, std::min(before, tokens.size()));
    if (json) {
      console.out << json_text(to_json(text, result, tokenizer)) << '\n';
    } else {
      const double mean = result.tokens.empty() ? 0 : result.sum() / static_cast<double>(result.tokens.size());
      console.out << fmt::format("{:.4f}  {}, {:.4f} each, perplexity {:.4f}: {}\n", result.sum(),
                                 format_counted(std::ssize(result.tokens), "token"), mean, std::exp(-mean),
                                 json_text(nlohmann::json(text)));
    }
  }
  note_fallback_ops(console, loaded.model->device());
}

}  // namespace wick
