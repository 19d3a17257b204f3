// The functions of a storage: each sees its operands through their layouts as tensors and calls the one op behind it.
#include <algorithm>
#include <vector>

#include "wick/base/fail.h"
#include "wick/tensor/custom_op.h"
#include "wick/tensor/ops/binary.h"
#include "wick/tensor/ops/copy.h"
#include "wick/tensor/ops/fill.h"
#include "wick/tensor/ops/unary.h"
#include "wick/tensor/storage.h"
#include "wick/tensor/tensor.h"

namespace wick {
namespace {

// The storage seen through the layout, without a copy. Errors: index_out_of_range for a layout that reaches beyond the storage.
Tensor view(const Storage& storage, const Layout& layout) {
  return Tensor(std::make_shared<const Storage>(storage.device(), storage.dtype(), storage.shared_buffer()), layout);
}

// The elements alone, in row-major order from the start of their storage.
SharedStorage row_major(const Tensor& tensor) {
  return tensor.is_contiguous() && tensor.layout().offset() == 0 ? tensor.storage() : tensor.copy().storage();
}

// Calls write(view), and tells tapes that the elements are others now.
template <class Write>
void update(const Storage& storage, const Layout& layout, Write&& write) {
  write(view(storage, layout));
  storage.bump_version();
}

// The place of the smallest or largest among the elements of several dimensions, which stay as extents of 1.
Tensor extreme_places(const Tensor& x, bool smallest, const std::vector<int>& dims) {
  std::vector<int> order;
  std::vector<int64_t> kept(x.dims().begin(), x.dims().end());
  for (int d = 0; d < x.rank(); ++d) {
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) order.push_back(d);
  }
  const auto first = static_cast<int>(order.size());
  order.insert(order.end(), dims.begin(), dims.end());
  for (const int d : dims) kept[static_cast<size_t>(d)] = 1;
  const Tensor flat = x.permute(order).flatten(first, -1);
  return (smallest ? flat.argmin(-1) : flat.argmax(-1)).reshape(Shape(std::span<const int64_t>(kept)));
}

Tensor reduced(const Tensor& x, ReduceKind kind, std::span<const int> dims) {
  const Dims named{std::vector<int>(dims.begin(), dims.end())};
  switch (kind) {
    case ReduceKind::sum: return x.sum_keepdim(named);
    case ReduceKind::mean: return x.mean_keepdim(named);
    case ReduceKind::min: return x.min_keepdim(named);
    case ReduceKind::max: return x.max_keepdim(named);
    case ReduceKind::argmin: return extreme_places(x, true, named.resolve(x.shape(), "argmin"));
    case ReduceKind::argmax: return extreme_places(x, false, named.resolve(x.shape(), "argmax"));
  }
  return x;
}

}  // namespace

SharedStorage Storage::try_clone(const Layout& layout) const { return view(*this, layout).copy().storage(); }

void Storage::const_set(double value, const Layout& layout) const {
  update(*this, layout, [&](const Tensor& x) { x.const_set(value); });
}

SharedStorage Storage::affine(const Layout& layout, double multiplier, double addend) const {
  return row_major(view(*this, layout).affine(multiplier, addend));
}

SharedStorage Storage::powf(const Layout& layout, double exponent) const { return row_major(view(*this, layout).powf(exponent)); }

SharedStorage Storage::elu(const Layout& layout, double alpha) const { return row_major(view(*this, layout).elu(alpha)); }

SharedStorage Storage::cmp(CompareKind kind, const Storage& rhs, const Layout& layout, const Layout& rhs_layout) const {
  return row_major(view(*this, layout).compare(kind, view(rhs, rhs_layout)));
}

SharedStorage Storage::reduce_op(ReduceKind kind, const Layout& layout, std::span<const int> dims) const {
  return row_major(reduced(view(*this, layout), kind, dims));
}

SharedStorage Storage::to_dtype(const Layout& layout, DType dtype) const {
  return dtype == dtype_ ? try_clone(layout) : row_major(view(*this, layout).to_dtype(dtype));
}

Tensor Storage::apply_op1(const Layout& layout, const CustomOp1& op) const { return view(*this, layout).apply_op1_no_backward(op); }

Tensor Storage::apply_op2(const Layout& layout, const Storage& second, const Layout& second_layout, const CustomOp2& op) const {
  return view(*this, layout).apply_op2_no_backward(view(second, second_layout), op);
}

Tensor Storage::apply_op3(const Layout& layout, const Storage& second, const Layout& second_layout, const Storage& third,
                          const Layout& third_layout, const CustomOp3& op) const {
  return view(*this, layout).apply_op3_no_backward(view(second, second_layout), view(third, third_layout), op);
}

void Storage::inplace_op1(const Layout& layout, const InplaceOp1& op) const {
  update(*this, layout, [&](const Tensor& x) { x.inplace_op1(op); });
}

void Storage::inplace_op2(const Layout& layout, const Storage& second, const Layout& second_layout, const InplaceOp2& op) const {
  update(*this, layout, [&](const Tensor& x) { x.inplace_op2(view(second, second_layout), op); });
}

void Storage::inplace_op3(const Layout& layout, const Storage& second, const Layout& second_layout, const Storage& third,
                          const Layout& third_layout, const InplaceOp3& op) const {
  update(*this, layout, [&](const Tensor& x) { x.inplace_op3(view(second, second_layout), view(third, third_layout), op); });
}

SharedStorage Storage::unary_impl(const UnaryParams& params, const Layout& layout) const {
  return row_major(unary(params, view(*this, layout)));
}

SharedStorage Storage::binary_impl(BinaryKind kind, const Storage& rhs, const Layout& layout, const Layout& rhs_layout) const {
  return row_major(binary(kind, view(*this, layout), view(rhs, rhs_layout)));
}

SharedStorage Storage::conv1d(const Layout& layout, const Storage& kernel, const Layout& kernel_layout, const ConvParams& params) const {
  return row_major(
      view(*this, layout).conv1d(view(kernel, kernel_layout), params.padding[1], params.stride[1], params.dilation[1], params.groups));
}

SharedStorage Storage::conv_transpose1d(const Layout& layout, const Storage& kernel, const Layout& kernel_layout,
                                        const ConvParams& params) const {
  return row_major(view(*this, layout)
                       .conv_transpose1d(view(kernel, kernel_layout), params.padding[1], params.output_padding[1], params.stride[1],
                                         params.dilation[1], params.groups));
}

SharedStorage Storage::conv2d(const Layout& layout, const Storage& kernel, const Layout& kernel_layout, const ConvParams& params) const {
  return row_major(view(*this, layout).conv2d(view(kernel, kernel_layout), params));
}

SharedStorage Storage::conv_transpose2d(const Layout& layout, const Storage& kernel, const Layout& kernel_layout,
                                        const ConvParams& params) const {
  return row_major(view(*this, layout).conv_transpose2d(view(kernel, kernel_layout), params));
}

SharedStorage Storage::avg_pool2d(const Layout& layout, std::array<int64_t, 2> kernel, std::array<int64_t, 2> stride) const {
  return row_major(view(*this, layout).avg_pool2d(kernel, stride));
}

SharedStorage Storage::max_pool2d(const Layout& layout, std::array<int64_t, 2> kernel, std::array<int64_t, 2> stride) const {
  return row_major(view(*this, layout).max_pool2d(kernel, stride));
}

SharedStorage Storage::upsample_nearest1d(const Layout& layout, int64_t length) const {
  return row_major(view(*this, layout).upsample_nearest1d(length));
}

SharedStorage Storage::upsample_nearest2d(const Layout& layout, int64_t height, int64_t width) const {
  return row_major(view(*this, layout).upsample_nearest2d(height, width));
}

SharedStorage Storage::upsample_bilinear2d(const Layout& layout, int64_t height, int64_t width, bool align_corners,
                                           std::optional<double> scale_height, std::optional<double> scale_width) const {
  const Tensor x = view(*this, layout);
  if (!scale_height && !scale_width) return row_major(x.upsample_bilinear2d(height, width, align_corners));
  if (!scale_height || !scale_width) fail(ErrorCode::invalid_argument, "upsample_bilinear2d: one scale without the other");
  const Tensor result = x.upsample_bilinear2d_with_scale(*scale_height, *scale_width, align_corners);
  if (result.dim(2) != height || result.dim(3) != width) {
    fail(ErrorCode::shape_mismatch, "upsample_bilinear2d: scales {} and {} make {}, not [{}, {}]", *scale_height, *scale_width,
         result.describe(), height, width);
  }
  return row_major(result);
}

SharedStorage Storage::where_cond(const Layout& layout, const Storage& on_true, const Layout& true_layout, const Storage& on_false,
                                  const Layout& false_layout) const {
  return row_major(view(*this, layout).where_cond(view(on_true, true_layout), view(on_false, false_layout)));
}

SharedStorage Storage::gather(const Layout& layout, const Storage& ids, const Layout& ids_layout, int dim) const {
  return row_major(view(*this, layout).gather(view(ids, ids_layout), dim));
}

void Storage::scatter_set(const Layout& layout, const Storage& ids, const Layout& ids_layout, const Storage& source,
                          const Layout& source_layout, int dim) const {
  update(*this, layout, [&](const Tensor& x) { x.scatter_set(view(ids, ids_layout), view(source, source_layout), dim); });
}

void Storage::scatter_add(const Layout& layout, const Storage& ids, const Layout& ids_layout, const Storage& source,
                          const Layout& source_layout, int dim) const {
  update(*this, layout, [&](const Tensor& x) { x.scatter_add_set(view(ids, ids_layout), view(source, source_layout), dim); });
}

SharedStorage Storage::index_add(const Layout& layout, const Storage& ids, const Layout& ids_layout, const Storage& source,
                                 const Layout& source_layout, int dim) const {
  return row_major(view(*this, layout).index_add(view(ids, ids_layout), view(source, source_layout), dim));
}

SharedStorage Storage::index_select(const Storage& ids, const Layout& layout, const Layout& ids_layout, int dim) const {
  return row_major(view(*this, layout).index_select(view(ids, ids_layout), dim));
}

SharedStorage Storage::matmul(const Storage& rhs, const Layout& layout, const Layout& rhs_layout) const {
  return row_major(view(*this, layout).matmul(view(rhs, rhs_layout)));
}

void Storage::copy_strided_src(const Storage& target, int64_t target_offset, const Layout& layout) const {
  update(target, Layout(layout.shape(), target_offset), [&](const Tensor& to) { copy(view(*this, layout), to); });
}

void Storage::copy2d(const Storage& target, int64_t rows, int64_t columns, int64_t source_stride, int64_t target_stride,
                     int64_t source_offset, int64_t target_offset) const {
  const Shape shape{rows, columns};
  const std::array<int64_t, 2> from = {source_stride, 1};
  const std::array<int64_t, 2> to = {target_stride, 1};
  update(target, Layout(shape, to, target_offset), [&](const Tensor& out) { copy(view(*this, Layout(shape, from, source_offset)), out); });
}

}  // namespace wick
