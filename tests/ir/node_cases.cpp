// One case for each group of nodes: every op on chosen operands, against C++.
#include <algorithm>
#include <bit>
#include <cmath>

#include "ir/kernel_cases.h"
#include "ir/launch.h"
#include "wick/base/half.h"
#include "wick/ir/builder.h"

namespace wick::ir {
namespace {

using Numbers = std::vector<double>;
using Words = std::vector<int64_t>;

Numbers as_numbers(const Words& words) { return {words.begin(), words.end()}; }

// Results of lane i: one behind the other, the lanes' first results first.
struct Results {
  KernelBuilder& k;
  Memory y;
  Value lane;
  uint32_t lanes;
  uint32_t count = 0;
  void add(const Value& v) { y[lane + lanes * count++] = v; }
};

const Words kEdges{0, 1, -1, 2, 7, -7, 127, -128, 255, 65535, -32768, 2147483647, -2147483648LL, 123456789, -987654321, 1431655765};

KernelCase integer_case(Type type) {
  const bool is_signed = type == Type::i32;
  const Element element = is_signed ? Element::i32 : Element::u32;
  const uint32_t n = 256;
  KernelBuilder k(is_signed ? "nodes_i32" : "nodes_u32", {.group_size = n});
  const Memory a = k.buffer("a", element), b = k.buffer("b", element);
  Results r{k, k.output("y", element), k.local_id(), n};
  const Value x = a[r.lane], y = b[r.lane], zero = k.number_of(type, 0, 0), one = k.number_of(type, 0, 1);
  const auto flag = [&](const Value& v) { r.add(cast(type, v)); };
  const Value nonzero = select(y == zero, one, y), divisor = is_signed ? select(nonzero == -1, one, nonzero) : nonzero;
  const Value count = bitcast(Type::u32, y) % 32U;
  for (const Value& v :
       {x + y, x - y, x * y, x / divisor, x % divisor, min(x, y), max(x, y), x & y, x | y, x ^ y, x << count, x >> count, -x, ~x})
    r.add(v);
  flag(x < y);
  flag(x <= y);
  flag(x == y);
  flag((x < y) ^ (x == zero));
  flag(cast(Type::b1, x) & !(y <= x));
  r.add(select((x < y) | (y == one), x, y));

  Numbers as, bs, expected(std::size_t{n} * r.count);
  for (uint32_t i = 0; i < n; ++i) {
    const auto u = static_cast<uint32_t>(kEdges[i % 16]), v = static_cast<uint32_t>(kEdges[i / 16]);
    const auto number = [&](uint32_t bits) {
      return is_signed ? static_cast<int64_t>(static_cast<int32_t>(bits)) : static_cast<int64_t>(bits);
    };
    const int64_t p = number(u), q = number(v);
    const int64_t d = q == 0 || (is_signed && q == -1) ? 1 : q;
    const uint32_t c = v % 32;
    const Words values{p + q,
                       p - q,
                       static_cast<int64_t>(u * v),
                       p / d,
                       p % d,
                       std::min(p, q),
                       std::max(p, q),
                       p & q,
                       p | q,
                       p ^ q,
                       static_cast<int64_t>(u << c),
                       p >> c,
                       -p,
                       ~p,
                       p < q,
                       p <= q,
                       p == q,
                       (p < q) != (p == 0),
                       p != 0 && q > p,
                       p < q || q == 1 ? p : q};
    as.push_back(static_cast<double>(p));
    bs.push_back(static_cast<double>(q));
    for (std::size_t e = 0; e < values.size(); ++e) expected[i + e * n] = static_cast<double>(number(static_cast<uint32_t>(values[e])));
  }
  KernelCase result;
  result.kernel = k.finish();
  result.name = result.kernel.name;
  result.buffers = {input(element, as), input(element, bs), output(element, expected)};
  return result;
}

const Numbers kReals{0, 1, -1, 0.5, -2.5, 3.75, 100.125, -1000.5, 0.0625, 7, -7, 12.25, 0.1015625, -0.3125, 1.5, 63};

KernelCase float_case(Type type, Element element) {
  const uint32_t n = 256;
  KernelBuilder k(type == Type::f32 ? "nodes_f32" : type == Type::f16 ? "nodes_f16" : "nodes_f64", {.group_size = n});
  const Memory a = k.buffer("a", element), b = k.buffer("b", element);
  Results r{k, k.output("y", element), k.local_id(), n};
  const Value x = a[r.lane], y = b[r.lane], one = k.number_of(type, 1, 0), half = k.number_of(type, 0.5, 0);
  const Value divisor = select(y == 0.0, one, y);
  const auto flag = [&](const Value& v) { r.add(select(v, one, half)); };
  for (const Value& v :
       {x + y, x - y, x * half, x / divisor, min(x, y), max(x, y), -x, abs(x), trunc(x), fma(half, x, y), native_sqrt(abs(y))})
    r.add(v);
  flag(x < y);
  flag(x <= y);
  flag(x == y);
  if (type != Type::f64) {
    r.add(native_exp2(x / k.number_of(type, 128, 0)));
    r.add(native_log2(abs(y) + half));
  }

  Numbers as, bs, expected(std::size_t{n} * r.count);
  const auto rounded = [&](double v) { return numbers_of(element, input(element, {v}).bytes)[0]; };
  for (uint32_t i = 0; i < n; ++i) {
    const double p = kReals[i % 16], q = kReals[i / 16], d = q == 0 ? 1 : q;
    Numbers values{p + q,
                   p - q,
                   p * 0.5,
                   p / d,
                   std::min(p, q),
                   std::max(p, q),
                   -p,
                   std::fabs(p),
                   std::trunc(p),
                   0.5 * p + q,
                   std::sqrt(std::fabs(q)),
                   p < q ? 1 : 0.5,
                   p <= q ? 1 : 0.5,
                   p == q ? 1 : 0.5,
                   std::exp2(p / 128),
                   std::log2(std::fabs(q) + 0.5),
                   std::sin(p / 512)};
    values.resize(r.count);
    for (std::size_t e = 0; e < values.size(); ++e) expected[i + e * n] = rounded(values[e]);
    as.push_back(p);
    bs.push_back(q);
  }
  KernelCase result;
  result.kernel = k.finish();
  result.name = result.kernel.name;
  const double unit = type == Type::f16 ? 0x1p-9 : 0x1p-20;
  result.buffers = {input(element, as), input(element, bs), output(element, expected, unit * 0.5, unit)};
  return result;
}

KernelCase sine_case() {
  KernelBuilder k("nodes_sine", {.group_size = 128});
  const Memory a = k.buffer("a", Element::f32), y = k.output("y", Element::f32);
  y[k.local_id()] = native_sin(a[k.local_id()]);
  Numbers as, ys;
  for (int i = 0; i < 128; ++i) {
    as.push_back((i - 64) * 0.048828125);
    ys.push_back(std::sin(as.back()));
  }
  KernelCase result;
  result.kernel = k.finish();
  result.name = result.kernel.name;
  result.buffers = {input(Element::f32, as), output(Element::f32, ys, 0x1p-11)};
  return result;
}

KernelCase conversion_case() {
  const uint32_t n = 16;
  KernelBuilder k("nodes_conversions", {.group_size = n});
  const Memory a = k.buffer("a", Element::f32), b = k.buffer("b", Element::i32);
  Results r{k, k.output("y", Element::f32), k.local_id(), n};
  const Value x = a[r.lane], y = b[r.lane];
  r.add(cast(Type::f32, cast(Type::i32, x)));
  r.add(cast(Type::f32, cast(Type::u32, abs(x))));
  r.add(cast(Type::f32, y));
  r.add(cast(Type::f32, bitcast(Type::u32, y) >> 1));
  r.add(cast(Type::f32, x < 0.5F));
  r.add(bitcast(Type::f32, bitcast(Type::u32, x) ^ 0x80000000U));
  r.add(cast(Type::f32, cast(Type::f16, x)));
  r.add(unpack_half(cast(Type::u32, k.local_id() * 1000U) + 0xabcd0000U));
  const Value halves = pack_halves(cast(Type::f32, k.local_id()) * -0.25F, cast(Type::f32, k.local_id() + 1U));
  r.add(unpack_half(halves));
  r.add(unpack_half(halves >> 16));
  r.add(cast(Type::f32, bitcast(Type::i32, dot4(bitcast(Type::u32, y), 0x7f80ff03U + k.local_id(), 10))));
  Numbers as, bs = as_numbers(kEdges), expected(std::size_t{n} * r.count);
  for (uint32_t i = 0; i < n; ++i) {
    const double p = kReals[i] * 1.001953125;
    const auto word = static_cast<uint32_t>(kEdges[i]);
    int dot = 10;
    for (uint32_t e = 0; e < 32; e += 8) dot += static_cast<int8_t>(word >> e) * static_cast<int8_t>((0x7f80ff03U + i) >> e);
    as.push_back(p);
    const auto f = static_cast<float>(p);
    const Numbers values{std::trunc(p),
                         std::trunc(std::fabs(p)),
                         static_cast<double>(static_cast<float>(kEdges[i])),
                         static_cast<double>(static_cast<float>(word >> 1)),
                         p < 0.5 ? 1.0 : 0.0,
                         -p,
                         static_cast<double>(f16_bits_to_float(float_to_f16_bits(f))),
                         static_cast<double>(f16_bits_to_float(static_cast<uint16_t>(i * 1000))),
                         -0.25 * i,
                         i + 1.0,
                         static_cast<double>(dot)};
    for (std::size_t e = 0; e < values.size(); ++e) expected[i + e * n] = values[e];
  }
  KernelCase result;
  result.kernel = k.finish();
  result.name = result.kernel.name;
  result.buffers = {input(Element::f32, as), input(Element::i32, bs), output(Element::f32, expected, 0x1p-20)};  // flushed subnormals
  return result;
}

// Every narrow element: read, written by lanes that share a word, also under a gate, in buffers and in shared memory.
KernelCase narrow_case() {
  const uint32_t n = 32;
  KernelBuilder k("nodes_narrow", {.group_size = n});
  const Memory a = k.buffer("a", Element::i8), b = k.buffer("b", Element::u16);
  const Memory y = k.output("y", Element::u8), z = k.output("z", Element::i16), h = k.output("h", Element::f16);
  const Memory scratch = k.shared(Element::i8, n + 2);
  const Value t = k.local_id();
  scratch[t] = a[t] + 1;
  k.barrier();
  y[t] = cast(Type::u32, scratch[n - 1U - t]);
  z.store_if(t % 3U == 0, t, cast(Type::i32, b[t]) - 1000);
  z.store_if(t % 3U != 0, t, a.load_if(t < 20, t, 77));
  h[t] = cast(Type::f16, cast(Type::f32, a[t]) * 0.125F);
  Numbers as, bs, ys(n), zs, hs;
  for (uint32_t i = 0; i < n; ++i) {
    as.push_back(static_cast<double>(i * 8) - 128);
    bs.push_back(i * 2000);
    hs.push_back(as[i] * 0.125);
  }
  for (uint32_t i = 0; i < n; ++i) {
    ys[i] = static_cast<double>(static_cast<uint8_t>(static_cast<int>(as[n - 1 - i]) + 1));
    zs.push_back(i % 3 == 0 ? static_cast<int16_t>(static_cast<int>(bs[i]) - 1000) : i < 20 ? as[i] : 77);
  }
  KernelCase result;
  result.kernel = k.finish();
  result.name = result.kernel.name;
  result.buffers = {input(Element::i8, as), input(Element::u16, bs), output(Element::u8, ys), output(Element::i16, zs),
                    output(Element::f16, hs)};
  return result;
}

KernelCase vector_case() {
  const uint32_t n = 16;
  KernelBuilder k("nodes_vectors", {.group_size = n});
  const Memory a = k.buffer("a", Element::f32), b = k.buffer("b", Element::u32), y = k.output("y", Element::f32),
               z = k.output("z", Element::u32);
  const Memory scratch = k.shared(Element::f32, 4 * n);
  const Value t = k.local_id();
  const Vector v = a.load4(t * 4U);
  scratch.store(t * 4U, {v[1], v[0], v[3], v[2]});
  k.barrier();
  const Vector w = scratch.load2(t * 2U), gated = scratch.load4_if(t < 10, (n - 1U - t) * 4U, -5.0F);
  y.store(t * 4U, {w[0], w[1], gated[0], gated[3]});
  z[t] = b.load2(t * 2U)[1] + b[t];
  Numbers as, bs, ys, zs, mixed(4 * n);
  for (uint32_t i = 0; i < 4 * n; ++i) as.push_back(i * 0.5);
  for (uint32_t i = 0; i < 2 * n; ++i) bs.push_back(i * 3);
  for (uint32_t i = 0; i < 4 * n; ++i) mixed[i] = as[i ^ 1U];
  for (uint32_t i = 0; i < n; ++i) {
    const std::size_t other = (n - 1 - i) * 4;
    for (const double x : {mixed[2 * i], mixed[2 * i + 1], i < 10 ? mixed[other] : -5, i < 10 ? mixed[other + 3] : -5}) ys.push_back(x);
    zs.push_back(bs[2 * i + 1] + bs[i]);
  }
  KernelCase result;
  result.kernel = k.finish();
  result.name = result.kernel.name;
  result.buffers = {input(Element::f32, as), input(Element::u32, bs), output(Element::f32, ys), output(Element::u32, zs)};
  return result;
}

KernelCase atomic_case() {
  const uint32_t n = 64;
  KernelBuilder k("nodes_atomics", {.group_size = n});
  const Memory a = k.buffer("a", Element::u32), y = k.output("y", Element::u32), z = k.output("z", Element::i32);
  const Memory counts = k.shared(Element::u32, 4);
  const Value t = k.local_id();
  k.when(t < 4, [&] { counts[t] = k.constant(0U); });
  k.when(t == 0, [&] {
    for (uint32_t i = 0; i < 5; ++i) y[i] = k.constant(i == 3 ? 0xffffffffU : 0U);
    z[0] = 1000;
    z[1] = -1000;
  });
  k.barrier(BarrierScope::shared_and_buffers);
  const Value x = a[t];
  const Value place = counts.atomic(AtomicOp::add, x % 4U, 1);
  y.atomic(AtomicOp::add, 0, x);
  y.atomic(AtomicOp::maximum, 1, x + place * 0U);
  y.atomic(AtomicOp::bit_or, 2, x);
  y.atomic(AtomicOp::bit_and, 3, ~x);
  y.atomic(AtomicOp::exchange, 4, 9);
  z.atomic(AtomicOp::minimum, 0, -bitcast(Type::i32, x));
  z.atomic(AtomicOp::maximum, 1, -bitcast(Type::i32, x));
  k.barrier(BarrierScope::shared_and_buffers);
  k.when(t < 4, [&] { y[t + 5U] = counts[t]; });
  k.when(t == 9, [&] { y[9] = y[0] + 1U; });
  Numbers as;
  uint32_t sum = 0, bits = 0;
  std::array<uint32_t, 4> buckets{};
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t x_i = (i * 37 + 5) % 101;
    as.push_back(x_i);
    sum += x_i;
    bits |= x_i;
    ++buckets[x_i % 4];
  }
  const double most = *std::max_element(as.begin(), as.end()), least = *std::min_element(as.begin(), as.end());
  Numbers ys{static_cast<double>(sum), most, static_cast<double>(bits), static_cast<double>(~bits), 9};
  for (const uint32_t bucket : buckets) ys.push_back(bucket);
  ys.push_back(sum + 1);
  KernelCase result;
  result.kernel = k.finish();
  result.name = result.kernel.name;
  result.buffers = {input(Element::u32, as), output(Element::u32, ys), output(Element::i32, {-most, -least})};
  return result;
}

KernelCase subgroup_case(uint32_t size) {
  const uint32_t n = 2 * size;
  KernelBuilder k("nodes_subgroups", {.group_size = n, .subgroup_size = size});
  const Memory a = k.buffer("a", Element::f32);
  Results r{k, k.output("y", Element::f32), k.group_id() * n + k.local_id(), 2 * n};
  const Value x = a[r.lane], whole = cast(Type::i32, x), bits = cast(Type::u32, abs(x));
  const auto add = [&](const Value& v) { r.add(cast(Type::f32, v)); };
  for (const Reduce reduce : {Reduce::add, Reduce::minimum, Reduce::maximum}) {
    add(subgroup_reduce(reduce, x));
    add(subgroup_reduce(reduce, whole));
    add(subgroup_reduce(reduce, bits));
  }
  add(subgroup_shuffle_xor(x, 1));
  add(subgroup_shuffle_xor(whole, size / 2));
  add(subgroup_broadcast(x, size - 1));
  add(subgroup_broadcast(bits, 0));
  add(k.subgroup_lane() + k.subgroup_id() * 100U);
  Numbers as;
  for (uint32_t i = 0; i < 2 * n; ++i) as.push_back(static_cast<double>((i * 29) % 83) - 40);
  Numbers ys(std::size_t{2} * n * r.count);
  for (uint32_t i = 0; i < 2 * n; ++i) {
    const uint32_t first = i / size * size;
    double sum = 0, positive = 0, least = 1e9, most = -1e9, least_positive = 1e9, most_positive = 0;
    for (uint32_t j = first; j < first + size; ++j) {
      sum += as[j];
      positive += std::fabs(as[j]);
      least = std::min(least, as[j]);
      most = std::max(most, as[j]);
      least_positive = std::min(least_positive, std::fabs(as[j]));
      most_positive = std::max(most_positive, std::fabs(as[j]));
    }
    const Numbers values{sum,
                         sum,
                         positive,
                         least,
                         least,
                         least_positive,
                         most,
                         most,
                         most_positive,
                         as[first + ((i - first) ^ 1U)],
                         as[first + ((i - first) ^ (size / 2))],
                         as[first + size - 1],
                         std::fabs(as[first]),
                         static_cast<double>(i - first) + (i / size % 2) * 100.0};
    for (std::size_t e = 0; e < values.size(); ++e) ys[i + e * 2 * n] = values[e];
  }
  KernelCase result;
  result.kernel = k.finish();
  result.name = result.kernel.name;
  result.grid = {2, 1, 1};
  result.buffers = {input(Element::f32, as), output(Element::f32, ys)};
  return result;
}

KernelCase long_case() {
  const uint32_t n = 16;
  KernelBuilder k("nodes_i64", {.group_size = n});
  const Memory a = k.buffer("a", Element::i64);
  Results r{k, k.output("y", Element::i64), k.local_id(), n};
  const Value x = a[r.lane];
  for (const Value& v : {x * x, x + x, x - 5, x / 3, x % 1000, min(x, k.number_of(Type::i64, 0, 12)), x << 7, x >> 9, x & 0xffffff, -x,
                         cast(Type::i64, cast(Type::i32, x)), cast(Type::i64, cast(Type::u32, x)), cast(Type::i64, x < 0)}) {
    r.add(v);
  }
  Numbers as, expected(std::size_t{n} * r.count);
  for (uint32_t i = 0; i < n; ++i) {
    const int64_t p = kEdges[i] / 300 * 7;
    as.push_back(static_cast<double>(p));
    const Words values{p * p,
                       p + p,
                       p - 5,
                       p / 3,
                       p % 1000,
                       std::min<int64_t>(p, 12),
                       p * 128,
                       p >> 9,
                       p & 0xffffff,
                       -p,
                       static_cast<int32_t>(p),
                       static_cast<uint32_t>(p),
                       p < 0};
    for (std::size_t e = 0; e < values.size(); ++e) expected[i + e * n] = static_cast<double>(values[e]);
  }
  KernelCase result;
  result.kernel = k.finish();
  result.name = result.kernel.name;
  result.buffers = {input(Element::i64, as), output(Element::i64, expected)};
  return result;
}

// The bits of an f64, and a number made of bits.
KernelCase wide_bits_case() {
  const uint32_t n = 16;
  KernelBuilder k("nodes_wide_bits", {.group_size = n});
  const Memory a = k.buffer("a", Element::f64);
  const Memory y = k.output("y", Element::f64), z = k.output("z", Element::i64);
  const Value t = k.local_id(), bits = bitcast(Type::i64, Value(a[t]));
  y[t] = bitcast(Type::f64, bits + (k.number_of(Type::i64, 0, 1) << 52));
  z[t] = bits >> 52;
  Numbers as, ys, zs;
  for (uint32_t i = 0; i < n; ++i) {
    as.push_back(std::ldexp(i % 2 == 0 ? -1.25 : 1.75, static_cast<int>(i * 100) - 800));
    ys.push_back(2 * as.back());
    zs.push_back(static_cast<double>(std::bit_cast<int64_t>(as.back()) >> 52));
  }
  KernelCase result;
  result.kernel = k.finish();
  result.name = result.kernel.name;
  result.buffers = {input(Element::f64, as), output(Element::f64, ys), output(Element::i64, zs)};
  return result;
}

}  // namespace

std::vector<KernelCase> node_cases(const DeviceCaps& caps) {
  const uint32_t subgroup = caps.max_subgroup_size > 1 ? static_cast<uint32_t>(caps.max_subgroup_size) : 16;
  std::vector<KernelCase> cases{integer_case(Type::i32),
                                integer_case(Type::u32),
                                float_case(Type::f32, Element::f32),
                                float_case(Type::f16, Element::f16),
                                sine_case(),
                                conversion_case(),
                                narrow_case(),
                                vector_case(),
                                atomic_case(),
                                subgroup_case(subgroup)};
  if (caps.int64) cases.push_back(long_case());
  if (caps.f64_arithmetic) cases.push_back(float_case(Type::f64, Element::f64));
  if (caps.f64_arithmetic && caps.int64) cases.push_back(wide_bits_case());
  return cases;
}

}  // namespace wick::ir
