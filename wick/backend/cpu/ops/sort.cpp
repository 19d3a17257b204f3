// Sorting along the last dimension. Each element becomes an entry (key, index), its key an unsigned number in the order that is wanted;
// equal elements have equal keys, so that ordering entries by (key, index) is stable. Short rows are sorted by comparison, long ones
// by radix from the lowest digit up (LSD), and of the first few of an order only candidates are kept.
#include <algorithm>
#include <array>
#include <bit>
#include <type_traits>
#include <utility>

#include "wick/backend/cpu/cpu_runtime.h"
#include "wick/backend/cpu/op_table.h"
#include "wick/backend/cpu/ops/visit_dtype.h"

namespace wick::cpu {
namespace {

// Digits of 11 bits: three passes for 32-bit keys, and counters that fit the first-level cache.
constexpr int kDigitBits = 11;
constexpr size_t kDigits = size_t{1} << kDigitBits;
// Below this a comparison sort beats clearing and summing up the counters.
constexpr int64_t kShortest = 1024;
// A row shorter than this is not worth the forks of a pass that all threads share.
constexpr int64_t kShortestShared = 65536;
// Elements that a selection looks at together.
constexpr int64_t kGroup = 32;

// Keys of at most 32 bits share a word with the index.
struct NarrowEntry {
  uint64_t bits;
  NarrowEntry() = default;
  NarrowEntry(uint64_t key, uint32_t index) : bits(key << 32 | index) {}
  [[nodiscard]] uint64_t key() const { return bits >> 32; }
  [[nodiscard]] uint32_t index() const { return static_cast<uint32_t>(bits); }
  friend bool operator<(const NarrowEntry& a, const NarrowEntry& b) { return a.bits < b.bits; }
};

struct WideEntry {
  uint64_t bits;
  uint32_t place;
  WideEntry() = default;
  WideEntry(uint64_t key, uint32_t index) : bits(key), place(index) {}
  [[nodiscard]] uint64_t key() const { return bits; }
  [[nodiscard]] uint32_t index() const { return place; }
  // Without a branch that the processor would have to guess.
  friend bool operator<(const WideEntry& a, const WideEntry& b) { return (a.bits < b.bits) | ((a.bits == b.bits) & (a.place < b.place)); }
};

template <class T>
using EntryOf = std::conditional_t<sizeof(T) == 8, WideEntry, NarrowEntry>;
template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 1, uint8_t,
                                  std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;

// The element as an unsigned number of its size, in ascending order.
template <class T>
BitsOf<T> ascending_key(T value) {
  using Bits = BitsOf<T>;
  constexpr Bits kSign = static_cast<Bits>(Bits{1} << (sizeof(T) * 8 - 1));
  const auto bits = std::bit_cast<Bits>(value);
  if constexpr (std::is_integral_v<T>) {
    return std::is_signed_v<T> ? static_cast<Bits>(bits ^ kSign) : bits;
  } else {
    if (value != value) return static_cast<Bits>(~Bits{0});
    if (bits == kSign) return kSign;  // -0, as 0
    return static_cast<Bits>((bits & kSign) != 0 ? ~bits : bits | kSign);
  }
}

template <class T>
EntryOf<T> entry_of(const T* row, int64_t stride, int64_t index, BitsOf<T> flip) {
  return {static_cast<BitsOf<T>>(ascending_key(row[index * stride]) ^ flip), static_cast<uint32_t>(index)};
}

// Runs body(part, parts) for each part, on the pool's threads if there are several.
struct Parts {
  ThreadPool* pool;  // nullptr: one part, here
  [[nodiscard]] int count() const { return pool == nullptr ? 1 : pool->size(); }
  template <class Body>
  void run(const Body& body) const {
    if (pool == nullptr) return body(0, 1);
    pool->run(body);
  }
};

using Counters = std::array<uint32_t, kDigits>;

// How a digit's entries lie after the pass: first by digit, then by part.
void sum_up(Counters* counters, int parts) {
  uint32_t before = 0;
  for (size_t digit = 0; digit < kDigits; ++digit) {
    for (int part = 0; part < parts; ++part) before += std::exchange(counters[part][digit], before);
  }
}

// Whether all entries have one digit: then the pass would move nothing.
bool is_uniform(const Counters* counters, int parts, size_t digit, uint32_t count) {
  uint32_t same = 0;
  for (int part = 0; part < parts; ++part) same += counters[part][digit];
  return same == count;
}

// Returns which of the two arrays holds the result.
template <class Entry>
Entry* radix_sort(Entry* entries, Entry* spare, int64_t count, int key_bits, Counters* counters, const Parts& parts) {
  for (int shift = 0; shift < key_bits; shift += kDigitBits) {
    const auto digit_of = [shift](const Entry& entry) { return static_cast<size_t>(entry.key() >> shift) & (kDigits - 1); };
    parts.run([&](int part, int all) {
      Counters& mine = counters[part];
      mine.fill(0);
      for (int64_t i = count * part / all; i < count * (part + 1) / all; ++i) ++mine[digit_of(entries[i])];
    });
    if (is_uniform(counters, parts.count(), digit_of(entries[0]), static_cast<uint32_t>(count))) continue;
    sum_up(counters, parts.count());
    parts.run([&](int part, int all) {
      Counters& mine = counters[part];
      for (int64_t i = count * part / all; i < count * (part + 1) / all; ++i) spare[mine[digit_of(entries[i])]++] = entries[i];
    });
    std::swap(entries, spare);
  }
  return entries;
}

// The first `kept` entries of the order, sorted, at the start of `buffer`, which has room for 2 · kept. Candidates that come before the
// worst of the best so far are collected; when the buffer is full, its better half stays.
template <class T, class Entry = EntryOf<T>>
void select(const T* row, int64_t stride, int64_t length, BitsOf<T> flip, Entry* buffer, int64_t kept) {
  int64_t filled = 0;
  for (; filled < kept; ++filled) buffer[filled] = entry_of(row, stride, filled, flip);
  Entry worst = *std::max_element(buffer, buffer + kept);
  const auto consider = [&](int64_t i) {
    const Entry entry = entry_of(row, stride, i, flip);
    if (!(entry < worst)) return;
    buffer[filled++] = entry;
    if (filled < 2 * kept) return;
    std::nth_element(buffer, buffer + kept - 1, buffer + filled);
    worst = buffer[kept - 1];
    filled = kept;
  };
  int64_t at = kept;
  // Later elements of an equal key come behind the worst one. Most groups hold nothing better, and a group is looked at as one vector.
  for (; stride == 1 && at + kGroup <= length; at += kGroup) {
    const auto bound = static_cast<BitsOf<T>>(worst.key());
    bool better = false;
    for (int64_t i = 0; i < kGroup; ++i) better |= static_cast<BitsOf<T>>(ascending_key(row[at + i]) ^ flip) < bound;
    for (int64_t i = 0; better && i < kGroup; ++i) consider(at + i);
  }
  for (; at < length; ++at) consider(at);
  std::nth_element(buffer, buffer + kept - 1, buffer + filled);
  std::sort(buffer, buffer + kept);
}

template <class T>
struct RowSort {
  const T* x;
  int64_t stride;
  int64_t length;
  int64_t kept;
  bool descending;

  // Writes the row's values and indices, `kept` of each.
  void run(T* values, uint32_t* indices, Scratch& scratch, const Parts& parts) const {
    using Entry = EntryOf<T>;
    const auto flip = static_cast<BitsOf<T>>(descending ? ~BitsOf<T>{0} : BitsOf<T>{0});
    const bool few = kept <= length / 16;
    ScratchFrame frame(scratch);
    auto* entries = frame.take<Entry>(static_cast<size_t>(few ? 2 * kept : length));
    if (few) {
      select(x, stride, length, flip, entries, kept);
    } else {
      parts.run([&](int part, int all) {
        for (int64_t i = length * part / all; i < length * (part + 1) / all; ++i) entries[i] = entry_of(x, stride, i, flip);
      });
      if (length < kShortest) {
        std::sort(entries, entries + length);
      } else {
        auto* spare = frame.take<Entry>(static_cast<size_t>(length));
        auto* counters = frame.take<Counters>(static_cast<size_t>(parts.count()));
        entries = radix_sort(entries, spare, length, static_cast<int>(sizeof(T)) * 8, counters, parts);
      }
    }
    parts.run([&](int part, int all) {
      for (int64_t i = kept * part / all; i < kept * (part + 1) / all; ++i) {
        indices[i] = entries[i].index();
        values[i] = x[static_cast<int64_t>(indices[i]) * stride];
      }
    });
  }
};

// Where row number `row` begins, the rows being those along the last dimension.
int64_t row_offset(const Layout& layout, int64_t row) {
  int64_t offset = layout.offset();
  for (int d = layout.rank() - 2; d >= 0; --d) {
    offset += row % layout.shape()[d] * layout.stride(d);
    row /= layout.shape()[d];
  }
  return offset;
}

template <class T>
void sort_rows(const OpCall& call) {
  const Layout& layout = *call.inputs[0].layout;
  const int last = layout.rank() - 1;
  const int64_t length = layout.shape()[last];
  const int64_t kept = call.outputs[0].layout->shape()[last];
  const int64_t rows = call.outputs[0].layout->elements() / kept;
  const auto* x = reinterpret_cast<const T*>(call.inputs[0].buffer->host_data());
  auto* values = data_of<T>(call.outputs[0]);
  auto* indices = data_of<uint32_t>(call.outputs[1]);
  CpuRuntime& runtime = runtime_of(call);
  ThreadPool& pool = runtime.threads();
  const auto sort_row = [&](int64_t row, Scratch& scratch, const Parts& parts) {
    const RowSort<T> job{x + row_offset(layout, row), layout.stride(last), length, kept, call.parameters<SortParams>().descending};
    job.run(values + row * kept, indices + row * kept, scratch, parts);
  };
  if (rows < pool.size() || rows * length < kShortestShared) {
    const Parts parts{length >= kShortestShared && pool.size() > 1 ? &pool : nullptr};
    for (int64_t row = 0; row < rows; ++row) sort_row(row, runtime.scratch(0), parts);
    return;
  }
  pool.run([&](int share, int shares) {
    for (int64_t row = rows * share / shares; row < rows * (share + 1) / shares; ++row) sort_row(row, runtime.scratch(share), {nullptr});
  });
}

}  // namespace

void sort_any(const OpCall& call) {
  visit_dtype(call.inputs[0].dtype, [&]<class T>(T) { sort_rows<T>(call); });
}

}  // namespace wick::cpu
