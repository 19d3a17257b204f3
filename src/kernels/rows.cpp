#include "kernels/rows.h"

#include <fmt/format.h>

#include <functional>

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

namespace {

std::string name_of(std::string_view what, Element element, const ir::KernelOptions& options) {
  return fmt::format("{}_{}{}", what, to_string(element), subgroup_suffix(options));
}

// The row of this group: every lane takes each group_size-th column.
struct Row {
  KernelBuilder& k;
  Value columns, first;

  explicit Row(KernelBuilder& builder)
      : k(builder), columns(k.parameter("columns", Type::u32)), first((k.group_id(1) * k.group_count(0) + k.group_id(0)) * columns) {}

  // Calls f with the index of each element of this lane.
  void each(const std::function<void(const Value&)>& f) const {
    k.loop(k.local_id(), columns, k.kernel().group_size, [&](const Value& c) { f(first + c); });
  }
  // Σ f(index), or the greatest or least, of the whole row, in every lane.
  Value reduce(GroupReduce& group, Reduce op, const Value& initial, const std::function<Value(const Value&)>& f) const {
    Variable sum = k.variable(initial);
    each([&](const Value& i) { sum = combine(op, sum, f(i)); });
    return group(op, sum);
  }
};

Value as_f32(const Value& v) { return cast(Type::f32, v); }

}  // namespace

Kernel reduce_rows(Reduce reduce, Element in, const DeviceCaps& caps) {
  const ir::KernelOptions options = group_options(caps, 256);
  const char* what = reduce == Reduce::add ? "sum_rows" : reduce == Reduce::minimum ? "min_rows" : "max_rows";
  KernelBuilder k(name_of(what, in, options), options);
  const Memory x = k.buffer("x", in), y = k.output("y", Element::f32);
  const Row row(k);
  GroupReduce group(k);
  const Value initial = reduce == Reduce::add ? k.constant(0.0F) : reduce == Reduce::maximum ? k.lowest() : k.constant(0x1.fffffep+127F);
  const Value result = row.reduce(group, reduce, initial, [&](const Value& i) { return as_f32(x[i]); });
  k.when(k.local_id() == 0, [&] { y[k.group_id(1) * k.group_count(0) + k.group_id(0)] = result; });
  return k.finish();
}

Kernel softmax(Element element, const DeviceCaps& caps) {
  const ir::KernelOptions options = group_options(caps, 256);
  KernelBuilder k(name_of("softmax", element, options), options);
  const Memory x = k.buffer("x", element), y = k.output("y", element);
  const Row row(k);
  GroupReduce group(k);
  const Value largest = row.reduce(group, Reduce::maximum, k.lowest(), [&](const Value& i) { return as_f32(x[i]); });
  const auto weight = [&](const Value& i) { return exp_of_negative(as_f32(x[i]) - largest); };
  const Value sum = row.reduce(group, Reduce::add, k.constant(0.0F), weight);
  row.each([&](const Value& i) { y[i] = cast(register_type(element), weight(i) / sum); });
  return k.finish();
}

Kernel rms_norm(Element element, const DeviceCaps& caps) {
  const ir::KernelOptions options = group_options(caps, 256);
  KernelBuilder k(name_of("rms_norm", element, options), options);
  const Memory x = k.buffer("x", element), weight = k.buffer("weight", element), y = k.output("y", element);
  const Row row(k);
  const Value epsilon = k.parameter("epsilon", Type::f32);
  GroupReduce group(k);
  const Value squares = row.reduce(group, Reduce::add, k.constant(0.0F), [&](const Value& i) { return as_f32(x[i]) * as_f32(x[i]); });
  const Value scale = 1.0F / sqrt(squares / as_f32(row.columns) + epsilon);
  row.each([&](const Value& i) { y[i] = cast(register_type(element), as_f32(x[i]) * scale * as_f32(weight[i - row.first])); });
  return k.finish();
}

}  // namespace wick::kernels
