#include "wick/kernels/rope.h"

#include <fmt/format.h>

#include <array>
#include <functional>

#include "wick/kernels/group_options.h"
#include "wick/kernels/numbers.h"
#include "wick/kernels/quantize.h"
#include "wick/kernels/strided.h"

namespace wick::kernels {

using namespace ir;

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

namespace {

using Numbers = std::function<Value(const Value& i)>;

// Element i of a head that begins at `first` of x, turned by the angles that begin at `angles` of the table.
Value turned(const Memory& x, const Value& first, const Memory& table, const Value& angles, const Value& pairs, bool interleaved,
             const Value& i) {
  const Value turns = i < pairs * 2U, second = interleaved ? (i & 1U) != 0 : i >= pairs;
  const Value pair = interleaved ? i >> 1 : select(second, i - pairs, i);
  const Value other = interleaved ? i ^ 1U : select(second, i - pairs, i + pairs);
  const Value number = x[first + i], partner = x.load_if(turns, first + other, 0);
  const Value angle = angles + pair * 2U, cosine = table.load_if(turns, angle, 1), sine = table.load_if(turns, angle + 1U, 0);
  const Value across = partner * sine;
  return select(turns, number * cosine + select(second, across, -across), number);
}

// Numbers `begin` to `begin` + unit - 1 of a row to unit `place` of y.
void store_unit(KernelBuilder& k, const Memory& y, DType dtype, uint32_t unit, const Value& place, const Value& begin,
                const Numbers& numbers) {
  if (dtype == DType::q8_0) return store_q8_0_block(k, y, place * 17U, [&](const Value& i) { return numbers(begin + i); });
  if (unit == 4) return store_quad(y, dtype, place, {numbers(begin), numbers(begin + 1U), numbers(begin + 2U), numbers(begin + 3U)});
  k.loop(0, unit, 1, [&](const Value& i) { store_number(y, dtype, place * unit + i, numbers(begin + i)); });
}

Element cache_element_of(const CacheRows& rows) {
  if (rows.dtype == DType::q8_0) return Element::u16;
  return rows.unit == 4 ? quad_element_of(rows.dtype) : element_of(rows.dtype);
}

}  // namespace

ir::Kernel rope_into_cache(const CacheRows& rows, const DeviceCaps& caps) {
  KernelBuilder k(fmt::format("rope_into_cache_{}_x{}{}", to_string(rows.dtype), rows.unit, rows.interleaved ? "_interleaved" : ""),
                  {.group_size = group_options(caps, 128).group_size});
  const Memory query = k.buffer("query", Element::f32), key = k.buffer("key", Element::f32), value = k.buffer("value", Element::f32),
               table = k.buffer("table", Element::f32), places = k.buffer("places", Element::u32);
  const Memory keys = k.output("keys", cache_element_of(rows)), values = k.output("values", cache_element_of(rows)),
               out = k.output("turned", Element::f32);
  const auto parameter = [&](const char* name) { return k.parameter(name, Type::u32); };
  const Value count = parameter("count"), heads = parameter("heads"), kv_heads = parameter("kv_heads"), units = parameter("units"),
              value_units = parameter("value_units"), pairs = parameter("pairs"), query_first = parameter("query_first"),
              key_first = parameter("key_first"), value_first = parameter("value_first"), table_first = parameter("table_first"),
              positions_first = parameter("positions_first"), slots_first = parameter("slots_first");
  const auto cache_view = [&](const std::string& name) {
    const Value offset = k.parameter(name + "_offset", Type::u32), head_stride = k.parameter(name + "_head_stride", Type::u32),
                slot_stride = k.parameter(name + "_slot_stride", Type::u32);
    return [=](const Value& head, const Value& slot) { return offset + head * head_stride + slot * slot_stride; };
  };
  const auto keys_place = cache_view("keys"), values_place = cache_view("values");
  const Value turned_first = parameter("turned_first");
  // A token's units: of its queries, its keys, its values.
  const Value query_units = heads * units, turned_units = query_units + kv_heads * units,
              units_of_token = turned_units + kv_heads * value_units;
  const Value lane = global_lane(k), token = lane / units_of_token, place = lane % units_of_token, exists = lane < count;
  const Value angles = table_first + places.load_if(exists & (pairs > 0U), positions_first + token, 0U) * pairs * 2U;
  k.when(exists & (place < query_units), [&] {
    const Value head = place / units, unit = place % units, first = (token * heads + head) * (units * rows.unit);
    store_unit(k, out, DType::f32, rows.unit, turned_first / rows.unit + first / rows.unit + unit, unit * rows.unit,
               [&](const Value& i) { return turned(query, query_first + first, table, angles, pairs, rows.interleaved, i); });
  });
  // A slot of -1 takes nothing.
  const Value slot = places.load_if(exists, slots_first + token, ~0U), is_stored = exists & (slot != ~0U);
  k.when(is_stored & (place >= query_units) & (place < turned_units), [&] {
    const Value at = place - query_units, head = at / units, unit = at % units;
    const Value first = key_first + (token * kv_heads + head) * (units * rows.unit);
    store_unit(k, keys, rows.dtype, rows.unit, keys_place(head, slot) + unit, unit * rows.unit,
               [&](const Value& i) { return turned(key, first, table, angles, pairs, rows.interleaved, i); });
  });
  k.when(is_stored & (place >= turned_units), [&] {
    const Value at = place - turned_units, head = at / value_units, unit = at % value_units;
    const Value first = value_first + (token * kv_heads + head) * (value_units * rows.unit);
    store_unit(k, values, rows.dtype, rows.unit, values_place(head, slot) + unit, unit * rows.unit,
               [&](const Value& i) -> Value { return value[first + i]; });
  });
  return k.finish();
}

}  // namespace wick::kernels
