#include "wick/kernels/indexing.h"

#include <fmt/format.h>

#include <optional>

#include "wick/kernels/group_options.h"
#include "wick/kernels/numbers.h"
#include "wick/kernels/strided.h"

namespace wick::kernels {

using namespace ir;

namespace {

struct Id {
  Value number, inside, nothing;
};

// 64-bit ids are two words, so that devices without 64-bit integers read them too.
Id load_id(const Memory& ids, DType dtype, const Value& at, const Value& extent) {
  if (dtype == DType::i64) {
    const Value low = ids.load(at * 2U), high = ids.load(at * 2U + 1U);
    return {low, (high == 0U) & (low < extent), (high == 0x7fffffffU) & (low == 0xffffffffU)};
  }
  const Value id = ids.load(at);
  const uint32_t largest = dtype == DType::u8 ? 0xffU : dtype == DType::i32 ? 0x7fffffffU : 0xffffffffU;
  return {id, (id < extent) & (id <= largest), id == largest};
}

}  // namespace

Kernel check_ids(DType dtype, uint32_t rank, const DeviceCaps& caps) {
  KernelBuilder k(fmt::format("check_ids_{}_r{}", to_string(dtype), rank), {.group_size = group_options(caps, 256).group_size});
  const Memory fault = k.output("fault", Element::u32);
  const Memory ids = k.buffer("ids", dtype == DType::u8 ? Element::u8 : Element::u32), y = k.output("y", Element::u32);
  StridedGrid grid(k, rank);
  const StridedGrid::View ids_view = grid.view("ids"), y_view = grid.view("y");
  const Value extent = k.parameter("extent", Type::u32);
  grid.run([&](const StridedGrid::Place& place) {
    const Id id = load_id(ids, dtype, place(ids_view), extent);
    y.store(place(y_view), select(id.inside, id.number, kNoId));
    k.when(!(id.inside | id.nothing), [&] { (void)fault.atomic(ir::AtomicOp::bit_or, 0, 1U); });
  });
  return k.finish();
}

Kernel take(uint32_t element_bytes, bool keeps_ids, uint32_t rank, const DeviceCaps& caps) {
  KernelBuilder k(fmt::format("take_{}{}_r{}", element_bytes, keeps_ids ? "_ids" : "", rank),
                  {.group_size = group_options(caps, 256).group_size});
  const Element element = element_of_bytes(element_bytes);
  const Memory x = k.buffer("x", element), ids = k.buffer("ids", Element::u32), y = k.output("y", element);
  std::optional<Memory> kept;
  if (keeps_ids) kept = k.output("kept", Element::u32);
  StridedGrid grid(k, rank);
  const StridedGrid::View x_view = grid.view("x"), ids_view = grid.view("ids"), y_view = grid.view("y");
  const std::optional<StridedGrid::View> kept_view = keeps_ids ? std::optional(grid.view("kept")) : std::nullopt;
  const Value step = k.parameter("x_step", Type::u32);
  const uint32_t words = words_of_bytes(element_bytes);
  grid.run([&](const StridedGrid::Place& place) {
    const Value id = ids.load(place(ids_view));
    const Value from = place(x_view) + id * step, to = place(y_view);
    for (uint32_t word = 0; word < words; ++word) y.store(to * words + word, x.load_if(id != kNoId, from * words + word, 0U));
    if (keeps_ids) kept->store(place(*kept_view), id);
  });
  return k.finish();
}

namespace {

// The first place behind `first` in [first, last) whose key is not `key`; the keys rise.
Value end_of_run(KernelBuilder& k, const Memory& keys, const Value& key, const Value& first, const Value& last, const Value& steps) {
  Variable low = k.variable(first), high = k.variable(last);
  k.loop(0, steps, 1, [&](const Value&) {
    k.when(Value(low) < Value(high), [&] {
      const Value middle = low + (high - low) / 2U;
      const Value equal = keys.load(middle) == key;
      const Value next_low = select(equal, middle + 1U, low), next_high = select(equal, high, middle);
      low = next_low;
      high = next_high;
    });
  });
  return low;
}

}  // namespace

Kernel put(DType dtype, Repeated repeated, uint32_t rank, const DeviceCaps& caps) {
  const bool sums = repeated == Repeated::sum;
  const auto bytes = static_cast<uint32_t>(info(dtype).block_bytes);
  const std::string name = sums ? fmt::format("put_sum_{}_r{}", to_string(dtype), rank) : fmt::format("put_last_{}_r{}", bytes, rank);
  KernelBuilder k(name, {.group_size = group_options(caps, 256).group_size});
  const Element element = sums ? element_of(dtype) : element_of_bytes(bytes);
  const Memory order = k.buffer("order", Element::u32), y = k.output("y", element), source = k.buffer("source", element);
  const Memory keys = k.buffer("keys", Element::u32);
  StridedGrid grid(k, rank);
  const StridedGrid::View y_view = grid.view("y"), source_view = grid.view("source"), keys_view = grid.view("keys");
  const Value length = k.parameter("length", Type::u32), steps = k.parameter("steps", Type::u32);
  const Value source_step = k.parameter("source_step", Type::u32), y_step = k.parameter("y_step", Type::u32);
  grid.run([&](const StridedGrid::Place& place) {
    const Value at = place(keys_view), line = at - at % length, key = keys.load(at);
    const Value is_first = (at == line) | (keys.load_if(at != line, at - 1U, kNoId) != key);
    k.when(is_first & (key != kNoId), [&] {
      const Value to = place(y_view) + key * y_step, from = place(source_view);
      const Value end = end_of_run(k, keys, key, at + 1U, line + length, steps);
      if (!sums) {
        const uint32_t words = words_of_bytes(bytes);
        const Value last = from + order.load(end - 1U) * source_step;
        for (uint32_t word = 0; word < words; ++word) y.store(to * words + word, source.load(last * words + word));
        return;
      }
      Variable sum = k.variable(load_number(y, dtype, to));
      k.loop(at, end, 1, [&](const Value& i) { sum = sum + load_number(source, dtype, from + order.load(i) * source_step); });
      store_number(y, dtype, to, sum);
    });
  });
  return k.finish();
}

}  // namespace wick::kernels
