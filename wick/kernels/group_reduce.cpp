#include "wick/kernels/group_reduce.h"

namespace wick::kernels {

using namespace ir;

namespace {

ir::Element scratch_element_of(ir::Type type) {
  switch (type) {
    case ir::Type::i32: return ir::Element::i32;
    case ir::Type::i64: return ir::Element::i64;
    case ir::Type::f32: return ir::Element::f32;
    case ir::Type::f64: return ir::Element::f64;
    default: return ir::Element::u32;
  }
}

}  // namespace

Value combine(Reduce reduce, const Value& a, const Value& b) {
  switch (reduce) {
    case Reduce::add: return a + b;
    case Reduce::minimum: return min(a, b);
    case Reduce::maximum: return max(a, b);
  }
  return a;
}

Value GroupReduce::operator()(Reduce reduce, const Value& value) {
  const uint32_t group = builder_.kernel().group_size, subgroup = builder_.kernel().subgroup_size;
  if (!by_subgroups()) return tree(reduce, value);
  const Value part = subgroup_reduce(reduce, value);
  if (subgroup == group) return part;
  // Every lane adds up the parts, which lie in one or two rows of banks: cheaper than a second exchange.
  const uint32_t parts = group / subgroup;
  if (!scratch_) scratch_ = builder_.shared(scratch_element_of(type_), parts);
  builder_.barrier();
  builder_.when(builder_.subgroup_lane() == 0, [&] { (*scratch_)[builder_.subgroup_id()] = part; });
  builder_.barrier();
  Value sum = (*scratch_)[0];
  for (uint32_t i = 1; i < parts; ++i) sum = combine(reduce, sum, (*scratch_)[i]);
  return sum;
}

std::vector<Value> GroupReduce::operator()(Reduce reduce, std::span<const Value> values) {
  const uint32_t group = builder_.kernel().group_size, subgroup = builder_.kernel().subgroup_size;
  std::vector<Value> results;
  if (!by_subgroups() || subgroup == group) {
    for (const Value& value : values) results.push_back((*this)(reduce, value));
    return results;
  }
  const uint32_t parts = group / subgroup, count = static_cast<uint32_t>(values.size());
  for (const Value& value : values) results.push_back(subgroup_reduce(reduce, value));
  if (!scratch_of_several_) scratch_of_several_ = builder_.shared(scratch_element_of(type_), parts * count);
  const Memory& scratch = *scratch_of_several_;
  builder_.barrier();
  builder_.when(builder_.subgroup_lane() == 0, [&] {
    for (uint32_t i = 0; i < count; ++i) scratch[builder_.subgroup_id() + i * parts] = results[i];
  });
  builder_.barrier();
  for (uint32_t i = 0; i < count; ++i) {
    results[i] = scratch[i * parts];
    for (uint32_t part = 1; part < parts; ++part) results[i] = combine(reduce, results[i], scratch[i * parts + part]);
  }
  return results;
}

bool GroupReduce::by_subgroups() const { return builder_.kernel().subgroup_size >= 2 && info(type_).bytes != 8; }

Value GroupReduce::tree(Reduce reduce, const Value& value) {
  const uint32_t group = builder_.kernel().group_size;
  if (group == 1) return value;
  if (!scratch_) scratch_ = builder_.shared(scratch_element_of(type_), group);
  const Memory scratch = *scratch_;
  const Value t = builder_.local_id();
  builder_.barrier();
  scratch[t] = value;
  for (uint32_t count = group; count > 1;) {
    const uint32_t half = (count + 1) / 2;
    builder_.barrier();
    builder_.when(t < count - half, [&] { scratch[t] = combine(reduce, scratch[t], scratch[t + half]); });
    count = half;
  }
  builder_.barrier();
  return scratch[0];
}

}  // namespace wick::kernels
