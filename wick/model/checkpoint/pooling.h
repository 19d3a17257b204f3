// How the hidden states of a text's tokens become the text's vector.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wick {

class Checkpoint;

enum class Pooling {
  mean,
  cls,            // the first token's
  last,           // the last token's
  max,            // the largest of each element
  mean_sqrt,      // the sum, divided by the root of the number of tokens
  weighted_mean,  // the mean, weighted by positions from 1 on
  rank            // a reranker's score of a pair of texts, which is no vector: not computed
};

[[nodiscard]] std::string_view to_string(Pooling pooling) noexcept;
// Parses a flag's word; none for another word. "rank" is not one.
[[nodiscard]] std::optional<Pooling> parse_pooling(std::string_view word) noexcept;
// The words, for messages: "mean, cls, …".
[[nodiscard]] std::string pooling_words();
// The pooling of a model's file ("<architecture>.pooling_type", or "<architecture>.pooling" for values without a number); mean if it
// says nothing or "none". Errors: unsupported for an unknown number or word.
[[nodiscard]] Pooling read_pooling(const Checkpoint& checkpoint, std::string_view architecture);

}  // namespace wick
