#include "wick/kernels/row_walk.h"

#include "wick/kernels/group_options.h"
#include "wick/kernels/strided.h"

namespace wick::kernels {

using namespace ir;

ir::KernelOptions row_options(RowLanes lanes, const DeviceCaps& caps) {
  ir::KernelOptions options = group_options(caps, lanes == RowLanes::widest ? 1024 : 256);
  if (lanes == RowLanes::one) options.subgroup_size = 0;
  return options;
}

std::string row_suffix(RowLanes lanes, const ir::KernelOptions& options) {
  return lanes == RowLanes::one ? "_l" : (lanes == RowLanes::widest ? "_wide" : "") + subgroup_suffix(options);
}

RowWalk::RowWalk(ir::KernelBuilder& k, RowLanes lanes)
    : k_(k),
      lanes_(lanes),
      rows_(k.parameter("rows", Type::u32)),
      columns_(k.parameter("columns", Type::u32)),
      offset_(k.parameter("offset", Type::u32)),
      extent_(k.parameter("extent", Type::u32)),
      outer_stride_(k.parameter("outer_stride", Type::u32)),
      inner_stride_(k.parameter("inner_stride", Type::u32)),
      step_(k.parameter("step", Type::u32)),
      parts_(k.parameter("parts", Type::u32)),
      part_(k.parameter("part", Type::u32)),
      number_(lanes == RowLanes::one ? global_lane(k) : k.group_id(1) * k.group_count(0) + k.group_id(0)) {
  const Value row = number_ / parts_;
  begin_ = number_ % parts_ * part_;
  end_ = min(begin_ + part_, columns_);
  first_ = offset_ + row / extent_ * outer_stride_ + row % extent_ * inner_stride_;
}

void RowWalk::run(const std::function<void()>& body) { k_.when(number_ < rows_ * parts_, body); }

void RowWalk::each(const std::function<void(const Value&)>& f) const {
  if (lanes_ == RowLanes::one) return k_.loop(begin_, end_, 1, f);
  k_.loop(begin_ + k_.local_id(), end_, k_.kernel().group_size, f);
}

Value RowWalk::together(GroupReduce& group, Reduce op, const Value& value) const {
  return lanes_ == RowLanes::one ? value : group(op, value);
}

Value RowWalk::reduce(GroupReduce& group, Reduce op, const Value& initial, const std::function<Value(const Value&)>& f) const {
  Variable sum = k_.variable(initial);
  each([&](const Value& column) {
    const Value next = f(column);  // which may write; the sum is read behind that
    sum = combine(op, sum, next);
  });
  return together(group, op, sum);
}

void RowWalk::once(const std::function<void()>& body) const {
  if (lanes_ == RowLanes::one) return body();
  k_.when(k_.local_id() == 0, body);
}

}  // namespace wick::kernels
