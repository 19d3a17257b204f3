#include "wick/tensor/ops/selection.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>
#include <vector>

namespace wick {
namespace {

// Places are collected in a buffer without a branch on each element, which no processor could foresee.
constexpr size_t kBuffered = 1024;
using PlaceBuffer = std::array<uint32_t, kBuffered + 1>;

size_t collect_set(const uint8_t* mask, size_t n, PlaceBuffer& places) noexcept {
  size_t found = 0;
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, mask + i, sizeof(word));
    if (word == 0) continue;
    for (size_t j = i; j < i + 8; ++j) {
      places[found] = static_cast<uint32_t>(j);
      found += static_cast<size_t>(mask[j] != 0);
    }
  }
  for (; i < n; ++i) {
    places[found] = static_cast<uint32_t>(i);
    found += static_cast<size_t>(mask[i] != 0);
  }
  return found;
}

// Calls visit(begin of the chunk, its set places, their number).
template <class Visit>
void for_each_set_chunk(std::span<const uint8_t> mask, const Visit& visit) {
  PlaceBuffer places;  // NOLINT: uninitialised
  for (size_t begin = 0; begin < mask.size(); begin += kBuffered) {
    const size_t found = collect_set(mask.data() + begin, std::min(kBuffered, mask.size() - begin), places);
    visit(begin, places, found);
  }
}

template <class Word>
void choose(std::span<const uint8_t> mask, const std::byte* elements, std::byte* chosen) noexcept {
  const auto* from = reinterpret_cast<const Word*>(elements);
  auto* to = reinterpret_cast<Word*>(chosen);
  for_each_set_chunk(mask, [&](size_t begin, const PlaceBuffer& places, size_t found) {
    for (size_t i = 0; i < found; ++i) *to++ = from[begin + places[i]];
  });
}

constexpr uint32_t kSign = 0x80000000U;

// The element as an unsigned number, in ascending order; NaN is the largest, -0 is 0.
template <class T>
uint32_t ascending_key(T value) noexcept {
  const auto bits = std::bit_cast<uint32_t>(value);
  if constexpr (std::is_same_v<T, uint32_t>) {
    return bits;
  } else if constexpr (std::is_same_v<T, int32_t>) {
    return bits ^ kSign;
  } else {
    const uint32_t key = bits ^ (static_cast<uint32_t>(static_cast<int32_t>(bits) >> 31) | kSign);
    return value != value ? 0xffffffffU : bits == kSign ? kSign : key;
  }
}

// Of long rows the elements are counted by their first bits, and only those of the bucket that holds the k-th are ordered.
constexpr int kBucketBits = 11;
constexpr int kBucketShift = 32 - kBucketBits;
constexpr size_t kShortRow = 512;

uint32_t place_of_kth(const uint32_t* keys, size_t n, size_t k, std::vector<uint64_t>& entries) {
  const auto ordered = [&](size_t count, size_t at) {
    std::nth_element(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(at),
                     entries.begin() + static_cast<std::ptrdiff_t>(count));
    return static_cast<uint32_t>(entries[at]);
  };
  if (n < kShortRow) {
    for (size_t i = 0; i < n; ++i) entries[i] = uint64_t{keys[i]} << 32 | i;
    return ordered(n, k);
  }
  std::array<std::array<uint32_t, size_t{1} << kBucketBits>, 2> counts{};  // two, since equal neighbours would wait for each other
  size_t i = 0;
  for (; i + 2 <= n; i += 2) {
    ++counts[0][keys[i] >> kBucketShift];
    ++counts[1][keys[i + 1] >> kBucketShift];
  }
  if (i < n) ++counts[0][keys[i] >> kBucketShift];
  uint32_t bucket = 0;
  size_t before = 0;
  for (;; ++bucket) {
    const size_t held = counts[0][bucket] + counts[1][bucket];
    if (before + held > k) break;
    before += held;
  }
  size_t found = 0;
  for (i = 0; i < n; ++i) {
    entries[found] = uint64_t{keys[i]} << 32 | i;
    found += static_cast<size_t>(keys[i] >> kBucketShift == bucket);
  }
  return ordered(found, k - before);
}

}  // namespace

int64_t count_set(std::span<const uint8_t> mask) noexcept {
  int64_t count = 0;
  for (const uint8_t set : mask) count += static_cast<int64_t>(set != 0);
  return count;
}

void write_set_places(std::span<const uint8_t> mask, uint32_t* places) noexcept {
  for_each_set_chunk(mask, [&](size_t begin, const PlaceBuffer& buffer, size_t found) {
    for (size_t i = 0; i < found; ++i) *places++ = static_cast<uint32_t>(begin) + buffer[i];
  });
}

template <class Index>
void write_set_indices(std::span<const uint8_t> mask, const Shape& shape, Index* indices) noexcept {
  if (shape.rank() == 0 || mask.empty()) return;
  const int last = shape.rank() - 1;
  const auto length = static_cast<size_t>(shape[last]);
  std::array<Index, kMaxRank> outer{};
  for (size_t row = 0; row < mask.size(); row += length) {
    for_each_set_chunk(mask.subspan(row, length), [&](size_t begin, const PlaceBuffer& places, size_t found) {
      for (size_t i = 0; i < found; ++i) {
        for (int d = 0; d < last; ++d) *indices++ = outer[static_cast<size_t>(d)];
        *indices++ = static_cast<Index>(begin + places[i]);
      }
    });
    for (int d = last - 1; d >= 0 && ++outer[static_cast<size_t>(d)] == static_cast<Index>(shape[d]); --d)
      outer[static_cast<size_t>(d)] = 0;
  }
}
template void write_set_indices(std::span<const uint8_t>, const Shape&, uint32_t*) noexcept;
template void write_set_indices(std::span<const uint8_t>, const Shape&, int64_t*) noexcept;

void write_chosen(std::span<const uint8_t> mask, const std::byte* elements, int64_t size, std::byte* chosen) noexcept {
  switch (size) {
    case 1: return choose<uint8_t>(mask, elements, chosen);
    case 2: return choose<uint16_t>(mask, elements, chosen);
    case 4: return choose<uint32_t>(mask, elements, chosen);
    default: return choose<uint64_t>(mask, elements, chosen);
  }
}

template <class T>
void write_kth_places(std::span<const T> rows, int64_t length, int64_t k, uint32_t* places) {
  const auto n = static_cast<size_t>(length);
  std::vector<uint32_t> keys(n);
  std::vector<uint64_t> entries(n + 1);
  for (size_t row = 0; row < rows.size(); row += n) {
    const T* x = rows.data() + row;
    uint32_t largest = 0;
    for (size_t i = 0; i < n; ++i) {
      keys[i] = ascending_key(x[i]);
      largest = std::max(largest, keys[i]);
    }
    if (std::is_floating_point_v<T> && largest == 0xffffffffU) {
      *places++ = static_cast<uint32_t>(std::find(keys.begin(), keys.end(), largest) - keys.begin());
    } else {
      *places++ = place_of_kth(keys.data(), n, static_cast<size_t>(k), entries);
    }
  }
}
template void write_kth_places(std::span<const float>, int64_t, int64_t, uint32_t*);
template void write_kth_places(std::span<const int32_t>, int64_t, int64_t, uint32_t*);
template void write_kth_places(std::span<const uint32_t>, int64_t, int64_t, uint32_t*);

}  // namespace wick
