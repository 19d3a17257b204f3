#include "wick/engine/label_scores.h"

#include <algorithm>
#include <cmath>

#include "wick/base/fail.h"

namespace wick {

std::vector<float> label_scores(const Classifier& classifier, std::span<const float> results) {
  std::vector<float> scores(results.begin(), results.end());
  switch (classifier.problem) {
    case Classifier::Problem::regression: break;
    case Classifier::Problem::multi_label:
      for (float& score : scores) score = static_cast<float>(1 / (1 + std::exp(-double{score})));
      break;
    case Classifier::Problem::single_label: {
      const float most = scores.empty() ? 0 : *std::max_element(scores.begin(), scores.end());
      double sum = 0;
      for (float& score : scores) sum += score = std::exp(score - most);
      for (float& score : scores) score = static_cast<float>(score / sum);
      break;
    }
  }
  return scores;
}

size_t best_label(std::span<const float> scores) {
  return static_cast<size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

namespace {

bool says_yes_or_no(const Classifier& classifier) {
  return classifier.labels.size() == 2 && classifier.labels[0] == "yes" && classifier.labels[1] == "no";
}

}  // namespace

bool is_reranker(Pooling pooling, const std::optional<Classifier>& classifier) {
  if (pooling != Pooling::rank || !classifier || classifier->of_tokens) return false;
  return classifier->labels.size() == 1 || says_yes_or_no(*classifier);
}

float pair_score(const std::optional<Classifier>& classifier, std::span<const float> results) {
  if (classifier && says_yes_or_no(*classifier) && results.size() == 2) return label_scores(*classifier, results).front();
  return results.front();
}

void require_reranker(std::string_view model, Pooling pooling, const std::optional<Classifier>& classifier) {
  if (is_reranker(pooling, classifier)) return;
  if (pooling == Pooling::rank && classifier) {
    fail(ErrorCode::invalid_argument, "{} is no reranker: it classifies {} by {} labels (wick classify, /v1/classify)", model,
         classifier->of_tokens ? "tokens" : "texts", classifier->labels.size());
  }
  fail(ErrorCode::invalid_argument,
       "{} is no reranker: it has no head that scores pairs of texts; take one, or compare vectors (wick embed, /v1/embeddings)", model);
}

void require_classifier(std::string_view model, Pooling pooling, const std::optional<Classifier>& classifier) {
  if (pooling == Pooling::rank && classifier) return;
  fail(ErrorCode::invalid_argument, "{} is no classifier: it has no head with labels; take a model of a class …ForSequenceClassification",
       model);
}

}  // namespace wick
