#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/cli/commands/text_list.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/cli/flags/flags.h"
#include "wick/cli/hub/model_path.h"
#include "wick/cli/load_model.h"
#include "wick/engine/prompt.h"
#include "wick/engine/ranking.h"

namespace wick {
namespace {

// The scores of a query and each document, in their order.
std::vector<float> scores_of(const LoadedModel& loaded, const std::string& query, const std::vector<std::string>& documents) {
  const ModelInfo& info = loaded.model->info();
  std::vector<std::vector<TokenId>> pairs;
  int64_t longest = 1;
  for (const std::string& document : documents) {
    const auto count = std::ssize(pairs.emplace_back(encode_pair(*loaded.tokenizer, query, document)));
    if (count > info.context_length) {
      fail(ErrorCode::context_full, "the query and document {} have {} tokens and the context of {} holds {}; shorten them",
           pairs.size() - 1, count, info.name, info.context_length);
    }
    longest = std::max<int64_t>(longest, count);
  }
  // Nothing of a pair stays in it.
  const std::unique_ptr<KvPool> pool = loaded.model->new_pool(longest);
  std::vector<float> scores;
  for (const std::vector<TokenId>& tokens : pairs) {
    Batch batch;
    batch.add({}, 0, tokens, Batch::Results::none);
    const Tensor result = loaded.model->forward(batch, *pool, {.result = ModelResult::pooled, .pooling = {}, .stop = {}});
    scores.push_back(result.to_vector<float>().front());
  }
  return scores;
}

}  // namespace

void rerank_command(Console& console, const Arguments& arguments) {
  std::string model_name;
  std::string query;
  TextList texts;
  DeviceChoice device;
  int threads = 0;
  Precision precision;
  Flags flags("Scores texts by how well they answer a query, with a reranker. One JSON object a text, the best first.", console);
  add_model(flags, model_name);
  flags.add_text("--query", "TEXT", "the query", query).required();
  add_text_list(flags, texts);
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
  if (info.pooling != Pooling::rank) {
    fail(ErrorCode::invalid_argument,
         "{} is no reranker: it has no head that scores pairs of texts; take one, or compare vectors (wick embed)", info.name);
  }
  const std::vector<float> scores = scores_of(loaded, query, documents);
  for (const size_t index : rank_scores(scores)) {
    console.out << json_text(nlohmann::ordered_json{{"index", index}, {"score", scores[index]}, {"text", documents[index]}}) << '\n';
  }
  note_fallback_ops(console, loaded.model->device());
}

}  // namespace wick
