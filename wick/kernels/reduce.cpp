#include "wick/kernels/reduce.h"

#include <fmt/format.h>

#include <optional>

#include "wick/kernels/numbers.h"
#include "wick/kernels/order_key.h"

namespace wick::kernels {

using namespace ir;

Kernel reduce_sum(DType in, DType out, RowLanes lanes, const DeviceCaps& caps) {
  const ir::KernelOptions options = row_options(lanes, caps);
  KernelBuilder k(fmt::format("reduce_sum_{}_{}{}", to_string(in), to_string(out), row_suffix(lanes, options)), options);
  const Memory x = k.buffer("x", element_of(in)), y = k.output("y", element_of(out));
  RowWalk row(k, lanes);
  const Value first = k.parameter("first", Type::u32);
  const Type type = compute_type(in);
  const Value divisor = ir::is_float(type) ? cast(type, k.parameter("divisor", Type::u32)) : Value();
  GroupReduce group(k, type);
  row.run([&] {
    const Value sum =
        row.reduce(group, Reduce::add, k.number_of(type, 0, 0), [&](const Value& column) { return load_number(x, in, row.place(column)); });
    row.once([&] { store_number(y, out, first + row.number(), ir::is_float(type) ? sum / divisor : sum); });
  });
  return k.finish();
}

namespace {

constexpr uint32_t kAllOnes = 0xffffffffU;

// Keys of which the least is wanted, and NaN before all.
OrderKey wanted_key(const Memory& x, DType dtype, const Value& index, const Value& mask) {
  const OrderKey key = load_key(x, dtype, index);
  const OrderKey kept = turned(key, mask);
  if (!is_float(dtype)) return kept;
  KernelBuilder& k = *mask.builder();
  const bool two = key_words(dtype) == 2;
  const OrderKey nan{k.constant(kAllOnes), two ? k.constant(kAllOnes) : Value()}, before{k.constant(0U), two ? k.constant(0U) : Value()};
  return select(is_equal(key, nan), before, kept);
}

}  // namespace

Kernel reduce_extreme(const ExtremeOptions& wanted, RowLanes lanes, const DeviceCaps& caps) {
  const auto& [dtype, gives_value, chooses] = wanted;
  const ir::KernelOptions options = row_options(lanes, caps);
  KernelBuilder k(fmt::format("reduce_{}_{}{}{}", gives_value ? "extreme" : "place", to_string(dtype), chooses ? "_chosen" : "",
                              row_suffix(lanes, options)),
                  options);
  const Memory x = k.buffer("x", key_element(dtype)), y = k.output("y", gives_value ? key_element(dtype) : Element::u32);
  std::optional<Memory> places;
  if (chooses) places = k.buffer("places", Element::u32);
  RowWalk row(k, lanes);
  const Value first = k.parameter("first", Type::u32), mask = k.parameter("mask", Type::u32);
  const bool two = key_words(dtype) == 2;
  GroupReduce group(k, Type::u32);
  row.run([&] {
    Variable high = k.variable(k.constant(kAllOnes)), low = k.variable(k.constant(kAllOnes)), place = k.variable(k.constant(kAllOnes));
    row.each([&](const Value& column) {
      const Value at = chooses ? places->load(row.number() * row.columns() + column) : column;
      const OrderKey key = wanted_key(x, dtype, row.place(at), mask), best{high, two ? Value(low) : Value()};
      // Columns rise, so that of equal ones the first stays.
      const Value better = is_less(key, best) | (Value(place) == kAllOnes);
      k.when(better, [&] {
        high = key.high;
        if (two) low = key.low;
        place = at;
      });
    });
    const Value best_high = row.together(group, Reduce::minimum, high);
    Value is_best = high == best_high;
    if (two) {
      const Value best_low = row.together(group, Reduce::minimum, select(is_best, low, kAllOnes));
      is_best = is_best & (low == best_low);
    }
    const Value chosen = row.together(group, Reduce::minimum, select(is_best, place, kAllOnes));
    row.once([&] {
      if (!gives_value) return y.store(first + row.number(), chosen);
      move_element(y, first + row.number(), x, row.place(chosen), dtype);
    });
  });
  return k.finish();
}

}  // namespace wick::kernels
