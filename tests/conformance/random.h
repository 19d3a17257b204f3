// A Random is a small generator whose numbers depend on its seed alone, not on the standard library.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

namespace wick::conformance {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  // SplitMix64 (Steele, Lea & Flood 2014).
  uint64_t next() noexcept {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // In [0, 1).
  double uniform() noexcept { return static_cast<double>(next() >> 11) * 0x1p-53; }
  double uniform(double low, double high) noexcept { return low + (high - low) * uniform(); }
  // In [0, count).
  int64_t below(int64_t count) noexcept { return static_cast<int64_t>(next() % static_cast<uint64_t>(count)); }

 private:
  uint64_t state_;
};

// FNV-1a: a case's name is part of its seed, so that filters do not change its numbers.
[[nodiscard]] constexpr uint64_t hash_of(std::string_view text) noexcept {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace wick::conformance
