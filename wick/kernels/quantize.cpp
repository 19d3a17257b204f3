#include "wick/kernels/quantize.h"

#include <fmt/format.h>

#include "wick/ir/lowering.h"
#include "wick/kernels/group_options.h"
#include "wick/kernels/math.h"
#include "wick/kernels/strided.h"

namespace wick::kernels {

using namespace ir;

// A block is an f16 scale d = max |x| / 127 and 32 bytes x / d, rounded: 17 words of 16 bits.
void store_q8_0_block(KernelBuilder& k, const Memory& y, const Value& first, const std::function<Value(const Value& i)>& number) {
  // Magnitudes are in the order of their bits, infinity and NaN being the largest.
  Variable largest_bits = k.variable(k.constant(0U));
  k.loop(0, 32, 1, [&](const Value& i) { largest_bits = max(Value(largest_bits), bitcast(Type::u32, number(i)) & 0x7fffffffU); });
  const Value bits = largest_bits, is_finite = bits < 0x7f800000U;
  const Value scale = bitcast(Type::f32, select(is_finite, bits, 0U)) / 127.0;
  const Value inverse = select(scale > 0.0, 1.0 / scale, 0.0);
  y[first] = select(is_finite, ir::pack_half(scale), 0x7e00U);
  const auto quantized = [&](const Value& i) {
    return bitcast(Type::u32, cast(Type::i32, round(select(is_finite, number(i), 0.0) * inverse))) & 0xffU;
  };
  k.loop(0, 16, 1, [&](const Value& pair) { y[first + 1U + pair] = quantized(pair * 2U) | (quantized(pair * 2U + 1U) << 8); });
}

ir::Kernel quantize_q8_0(uint32_t rank, const DeviceCaps& caps) {
  KernelBuilder k(fmt::format("quantize_q8_0_r{}", rank), {.group_size = group_options(caps, 64).group_size});
  const Memory x = k.buffer("x", Element::f32), y = k.output("y", Element::u16);
  StridedGrid grid(k, rank);
  const StridedGrid::View x_view = grid.view("x"), y_view = grid.view("y");
  const Value step = k.parameter("x_step", Type::u32);
  grid.run([&](const StridedGrid::Place& place) {
    const Value first = place(x_view);
    store_q8_0_block(k, y, place(y_view) * 17U, [&](const Value& i) -> Value { return x[first + i * step]; });
  });
  return k.finish();
}

}  // namespace wick::kernels
