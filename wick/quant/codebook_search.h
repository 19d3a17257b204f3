// Finding the point of a codebook for a run of values, and the scale that goes with it. The float arithmetic is in ggml's order.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace wick::quant {

// A codebook with what a search needs: for each vector of digits that may come up its point, or the points next to it.
class Codebook {
 public:
  // rings: how many different distances the neighbours may have; max_digit: what digits are clamped to.
  Codebook(std::span<const uint16_t> points, int lanes, int max_digit, int rings);

  [[nodiscard]] int lanes() const noexcept { return lanes_; }
  [[nodiscard]] int max_digit() const noexcept { return max_digit_; }
  // The digit of a lane of a point.
  [[nodiscard]] int digit(int point, int lane) const noexcept { return (points_[static_cast<size_t>(point)] >> (bits_ * lane)) & mask_; }
  // The point with those digits, or none (-1).
  [[nodiscard]] int find(std::span<const uint8_t> digits) const noexcept { return starts_[index_of(digits)].point; }
  // The points nearest to digits that are none, in the order of distance, then number.
  [[nodiscard]] std::span<const uint16_t> neighbours(std::span<const uint8_t> digits) const noexcept;

 private:
  struct Start {
    int32_t point = -1;
    uint32_t begin = 0;
    uint32_t count = 0;
  };
  [[nodiscard]] size_t index_of(std::span<const uint8_t> digits) const noexcept;
  void collect_neighbours(size_t index, int rings);

  std::span<const uint16_t> points_;
  int lanes_;
  int bits_;
  int mask_;
  int max_digit_;
  std::vector<Start> starts_;
  std::vector<uint16_t> neighbours_;
};

// A search over 2 steps + 1 rounding scales for a run whose values' magnitudes become odd numbers 2 · digit + 1.
struct RunSearch {
  int steps = 0;
  float step = 0;
  // Which points are found again with the final scale: those whose digits were no point before; all, if there were any; all.
  enum class Again { inexact, all_if_inexact, all } again = Again::inexact;
};

// Digits and scale of a run: value ≈ scale · (2 digit + 1). `scale` and `digits` hold a first guess. `reach` is the value that the
// largest digit shall stand for. At most 32 values.
void search_run(const Codebook& book, const RunSearch& search, std::span<const float> values, std::span<const float> weights, float reach,
                float& scale, std::span<uint8_t> digits);

// The number of the point that holds the digits; of the nearest one if they are none.
[[nodiscard]] int point_of(const Codebook& book, std::span<const uint8_t> digits);

}  // namespace wick::quant
