#include "wick/model/checkpoint/pooling.h"

#include <array>

#include "wick/base/fail.h"
#include "wick/formats/printable.h"
#include "wick/model/checkpoint/checkpoint.h"

namespace wick {
namespace {

struct PoolingName {
  Pooling pooling;
  std::string_view word;
};

constexpr std::array kPoolings = {
    PoolingName{Pooling::mean, "mean"},           PoolingName{Pooling::cls, "cls"},
    PoolingName{Pooling::last, "last"},           PoolingName{Pooling::max, "max"},
    PoolingName{Pooling::mean_sqrt, "mean_sqrt"}, PoolingName{Pooling::weighted_mean, "weighted_mean"},
};

// llama.cpp's numbers; 0 is none.
constexpr std::array kNumbers = {Pooling::mean, Pooling::mean, Pooling::cls, Pooling::last, Pooling::rank};

}  // namespace

std::string_view to_string(Pooling pooling) noexcept {
  for (const PoolingName& each : kPoolings) {
    if (each.pooling == pooling) return each.word;
  }
  return "rank";
}

std::optional<Pooling> parse_pooling(std::string_view word) noexcept {
  for (const PoolingName& each : kPoolings) {
    if (each.word == word) return each.pooling;
  }
  return std::nullopt;
}

std::string pooling_words() {
  std::string words;
  for (const PoolingName& each : kPoolings) words.append(words.empty() ? "" : ", ").append(each.word);
  return words;
}

Pooling read_pooling(const Checkpoint& checkpoint, std::string_view architecture) {
  const std::string prefix = std::string(architecture) + ".";
  if (const auto word = checkpoint.find_string(prefix + "pooling")) {
    if (const auto pooling = parse_pooling(*word)) return *pooling;
    fail(ErrorCode::unsupported, "{}: {} = {} is not supported; this version knows {}", checkpoint.name(),
         checkpoint.where(prefix + "pooling"), printable(*word), pooling_words());
  }
  const GgufValue* value = checkpoint.find(prefix + "pooling_type");
  if (value == nullptr) return Pooling::mean;
  const std::optional<double> number = as_float(*value);
  if (number == -1) return Pooling::mean;  // llama.cpp's "not said"
  for (size_t index = 0; index < kNumbers.size(); ++index) {
    if (number == static_cast<double>(index)) return kNumbers[index];
  }
  fail(ErrorCode::unsupported, "{}: {} is {}; this version knows 0 (none), 1 (mean), 2 (cls), 3 (last) and 4 (rank)", checkpoint.name(),
       checkpoint.where(prefix + "pooling_type"), describe_gguf_value(*value));
}

}  // namespace wick
