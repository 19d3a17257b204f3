#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "wick/base/json.h"
#include "wick/cli/commands/text_list.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/cli/flags/flags.h"
#include "wick/cli/hub/model_path.h"
#include "wick/cli/load_model.h"
#include "wick/engine/label_scores.h"
#include "wick/engine/prompt.h"
#include "wick/engine/ranking.h"
#include "wick/engine/text_vectors.h"

namespace wick {
namespace {

// The scores of a query and each document, in their order.
std::vector<float> scores_of(const LoadedModel& loaded, const std::string& query, const std::vector<std::string>& documents,
                             Truncation truncation) {
  const ModelInfo& info = loaded.model->info();
  std::vector<TextPair> pairs;
  for (const std::string& document : documents) {
    TextPair& pair = pairs.emplace_back(encode_pair(*loaded.tokenizer, query, document));
    pair.tokens = truncated(*loaded.tokenizer, std::move(pair.tokens), info.context_length, truncation, pair.second);
  }
  std::vector<float> scores;
  for (const std::vector<float>& results : text_vectors(*loaded.model, pairs, {})) scores.push_back(pair_score(info.classifier, results));
  return scores;
}

}  // namespace

void rerank_command(Console& console, const Arguments& arguments) {
  std::string model_name;
  std::string query;
  TextList texts;
  Truncation truncation = Truncation::none;
  DeviceChoice device;
  int threads = 0;
  Precision precision;
  Flags flags("Scores texts by how well they answer a query, with a reranker. One JSON object a text, the best first.", console);
  add_model(flags, model_name);
  flags.add_text("--query", "TEXT", "the query", query).required();
  add_text_list(flags, texts);
  add_truncation(flags, truncation);
  add_precision(flags, precision);
  add_device(flags, device);
  add_threads(flags, threads);
  add_verbosity(flags, console);
  flags.examples({"wick rerank --model FOLDER --query \"a pet\" --text \"a cat\" --text \"a car\"",
                  "wick rerank --model FOLDER --query \"a pet\" --file lines.txt"});
  if (!flags.parse(arguments)) return;
  const std::vector<std::string> documents = read_text_list(console, texts);
  const auto path = resolve_model(console, model_name);
  const LoadedModel loaded = load_model(console, path, open_model_device(console, device, threads), precision);
  const ModelInfo& info = loaded.model->info();
  require_reranker(info.name, info.pooling, info.classifier);
  const std::vector<float> scores = scores_of(loaded, query, documents, truncation);
  for (const size_t index : rank_scores(scores)) {
    console.out << json_text(nlohmann::ordered_json{{"index", index}, {"score", scores[index]}, {"text", documents[index]}}) << '\n';
  }
  note_fallback_ops(console, loaded.model->device());
}

}  // namespace wick
