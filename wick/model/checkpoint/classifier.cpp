#include "wick/model/checkpoint/classifier.h"

#include <cstddef>
#include <map>

#include "wick/base/fail.h"
#include "wick/formats/printable.h"
#include "wick/model/checkpoint/checkpoint.h"

namespace wick {
namespace {

void check_names(const std::vector<std::string>& labels, const Checkpoint& checkpoint, const std::string& key) {
  std::map<std::string_view, size_t> numbers;
  for (size_t label = 0; label < labels.size(); ++label) {
    const auto [before, is_new] = numbers.emplace(labels[label], label);
    if (is_new) continue;
    fail(ErrorCode::corrupt_file, "{}: {}: labels {} and {} are both {}, so that a result would not say which; give each a name of its own",
         checkpoint.name(), checkpoint.where(key), before->second, label, printable(labels[label]));
  }
}

}  // namespace

std::string numbered_label(uint64_t label) { return "LABEL_" + std::to_string(label); }

Classifier read_classifier(const Checkpoint& checkpoint, std::string_view architecture, int64_t rows) {
  const std::string prefix = std::string(architecture) + ".classifier.";
  Classifier classifier;
  const std::string labels_key = prefix + "output_labels";
  if (const GgufArray* labels = checkpoint.find_array(labels_key)) {
    for (const std::string_view label : labels->strings) classifier.labels.push_back(printable_name(label));
    if (labels->element_type != GgufType::string || std::ssize(classifier.labels) != rows) {
      fail(ErrorCode::corrupt_file, "{}: {} has {} labels, and the head that scores them, cls.output.weight, has {} rows",
           checkpoint.name(), checkpoint.where(labels_key), labels->size, rows);
    }
    check_names(classifier.labels, checkpoint, labels_key);
  } else {
    for (int64_t label = 0; label < rows; ++label) classifier.labels.push_back(numbered_label(static_cast<uint64_t>(label)));
  }
  classifier.problem = rows == 1 ? Classifier::Problem::multi_label : Classifier::Problem::single_label;
  const std::string problem_key = prefix + "problem_type";
  const auto problem = checkpoint.find_string(problem_key);
  if (!problem) return classifier;
  if (*problem == "single_label_classification") {
    classifier.problem = Classifier::Problem::single_label;
  } else if (*problem == "multi_label_classification") {
    classifier.problem = Classifier::Problem::multi_label;
  } else if (*problem == "regression") {
    classifier.problem = Classifier::Problem::regression;
  } else {
    fail(ErrorCode::unsupported,
         "{}: {} = {} is not supported; this version knows single_label_classification, multi_label_classification and regression",
         checkpoint.name(), checkpoint.where(problem_key), printable(*problem));
  }
  return classifier;
}

}  // namespace wick
