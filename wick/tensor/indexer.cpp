#include "wick/tensor/indexer.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/copy.h"
#include "wick/tensor/ops/index_ids.h"
#include "wick/tensor/tape.h"

namespace wick {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

bool is_ellipsis(const Index& argument) { return std::holds_alternative<Ellipsis>(argument.value()); }
bool is_new_axis(const Index& argument) { return std::holds_alternative<NewAxis>(argument.value()); }

// Applies arguments one after another; `dim_` is the dimension that the next one speaks of.
class Indexer {
 public:
  Indexer(const Tensor& source, std::string_view op, size_t arguments) : source_(source), result_(source), op_(op), arguments_(arguments) {}

  [[nodiscard]] const Tensor& result() const noexcept { return result_; }

  void apply(const Index& argument) {
    ++argument_;
    std::visit(Overloaded{[&](int64_t place) { at(place); }, [&](const Range& range) { narrow(range); },
                          [&](Ellipsis) { dim_ += source_.rank() + new_axes_ - static_cast<int>(arguments_) + 1; },
                          [&](NewAxis) { result_ = result_.unsqueeze(dim_++); }, [&](const Tensor& ids) { select(ids); }},
               argument.value());
  }

  void check_count(std::span<const Index> list) {
    const auto ellipses = std::count_if(list.begin(), list.end(), is_ellipsis);
    new_axes_ = static_cast<int>(std::count_if(list.begin(), list.end(), is_new_axis));
    if (ellipses > 1) fail(ErrorCode::invalid_argument, "{}: {} arguments are an ellipsis; one is enough", op_, ellipses);
    const auto named = static_cast<int>(list.size()) - static_cast<int>(ellipses) - new_axes_;
    if (named > source_.rank()) {
      fail(ErrorCode::invalid_argument, "{}: {} arguments for {}, which has {} dimensions", op_, named, source_.describe(), source_.rank());
    }
  }

 private:
  [[nodiscard]] int64_t extent() const { return result_.shape()[dim_]; }
  [[nodiscard]] std::string argument_name() const { return fmt::format("{}: argument {} of {}", op_, argument_, source_.describe()); }

  // A place counted from 0. `last` is the largest one allowed: a range may end behind the dimension.
  [[nodiscard]] int64_t resolve(int64_t place, int64_t last) const {
    const int64_t resolved = place < 0 ? place + extent() : place;
    if (resolved < 0 || resolved > last) {
      fail(ErrorCode::index_out_of_range, "{}: index {} is out of range for a dimension of {} elements; {}", argument_name(), place,
           extent(), last < 0 ? "none is allowed" : fmt::format("allowed: {} to {}", -extent(), last));
    }
    return resolved;
  }

  void at(int64_t place) {
    const int64_t resolved = resolve(place, extent() - 1);
    result_ = result_.narrow(dim_, resolved, 1).squeeze(dim_);
  }

  void narrow(const Range& range) {
    const int64_t start = resolve(range.start.value_or(0), extent());
    // A range that ends before it starts is empty, as in Python and in candle.
    const int64_t end = std::max(start, range.end ? resolve(*range.end, extent()) : extent());
    if (range.step < 1) {
      fail(ErrorCode::invalid_argument, "{}: a step of {}; allowed: 1 or more", argument_name(), range.step);
    }
    if (range.step > 1) {
      const int64_t whole = (end - start) / range.step;
      result_ = result_.stride_slice(dim_, start, whole + ((end - start) % range.step == 0 ? 0 : 1), range.step);
    } else if (end - start < extent()) {
      result_ = result_.narrow(dim_, start, end - start);
    }
    ++dim_;
  }

  void select(const Tensor& ids) {
    if (ids.rank() != 1) fail(ErrorCode::invalid_argument, "{}: ids {} must be a vector", argument_name(), ids.describe());
    check_id_dtype(argument_name(), ids);
    result_ = on_behalf_of(argument_name(), [&] { return result_.index_select(ids, dim_); });
    ++dim_;
  }

  const Tensor& source_;
  Tensor result_;
  std::string_view op_;
  size_t arguments_;
  size_t argument_ = 0;
  int new_axes_ = 0;
  int dim_ = 0;
};

Tensor indexed(const Tensor& source, std::string_view op, std::span<const Index> arguments) {
  check_assigned(op, source);
  Indexer indexer(source, op, arguments.size());
  indexer.check_count(arguments);
  for (const Index& argument : arguments) indexer.apply(argument);
  return indexer.result();
}

}  // namespace

Tensor Tensor::index(std::span<const Index> arguments) const { return indexed(*this, "i", arguments); }

Tensor Tensor::slice_assign(std::initializer_list<Index> arguments, const Tensor& source) const {
  check_assigned("slice_assign", {{"the tensor", *this}, {"source", source}});
  return slice_assign(std::span(arguments.begin(), arguments.size()), source);
}

Tensor Tensor::slice_assign(std::span<const Index> arguments, const Tensor& source) const {
  check_assigned("slice_assign", {{"the tensor", *this}, {"source", source}});
  for (size_t at = 0; at < arguments.size(); ++at) {
    if (!std::holds_alternative<Tensor>(arguments[at].value()) && !is_new_axis(arguments[at])) continue;
    fail(ErrorCode::invalid_argument, "slice_assign: argument {} for {} must be a place, a range or an ellipsis", at + 1, describe());
  }
  if (source.dtype() != dtype()) {
    fail(ErrorCode::dtype_mismatch, "slice_assign: source {} and {} differ in dtype; convert one", source.describe(), describe());
  }
  Tensor result = detach().copy();
  const Tensor part = indexed(result, "slice_assign", arguments);
  const Tensor spread = on_behalf_of("slice_assign", [&] { return source.broadcast_to(part.shape()); });
  wick::copy(spread.detach(), part);
  const auto gradient = [list = std::vector<Index>(arguments.begin(), arguments.end())](GradientContext& context) {
    const Tensor& g = context.gradient();
    if (context.wants(0)) context.give(0, g.slice_assign(list, zeros({}, g.dtype(), g.device())));
    if (context.wants(1)) context.give(1, g.index(list));
  };
  const Tensor* const inputs[] = {this, &spread};
  record("slice_assign", gradient, inputs, result);
  return result;
}

}  // namespace wick
