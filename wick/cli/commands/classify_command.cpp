#include <cstdint>
#include <span>
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

using OrderedJson = nlohmann::ordered_json;

// The labels with their scores, the highest first.
OrderedJson labels_of(const Classifier& classifier, std::span<const float> results) {
  const std::vector<float> scores = label_scores(classifier, results);
  OrderedJson labels = OrderedJson::array();
  for (const size_t index : rank_scores(scores)) labels.push_back({{"label", classifier.labels[index]}, {"score", scores[index]}});
  return labels;
}

// The tokens of a text but for special ones, each with its label.
OrderedJson tokens_of(const LoadedModel& loaded, std::span<const TokenId> tokens, std::span<const float> results) {
  const Classifier& classifier = *loaded.model->info().classifier;
  const size_t width = classifier.labels.size();
  OrderedJson list = OrderedJson::array();
  for (size_t index = 0; index < tokens.size(); ++index) {
    if (loaded.tokenizer->is_special(tokens[index])) continue;
    const std::vector<float> scores = label_scores(classifier, results.subspan(index * width, width));
    const size_t best = best_label(scores);
    list.push_back({{"token", tokens[index]},
                    {"text", std::string(loaded.tokenizer->token_text(tokens[index]))},
                    {"label", classifier.labels[best]},
                    {"score", scores[best]}});
  }
  return list;
}

}  // namespace

void classify_command(Console& console, const Arguments& arguments) {
  std::string model_name;
  std::string second;
  TextList texts;
  Truncation truncation = Truncation::none;
  DeviceChoice device;
  int threads = 0;
  Precision precision;
  Flags flags(
      "Labels texts, or their tokens, with a classifier: a model of a class …ForSequenceClassification or …ForTokenClassification. One "
      "JSON object a text, with the score of each label.",
      console);
  add_model(flags, model_name);
  add_text_list(flags, texts);
  flags.add_text("--second", "TEXT", "the second text of each pair, for a model of pairs", second);
  add_truncation(flags, truncation);
  add_precision(flags, precision);
  add_device(flags, device);
  add_threads(flags, threads);
  add_verbosity(flags, console);
  flags.examples({"wick classify --model FOLDER --text \"What a day!\"", "wick classify --model FOLDER --file lines.txt"});
  if (!flags.parse(arguments)) return;
  const std::vector<std::string> all = read_text_list(console, texts);
  const auto path = resolve_model(console, model_name);
  const LoadedModel loaded = load_model(console, path, open_model_device(console, device, threads), precision);
  const ModelInfo& info = loaded.model->info();
  require_classifier(info.name, info.pooling, info.classifier);
  std::vector<TextPair> encoded;
  for (const std::string& text : all) {
    TextPair& pair = encoded.emplace_back();
    pair = second.empty() ? TextPair{encode_embedded(*loaded.tokenizer, info.name, text)} : encode_pair(*loaded.tokenizer, text, second);
    pair.tokens = truncated(*loaded.tokenizer, std::move(pair.tokens), info.context_length, truncation, pair.second);
  }
  const std::vector<std::vector<float>> results = text_vectors(*loaded.model, encoded, {});
  for (size_t index = 0; index < all.size(); ++index) {
    OrderedJson line{{"index", index}, {"text", all[index]}};
    if (info.classifier->of_tokens) {
      line["tokens"] = tokens_of(loaded, encoded[index].tokens, results[index]);
    } else {
      line["labels"] = labels_of(*info.classifier, results[index]);
    }
    console.out << json_text(line) << '\n';
  }
  note_fallback_ops(console, loaded.model->device());
}

}  // namespace wick
