#include "wick/kernels/sort.h"

#include <fmt/format.h>

#include "wick/kernels/group_options.h"
#include "wick/kernels/order_key.h"
#include "wick/kernels/strided.h"

namespace wick::kernels {

using namespace ir;

namespace {

constexpr uint32_t kLastKey = 0xffffffffU;

OrderKey load_words(const Memory& keys, uint32_t words, const Value& index) {
  return {keys.load(index * words), words == 2 ? keys.load(index * 2U + 1U) : Value()};
}

void store_words(const Memory& keys, const Value& index, const OrderKey& key, uint32_t words) {
  keys.store(index * words, key.high);
  if (words == 2) keys.store(index * 2U + 1U, key.low);
}

// The keys of a group and where in their run they were, sorted by the bitonic network of Batcher (1968). Every key is another one, as its
// place counts last; so the order is stable.
struct Network {
  KernelBuilder& k;
  uint32_t words;
  Memory keys, places;

  // Sorts each run of 2^logarithm keys.
  void sort(const Value& logarithm) const {
    k.loop(1, logarithm + 1U, 1, [&](const Value& stage) {
      k.loop(0, stage, 1, [&](const Value& step) {
        const Value distance = stage - 1U - step;
        k.barrier();
        for (uint32_t first = 0; first < kSortBlock / 2; first += k.kernel().group_size) {
          // Pair number i: bits below `distance` as they are, the others moved up.
          const Value i = k.local_id() + first, below = i & ((k.constant(1U) << distance) - 1U);
          const Value left = ((i >> distance) << (distance + 1U)) | below;
          // In the last stage all runs rise.
          exchange(left, left + (k.constant(1U) << distance), (((left >> stage) & 1U) != 0U) & (stage != logarithm));
        }
      });
    });
    k.barrier();
  }

 private:
  void exchange(const Value& left, const Value& right, const Value& falls) const {
    const OrderKey a = load_words(keys, words, left), b = load_words(keys, words, right);
    const Value a_place = places.load(left), b_place = places.load(right);
    const Value out_of_order = is_less(b, a) | (is_equal(a, b) & (b_place < a_place));
    k.when(out_of_order ^ falls, [&] {
      store_words(keys, left, b, words);
      store_words(keys, right, a, words);
      places.store(left, b_place);
      places.store(right, a_place);
    });
  }
};

}  // namespace

Kernel order_keys(DType dtype, uint32_t rank, const DeviceCaps& caps) {
  KernelBuilder k(fmt::format("order_keys_{}_r{}", to_string(dtype), rank), {.group_size = group_options(caps, 256).group_size});
  const Memory x = k.buffer("x", key_element(dtype)), keys = k.output("keys", Element::u32);
  StridedGrid grid(k, rank);
  const StridedGrid::View x_view = grid.view("x"), keys_view = grid.view("keys");
  const Value mask = k.parameter("mask", Type::u32);
  grid.run([&](const StridedGrid::Place& place) {
    store_words(keys, place(keys_view), turned(load_key(x, dtype, place(x_view)), mask), key_words(dtype));
  });
  return k.finish();
}

Kernel sort_runs(uint32_t words, const DeviceCaps& caps) {
  KernelBuilder k(fmt::format("sort_runs_{}", words), {.group_size = group_options(caps, 256).group_size});
  const Memory keys = k.buffer("keys", Element::u32);
  const Memory sorted = k.output("sorted", Element::u32), order = k.output("order", Element::u32);
  const Value length = k.parameter("length", Type::u32), runs = k.parameter("runs", Type::u32);
  const Value logarithm = k.parameter("logarithm", Type::u32), run_count = k.parameter("run_count", Type::u32);
  const Network network{k, words, k.shared(Element::u32, kSortBlock * words), k.shared(Element::u32, kSortBlock)};
  const Value run_length = k.constant(1U) << logarithm;
  const Value first_run = (k.group_id(1) * k.group_count(0) + k.group_id(0)) * (kSortBlock / run_length);
  // Calls f(place in shared memory, place in the run, whether there is such a key, the row's first key, the run's first place in the row).
  const auto each = [&](const auto& f) {
    for (uint32_t first = 0; first < kSortBlock; first += k.kernel().group_size) {
      const Value i = k.local_id() + first, run = first_run + (i >> logarithm), at = i & (run_length - 1U);
      const Value begin = (run % runs) << logarithm;
      f(i, at, (run < run_count) & (begin + at < length), run / runs * length, begin);
    }
  };
  each([&](const Value& i, const Value& at, const Value& exists, const Value& row, const Value& begin) {
    // What fills a run up comes last: its place is behind those of all keys.
    for (uint32_t word = 0; word < words; ++word)
      network.keys.store(i * words + word, keys.load_if(exists, (row + begin + at) * words + word, kLastKey));
    network.places.store(i, at);
  });
  network.sort(logarithm);
  each([&](const Value& i, const Value& at, const Value& exists, const Value& row, const Value& begin) {
    k.when(exists, [&] {
      store_words(sorted, row + begin + at, load_words(network.keys, words, i), words);
      order.store(row + begin + at, begin + network.places.load(i));
    });
  });
  return k.finish();
}

Kernel merge_runs(uint32_t words, const DeviceCaps& caps) {
  KernelBuilder k(fmt::format("merge_runs_{}", words), {.group_size = group_options(caps, 256).group_size});
  const Memory keys = k.buffer("keys", Element::u32), order = k.buffer("order", Element::u32);
  const Memory merged = k.output("merged", Element::u32), merged_order = k.output("merged_order", Element::u32);
  const Value count = k.parameter("count", Type::u32), length = k.parameter("length", Type::u32), run = k.parameter("run", Type::u32);
  const Value steps = k.parameter("steps", Type::u32);
  const Value element = global_lane(k);
  k.when(element < count, [&] {
    const Value at = element % length, row = element - at;
    const Value first = at / run / 2U * 2U * run, middle = min(first + run, length), last = min(middle + run, length);
    const Value is_left = at < middle;
    const OrderKey key = load_words(keys, words, element);
    // How many keys of the other run come before: of equal ones those of the left run do.
    Variable low = k.variable(select(is_left, middle, first)), high = k.variable(select(is_left, last, middle));
    k.loop(0, steps, 1, [&](const Value&) {
      k.when(Value(low) < Value(high), [&] {
        const Value half = low + (high - low) / 2U;
        const OrderKey other = load_words(keys, words, row + half);
        const Value before = is_less(other, key) | ((!is_left) & is_equal(other, key));
        const Value next_low = select(before, half + 1U, low), next_high = select(before, high, half);
        low = next_low;
        high = next_high;
      });
    });
    const Value to = element + low - middle;
    store_words(merged, to, key, words);
    merged_order.store(to, order.load(element));
  });
  return k.finish();
}

}  // namespace wick::kernels
