#include "kernels/attention.h"

#include <fmt/format.h>

#include "base/error.h"
#include "kernels/group_options.h"
#include "kernels/group_reduce.h"
#include "kernels/math.h"

namespace wick::kernels {

using ir::Element;
using ir::Kernel;
using ir::KernelBuilder;
using ir::Memory;
using ir::Reduce;
using ir::Type;
using ir::Value;
using ir::Variable;
using ir::Vector;

namespace {

// q · the key whose words begin at `first`, eight elements at a time.
Value dot_key(KernelBuilder& k, const Memory& query, const Memory& keys, const Value& first, uint32_t head_dim) {
  Variable sum = k.variable(0.0F);
  k.loop(0, head_dim / 2, 4, [&](const Value& word) {
    const Vector eight = keys.load4(first + word);
    Value part = sum;
    for (uint32_t i = 0; i < 4; ++i) {
      const Value at = word * 2U + 2 * i;
      part = fma(query[at], unpack_half(eight[i]), part);
      part = fma(query[at + 1U], unpack_half(eight[i] >> 16), part);
    }
    sum = part;
  });
  return sum;
}

}  // namespace

Kernel attention_decode(uint32_t head_dim, const DeviceCaps& caps) {
  const ir::KernelOptions options = group_options(caps, 128);
  const uint32_t lanes = options.group_size, words = head_dim / 2;
  if (head_dim % 8 != 0 || words == 0 || lanes % words != 0) {
    fail(ErrorCode::unsupported, "attention_decode: heads of {} elements in groups of {} lanes", head_dim, lanes);
  }
  KernelBuilder k(
      fmt::format("attention_decode_{}{}", head_dim, options.subgroup_size > 0 ? fmt::format("_s{}", options.subgroup_size) : ""), options);
  const Memory q = k.buffer("q", Element::f32), keys = k.buffer("keys", Element::u32), values = k.buffer("values", Element::u32);
  const Memory out = k.output("out", Element::f32);
  const Value length = k.parameter("length", Type::u32), capacity = k.parameter("capacity", Type::u32);
  const Value heads_per_kv = k.parameter("heads_per_kv", Type::u32), scale = k.parameter("scale", Type::f32);
  const Memory query = k.shared(Element::f32, head_dim), weights = k.shared(Element::f32, lanes), parts = k.shared(Element::f32, 2 * lanes);
  GroupReduce group(k);
  const Value head = k.group_id(), t = k.local_id(), cache = head / heads_per_kv * capacity * words;
  k.loop(t, head_dim, lanes, [&](const Value& d) { query[d] = q[head * head_dim + d] * scale; });
  k.barrier();

  // Online softmax: when the maximum moves, what was summed so far is scaled (Milakov & Gimelshein 2018).
  Variable largest = k.variable(k.lowest()), sum = k.variable(0.0F), low = k.variable(0.0F), high = k.variable(0.0F);
  const uint32_t slices = lanes / words;  // lanes that share two elements of the output, each with every slices-th position
  const Value word = t % words, slice = t / words;
  k.loop(0, length, lanes, [&](const Value& first) {
    const Value position = first + t, exists = position < length;
    Variable score = k.variable(k.lowest());
    k.when(exists, [&] { score = dot_key(k, query, keys, cache + position * words, head_dim); });
    const Value new_largest = max(largest, group(Reduce::maximum, score));
    const Value weight = select(exists, exp_of_negative(score - new_largest), 0.0F), correction = exp_of_negative(largest - new_largest);
    weights[t] = weight;
    const Value added = group(Reduce::add, weight);
    sum = fma(sum, correction, added);
    largest = new_largest;
    low = low * correction;
    high = high * correction;
    k.barrier();
    k.loop(slice, min(length - first, lanes), slices, [&](const Value& i) {
      const Value two = values[cache + (first + i) * words + word];
      low = fma(weights[i], unpack_half(two), low);
      high = fma(weights[i], unpack_half(two >> 16), high);
    });
    k.barrier();
  });

  parts[t * 2U] = low;
  parts[t * 2U + 1U] = high;
  k.barrier();
  k.loop(t, head_dim, lanes, [&](const Value& d) {
    Value total = parts[d];
    for (uint32_t i = 1; i < slices; ++i) total = total + parts[d + i * head_dim];
    out[head * head_dim + d] = total / sum;
  });
  return k.finish();
}

}  // namespace wick::kernels
