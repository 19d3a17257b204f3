// A Classifier says what the scores of a model's head are of: a reranker's one score, or a classifier's labels.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wick {

class Checkpoint;

struct Classifier {
  enum class Problem {
    single_label,  // probabilities are a softmax
    multi_label,   // probabilities are sigmoids
    regression     // scores are the result
  };
  std::vector<std::string> labels = {};  // "LABEL_0", … where the file has no names
  Problem problem = Problem::single_label;
  bool of_tokens = false;  // each token has scores, and not the text
};

// transformers' name of a label that has none: "LABEL_0".
[[nodiscard]] std::string numbered_label(uint64_t label);

// "<architecture>.classifier.output_labels" and ".classifier.problem_type" of a head with so many rows. Errors: corrupt_file where there is
// another number of labels, or two of one name; unsupported for a problem that is not known.
[[nodiscard]] Classifier read_classifier(const Checkpoint& checkpoint, std::string_view architecture, int64_t rows);

}  // namespace wick
