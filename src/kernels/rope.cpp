#include "kernels/rope.h"

#include <fmt/format.h>

#include <array>

#include "kernels/group_options.h"
#include "kernels/numbers.h"
#include "kernels/strided.h"

namespace wick::kernels {

using ir::Element;
using ir::KernelBuilder;
using ir::Memory;
using ir::Type;
using ir::Value;

ir::Kernel rope(DType dtype, const DeviceCaps& caps) {
  KernelBuilder k(fmt::format("rope_{}", to_string(dtype)), {.group_size = group_options(caps, 128).group_size});
  const Memory x = k.buffer("x", element_of(dtype)), table = k.buffer("table", Element::f32), y = k.output("y", element_of(dtype));
  const Value count = k.parameter("count", Type::u32), heads = k.parameter("heads", Type::u32), units = k.parameter("units", Type::u32),
              pairs = k.parameter("pairs", Type::u32), step = k.parameter("step", Type::u32), gap = k.parameter("gap", Type::u32);
  const auto view = [&](const char* name) {
    const Value offset = k.parameter(fmt::format("{}_offset", name), Type::u32);
    std::array<Value, 3> strides;
    for (size_t d = 0; d < 3; ++d) strides[d] = k.parameter(fmt::format("{}_stride_{}", name, d), Type::u32);
    return [offset, strides](const Value& a, const Value& b, const Value& c) {
      return offset + a * strides[0] + b * strides[1] + c * strides[2];
    };
  };
  const auto x_place = view("x"), table_place = view("table"), y_place = view("y");
  const Value lane = global_lane(k), unit = lane % units, row = lane / units, head = row % heads, token = row / heads;
  const auto load = [&](const Value& at) { return load_number(x, dtype, x_place(token, head, at)); };
  const auto store = [&](const Value& at, const Value& number) { store_number(y, dtype, y_place(token, head, at), number); };
  k.when((lane < count) & (unit < pairs), [&] {
    const auto angle = [&](uint32_t part) { return cast(compute_type(dtype), Value(table[table_place(token, unit, k.constant(part))])); };
    const Value cosine = angle(0), sine = angle(1), first = unit * step, second = first + gap, a = load(first), b = load(second);
    store(first, a * cosine - b * sine);
    store(second, a * sine + b * cosine);
  });
  k.when((lane < count) & (unit >= pairs), [&] { store(unit + pairs, load(unit + pairs)); });
  return k.finish();
}

}  // namespace wick::kernels
