// A Tensor is an n-dimensional array on one device: a storage seen through a layout. Copies of a Tensor share their elements.
//
// Wherever a dimension is asked for, a negative one counts from the end: -1 is the last. Operands of elementwise functions broadcast by
// NumPy's rule (align at the last dimension; extents of 1 stretch) and must have one dtype. Functions take any strides, offsets, extents
// of 0 and ranks 0 to 8 without copying their operands, but where a comment says so; results are new and row-major. Operands on different
// devices: device_mismatch. A dtype that a function does not take: unsupported, naming it. Where an operand is tracked, so is the
// result (variable.h).
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wick/base/checked.h"
#include "wick/base/half.h"
#include "wick/device/device.h"
#include "wick/layout/layout.h"
#include "wick/tensor/defaults.h"
#include "wick/tensor/dtype_of.h"
#include "wick/tensor/nested.h"
#include "wick/tensor/storage.h"

namespace [[gnu::visibility("default")]] wick {

class Index;
class Tensor;
class CustomOp1;
class CustomOp2;
class CustomOp3;
class InplaceOp1;
class InplaceOp2;
class InplaceOp3;
class TapeNode;

// The bytes of a row-major tensor. Errors: shape_mismatch where blocks of a quantized dtype do not fill the last dimension; out_of_memory
// for more than 2^63 - 1.
[[nodiscard]] int64_t storage_bytes_of(const Shape& shape, DType dtype);

// The extent that `op` makes of a dimension of `x`. Errors: shape_mismatch if it is more than 2^63 - 1.
[[nodiscard]] int64_t checked_extent(std::string_view op, const Tensor& x, Checked extent);

// One or several dimensions: 0, -1, {0, 2}.
class Dims {
 public:
  Dims(int dim) : dims_{dim} {}                           // NOLINT: a number is a list of one
  Dims(std::initializer_list<int> dims) : dims_(dims) {}  // NOLINT
  explicit Dims(std::vector<int> dims) : dims_(std::move(dims)) {}
  // Each counted from 0, in ascending order. Errors: index_out_of_range; invalid_argument for one that is named twice.
  [[nodiscard]] std::vector<int> resolve(const Shape& shape, std::string_view op) const;

 private:
  std::vector<int> dims_;
};

class Tensor {
 public:
  // Errors: invalid_argument without a storage; index_out_of_range for a layout that reaches beyond it.
  Tensor(std::shared_ptr<const Storage> storage, const Layout& layout, std::shared_ptr<const TapeNode> node = nullptr);

  // No tensor yet: every use but assignment throws invalid_argument.
  Tensor() = default;
  [[nodiscard]] bool defined() const noexcept { return storage_ != nullptr; }

  // --- Creation ---
  // Without a dtype it is f32, without a device the CPU, unless a DefaultsScope says otherwise (defaults.h).

  // Uninitialised (builds with assertions fill host memory with 0xff, a NaN). Quantized: the last extent is a multiple of the block length.
  // Errors: out_of_memory; shape_mismatch.
  [[nodiscard]] static Tensor empty(const Extents& shape, DType dtype = default_dtype(), const Device& device = default_device(),
                                    Lifetime lifetime = Lifetime::transient);
  [[nodiscard]] static Tensor zeros(const Extents& shape, DType dtype = default_dtype(), const Device& device = default_device());
  [[nodiscard]] static Tensor ones(const Extents& shape, DType dtype = default_dtype(), const Device& device = default_device());
  [[nodiscard]] static Tensor full(const Extents& shape, double value, DType dtype = default_dtype(),
                                   const Device& device = default_device());
  [[nodiscard]] Tensor empty_like() const { return empty(assigned("empty_like").shape(), dtype(), device()); }
  [[nodiscard]] Tensor zeros_like() const { return zeros(assigned("zeros_like").shape(), dtype(), device()); }
  [[nodiscard]] Tensor ones_like() const { return ones(assigned("ones_like").shape(), dtype(), device()); }
  // Nested braces: Tensor::of<float>({{1, 2}, {3, 4}}, device) has shape [2, 2]. Errors: shape_mismatch for ragged rows.
  template <class T>
  [[nodiscard]] static Tensor of(const Nested<T>& values, const Device& device = default_device()) {
    return from_vector(values.flatten(), values.shape(), device);
  }
  // Copies values.size() elements, which must be the shape's.
  template <class T>
  [[nodiscard]] static Tensor from_span(std::span<const T> values, const Extents& shape, const Device& device = default_device()) {
    const Shape checked = shape.checked("from_span");
    check_elements("from_span", values.size(), checked);
    return from_bytes(std::as_bytes(values), checked, DTypeOf<T>::value, device);
  }
  template <class T>
  [[nodiscard]] static Tensor from_vector(const std::vector<T>& values, const Extents& shape, const Device& device = default_device()) {
    const Shape checked = shape.checked("from_vector");
    check_elements("from_vector", values.size(), checked);
    return from_span(std::span<const T>(values), checked, device);
  }
  // Takes the vector itself, without a copy, where the device works in host memory.
  template <class T>
  [[nodiscard]] static Tensor from_owned(std::vector<T> values, const Extents& shape, const Device& device = default_device()) {
    const Shape checked = shape.checked("from_owned");
    check_elements("from_owned", values.size(), checked);
    const auto owner = std::make_shared<const std::vector<T>>(std::move(values));
    return import_host(std::as_bytes(std::span<const T>(*owner)), checked, DTypeOf<T>::value, device, owner);
  }
  // Row-major bytes of that dtype. Errors: shape_mismatch if their number is not the shape's.
  [[nodiscard]] static Tensor from_bytes(std::span<const std::byte> bytes, const Extents& shape, DType dtype,
                                         const Device& device = default_device());
  // The same memory where the device works in host memory and the bytes are aligned for the dtype, else a copy; `owner` keeps the bytes
  // alive. Nothing may write to it.
  [[nodiscard]] static Tensor import_host(std::span<const std::byte> bytes, const Extents& shape, DType dtype, const Device& device,
                                          std::shared_ptr<const void> owner);
  [[nodiscard]] static Tensor import_host(std::span<const std::byte> bytes, const Extents& shape, DType dtype,
                                          std::shared_ptr<const void> owner) {
    return import_host(bytes, shape, dtype, default_device(), std::move(owner));
  }
  // start, start + step, … below end (above it for a negative step), each computed as start + i · step in f64.
  // Errors: invalid_argument for a step of 0.
  [[nodiscard]] static Tensor arange(double start, double end, double step, DType dtype = default_dtype(),
                                     const Device& device = default_device());
  [[nodiscard]] static Tensor arange(double start, double end, DType dtype = default_dtype(), const Device& device = default_device()) {
    return arange(start, end, 1, dtype, device);
  }
  [[nodiscard]] static Tensor eye(int64_t n, DType dtype = default_dtype(), const Device& device = default_device());
  // n × n with ones on and below (above) the diagonal.
  [[nodiscard]] static Tensor tril2(int64_t n, DType dtype = default_dtype(), const Device& device = default_device());
  [[nodiscard]] static Tensor triu2(int64_t n, DType dtype = default_dtype(), const Device& device = default_device());
  // For vectors of lengths n0, n1, …: one view [n0, n1, n2, …] each ([n1, n0, n2, …] with xy_indexing, as NumPy's 'xy').
  // Errors: shape_mismatch for one that is no vector; invalid_argument where none is given.
  [[nodiscard]] static std::vector<Tensor> meshgrid(std::span<const Tensor> tensors, bool xy_indexing);
  // Uniform in [low, high), and normal, from the device's stream (manual_seed, Device::set_seed; op/philox.h defines the numbers).
  [[nodiscard]] static Tensor rand(double low, double high, const Extents& shape, DType dtype = default_dtype(),
                                   const Device& device = default_device());
  [[nodiscard]] static Tensor rand(const Extents& shape, DType dtype = default_dtype(), const Device& device = default_device()) {
    return rand(0, 1, shape, dtype, device);
  }
  [[nodiscard]] static Tensor randn(double mean, double deviation, const Extents& shape, DType dtype = default_dtype(),
                                    const Device& device = default_device());
  [[nodiscard]] static Tensor randn(const Extents& shape, DType dtype = default_dtype(), const Device& device = default_device()) {
    return randn(0, 1, shape, dtype, device);
  }
  [[nodiscard]] Tensor rand_like(double low, double high) const {
    return rand(low, high, assigned("rand_like").shape(), dtype(), device());
  }
  [[nodiscard]] Tensor randn_like(double mean, double deviation) const {
    return randn(mean, deviation, assigned("randn_like").shape(), dtype(), device());
  }
  // One after another along `dim`; all other extents and the dtypes must be equal.
  [[nodiscard]] static Tensor cat(std::span<const Tensor> tensors, int dim);
  [[nodiscard]] static Tensor cat(std::initializer_list<Tensor> tensors, int dim) {
    return cat(std::span(tensors.begin(), tensors.size()), dim);
  }
  // Along a new dimension.
  [[nodiscard]] static Tensor stack(std::span<const Tensor> tensors, int dim);
  [[nodiscard]] static Tensor stack(std::initializer_list<Tensor> tensors, int dim) {
    return stack(std::span(tensors.begin(), tensors.size()), dim);
  }

  // --- What it is ---

  // A tensor that was moved from has no elements: invalid_argument from whatever needs them, until another is assigned to it.
  [[nodiscard]] DType dtype() const { return assigned("dtype").storage_->dtype(); }
  [[nodiscard]] const Device& device() const { return assigned("device").storage_->device(); }
  [[nodiscard]] const Shape& shape() const { return assigned("shape").layout_.shape(); }
  [[nodiscard]] std::span<const int64_t> dims() const { return shape().dims(); }
  [[nodiscard]] const Layout& layout() const { return assigned("layout").layout_; }
  [[nodiscard]] int rank() const { return assigned("rank").layout_.rank(); }
  [[nodiscard]] int64_t dim(int index) const;
  // The extents of a tensor of that rank: auto [rows, columns] = t.dims2(). Errors: shape_mismatch.
  [[nodiscard]] int64_t dims1() const { return extents<1>()[0]; }
  [[nodiscard]] std::array<int64_t, 2> dims2() const { return extents<2>(); }
  [[nodiscard]] std::array<int64_t, 3> dims3() const { return extents<3>(); }
  [[nodiscard]] std::array<int64_t, 4> dims4() const { return extents<4>(); }
  [[nodiscard]] std::array<int64_t, 5> dims5() const { return extents<5>(); }
  [[nodiscard]] int64_t elements() const { return assigned("elements").layout_.elements(); }
  // The dimension counted from 0. Errors: index_out_of_range.
  [[nodiscard]] int normalize_axis(int dim) const;
  [[nodiscard]] bool is_contiguous() const { return assigned("is_contiguous").layout_.is_contiguous(); }
  // Column-major without gaps.
  [[nodiscard]] bool is_fortran_contiguous() const;
  [[nodiscard]] const std::shared_ptr<const Storage>& storage() const { return assigned("storage").storage_; }
  // The error of an operand that was never assigned, or was moved from: invalid_argument, naming the function that was called.
  [[noreturn]] static void fail_empty(std::string_view function, std::string_view operand);
  // "Tensor[[2, 3], f32, cuda:0]"; the device is left out for the CPU.
  [[nodiscard]] std::string describe() const;

  // --- The tape (variable.h) ---

  [[nodiscard]] bool is_tracked() const noexcept { return node_ != nullptr; }
  [[nodiscard]] const std::shared_ptr<const TapeNode>& node() const noexcept { return node_; }
  // The same elements, not tracked.
  [[nodiscard]] Tensor detach() const { return {assigned("detach").storage_, layout_}; }

  // --- Views: no element moves ---
  // A quantized tensor's rows must stay whole: its last dimension cannot be narrowed, moved, repeated or flipped (unsupported).

  [[nodiscard]] Tensor narrow(int dim, int64_t start, int64_t length) const;
  [[nodiscard]] Tensor transpose(int dim0, int dim1) const;
  // The last two dimensions swapped.
  [[nodiscard]] Tensor t() const { return transpose(-2, -1); }
  [[nodiscard]] Tensor permute(std::span<const int> order) const;
  [[nodiscard]] Tensor permute(std::initializer_list<int> order) const { return permute(std::span(order.begin(), order.size())); }
  [[nodiscard]] Tensor broadcast_to(const Extents& shape) const;
  [[nodiscard]] Tensor broadcast_as(const Extents& shape) const { return broadcast_to(shape); }
  [[nodiscard]] Tensor expand(const Extents& shape) const { return broadcast_to(shape); }
  // New dimensions in front of the tensor's own.
  [[nodiscard]] Tensor broadcast_left(const Extents& left) const;
  // Without that dimension; unchanged if its extent is not 1.
  [[nodiscard]] Tensor squeeze(int dim) const;
  [[nodiscard]] Tensor unsqueeze(int dim) const;
  [[nodiscard]] Tensor flip(const Dims& dims) const;
  // Every `step`-th element of a dimension, from `start` on, `length` in all.
  [[nodiscard]] Tensor stride_slice(int dim, int64_t start, int64_t length, int64_t step) const;
  // Windows of `size` elements every `step` along dim: that extent becomes their number, the last dimension the place in a window.
  [[nodiscard]] Tensor unfold(int dim, int64_t size, int64_t step) const;
  // That many parts along dim (fewer where there are fewer slices), the first ones one slice longer where they cannot be equal.
  [[nodiscard]] std::vector<Tensor> chunk(int64_t chunks, int dim) const;
  // Parts of `size` along dim, the last one shorter where it must be; one empty part of an empty dimension.
  [[nodiscard]] std::vector<Tensor> split(int64_t size, int dim) const;
  // The index-th slice of the first dimension, or of `dim`, without that dimension.
  [[nodiscard]] Tensor get(int64_t index) const;
  [[nodiscard]] Tensor get_on_dim(int dim, int64_t index) const;
  // Parts by one argument for each dimension, as in NumPy: x.i(0, range(1, 3), ellipsis, ids). indexer.h lists what arguments may be.
  // Views, but where an argument is a tensor of ids. Errors: index_out_of_range, invalid_argument, naming the argument and the extent.
  template <class... Arguments>
  [[nodiscard]] Tensor i(const Arguments&... arguments) const;
  [[nodiscard]] Tensor index(std::span<const Index> arguments) const;
  // Diagonal `offset` (0 is the main one, 1 the one above, -1 the one below) of the matrices in two dimensions, which are left out; the
  // place on the diagonal becomes the last dimension.
  [[nodiscard]] Tensor diagonal(int offset = 0, int row_dim = -2, int column_dim = -1) const;
  // A view where the strides allow it, a copy elsewhere. One extent may be -1: what is left. Blocks of a quantized tensor must stay
  // whole.
  [[nodiscard]] Tensor reshape(const Shape& shape) const;
  [[nodiscard]] Tensor reshape(std::initializer_list<int64_t> dims) const;
  [[nodiscard]] Tensor flatten(int first, int last) const;
  [[nodiscard]] Tensor flatten_from(int first) const { return flatten(first, -1); }
  [[nodiscard]] Tensor flatten_to(int last) const { return flatten(0, last); }
  [[nodiscard]] Tensor flatten_all() const { return reshape({elements()}); }

  // --- Copies ---

  // Itself if it is row-major already, a copy elsewhere.
  [[nodiscard]] Tensor contiguous() const;
  // A row-major copy in memory of its own.
  [[nodiscard]] Tensor copy() const;
  [[nodiscard]] Tensor force_contiguous() const { return copy(); }
  [[nodiscard]] Tensor to_dtype(DType dtype) const;
  // Itself if it is there already; a copy through host memory elsewhere.
  [[nodiscard]] Tensor to_device(const Device& device) const;
  // The tensor times[i] times one after another along each dimension i; `times` may have more dimensions, in front.
  // Errors: shape_mismatch for fewer.
  [[nodiscard]] Tensor repeat(const Extents& times) const;
  // The elements move `shift` places up along dim (down for a negative shift); those that leave at the end come in at the start.
  [[nodiscard]] Tensor roll(int64_t shift, int dim) const;
  [[nodiscard]] Tensor pad_with_zeros(int dim, int64_t left, int64_t right) const;
  // Repeats the first and the last slice. Errors: shape_mismatch where there is none.
  [[nodiscard]] Tensor pad_with_same(int dim, int64_t left, int64_t right) const;
  // The elements on and below (above) a diagonal of the last two dimensions, zeros elsewhere; diagonal 0 is the main one, 1 the one above.
  [[nodiscard]] Tensor tril(int diagonal = 0) const;
  [[nodiscard]] Tensor triu(int diagonal = 0) const;
  // For a vector: zeros with its elements on diagonal `offset`. For a matrix: that diagonal, a view.
  [[nodiscard]] Tensor diag(int offset = 0) const;

  // --- Elements to the host ---

  // The elements in row-major order, converted to T as to_dtype does.
  template <class T>
  [[nodiscard]] std::vector<T> to_vector() const;
  // The elements' bytes in row-major order, in the tensor's own dtype.
  [[nodiscard]] std::vector<std::byte> to_bytes() const;
  // The only element. Errors: shape_mismatch for a tensor that is not of rank 0 (of one element, for item).
  template <class T>
  [[nodiscard]] T to_scalar() const {
    check_rank("to_scalar", 0);
    return to_vector<T>().front();
  }
  [[nodiscard]] double item() const;
  // Nested vectors of a tensor of that rank.
  template <class T>
  [[nodiscard]] std::vector<T> to_vec1() const {
    check_rank("to_vec1", 1);
    return to_vector<T>();
  }
  template <class T>
  [[nodiscard]] std::vector<std::vector<T>> to_vec2() const {
    check_rank("to_vec2", 2);
    const std::vector<T> flat = to_vector<T>();
    std::vector<std::vector<T>> rows;
    for (int64_t row = 0; row < shape()[0]; ++row)
      rows.emplace_back(flat.begin() + row * shape()[1], flat.begin() + (row + 1) * shape()[1]);
    return rows;
  }
  template <class T>
  [[nodiscard]] std::vector<std::vector<std::vector<T>>> to_vec3() const {
    check_rank("to_vec3", 3);
    std::vector<std::vector<std::vector<T>>> blocks;
    for (int64_t block = 0; block < shape()[0]; ++block) blocks.push_back(get(block).template to_vec2<T>());
    return blocks;
  }

  // --- Functions of each element: ops/unary.h, ops/binary.h, ops/compare.h ---

  [[nodiscard]] Tensor neg() const;
  [[nodiscard]] Tensor abs() const;
  [[nodiscard]] Tensor sign() const;
  [[nodiscard]] Tensor floor() const;
  [[nodiscard]] Tensor ceil() const;
  // Halves away from zero.
  [[nodiscard]] Tensor round() const;
  // Toward zero.
  [[nodiscard]] Tensor trunc() const;
  // To that many decimals; negative ones round to tens, hundreds…
  [[nodiscard]] Tensor round_to(int decimals) const;
  [[nodiscard]] Tensor sqr() const;
  [[nodiscard]] Tensor sqrt() const;
  [[nodiscard]] Tensor rsqrt() const;
  [[nodiscard]] Tensor recip() const;
  [[nodiscard]] Tensor exp() const;
  [[nodiscard]] Tensor log() const;
  [[nodiscard]] Tensor sin() const;
  [[nodiscard]] Tensor cos() const;
  [[nodiscard]] Tensor tan() const;
  [[nodiscard]] Tensor asin() const;
  [[nodiscard]] Tensor acos() const;
  [[nodiscard]] Tensor atan() const;
  [[nodiscard]] Tensor sinh() const;
  [[nodiscard]] Tensor cosh() const;
  [[nodiscard]] Tensor tanh() const;
  [[nodiscard]] Tensor asinh() const;
  [[nodiscard]] Tensor acosh() const;
  [[nodiscard]] Tensor atanh() const;
  [[nodiscard]] Tensor exp2() const;
  [[nodiscard]] Tensor expm1() const;
  [[nodiscard]] Tensor log2() const;
  [[nodiscard]] Tensor log10() const;
  [[nodiscard]] Tensor log1p() const;
  [[nodiscard]] Tensor erf() const;
  [[nodiscard]] Tensor sigmoid() const;
  [[nodiscard]] Tensor silu() const;
  [[nodiscard]] Tensor relu() const;
  [[nodiscard]] Tensor gelu() const;
  [[nodiscard]] Tensor gelu_erf() const;
  // x · multiplier + addend
  [[nodiscard]] Tensor affine(double multiplier, double addend) const;
  [[nodiscard]] Tensor powf(double exponent) const;
  [[nodiscard]] Tensor elu(double alpha) const;
  [[nodiscard]] Tensor clamp(double low, double high) const;
  [[nodiscard]] Tensor clamp(const Tensor& low, const Tensor& high) const;

  [[nodiscard]] Tensor add(const Tensor& other) const;
  [[nodiscard]] Tensor sub(const Tensor& other) const;
  [[nodiscard]] Tensor mul(const Tensor& other) const;
  // Integer division rounds toward zero; division by zero gives 0.
  [[nodiscard]] Tensor div(const Tensor& other) const;
  [[nodiscard]] Tensor pow(const Tensor& other) const;
  // Remainder of division toward zero, with this tensor's sign; of division toward minus infinity, with other's, as % in Python. Integers
  // by zero: 0.
  [[nodiscard]] Tensor fmod(const Tensor& other) const;
  [[nodiscard]] Tensor remainder(const Tensor& other) const;
  // The quotient toward minus infinity.
  [[nodiscard]] Tensor floor_divide(const Tensor& other) const;
  [[nodiscard]] Tensor fmod(double other) const;
  [[nodiscard]] Tensor remainder(double other) const;
  [[nodiscard]] Tensor floor_divide(double other) const;
  // The angle of the point (other, this), in (-π, π].
  [[nodiscard]] Tensor atan2(const Tensor& other) const;
  // NaN in either operand gives NaN.
  [[nodiscard]] Tensor minimum(const Tensor& other) const;
  [[nodiscard]] Tensor maximum(const Tensor& other) const;
  // The number is converted first, as to_dtype does.
  [[nodiscard]] Tensor minimum(double other) const;
  [[nodiscard]] Tensor maximum(double other) const;
  // Candle's names for what add … maximum do anyway.
  [[nodiscard]] Tensor broadcast_add(const Tensor& other) const { return add(other); }
  [[nodiscard]] Tensor broadcast_sub(const Tensor& other) const { return sub(other); }
  [[nodiscard]] Tensor broadcast_mul(const Tensor& other) const { return mul(other); }
  [[nodiscard]] Tensor broadcast_div(const Tensor& other) const { return div(other); }
  [[nodiscard]] Tensor broadcast_pow(const Tensor& other) const { return pow(other); }
  [[nodiscard]] Tensor broadcast_minimum(const Tensor& other) const { return minimum(other); }
  [[nodiscard]] Tensor broadcast_maximum(const Tensor& other) const { return maximum(other); }

  // u8: 1 where it holds, else 0. Every comparison with NaN is false but ne. A number is compared by its value, also one that an integer
  // dtype cannot hold (u8 elements are all greater than -1, some less than 0.5, none equal to it); within the range of a float dtype it is
  // rounded to that dtype first.
  [[nodiscard]] Tensor compare(CompareKind kind, const Tensor& other) const;
  [[nodiscard]] Tensor compare(CompareKind kind, double other) const;
  [[nodiscard]] Tensor eq(const Tensor& other) const { return compare(CompareKind::eq, other); }
  [[nodiscard]] Tensor ne(const Tensor& other) const { return compare(CompareKind::ne, other); }
  [[nodiscard]] Tensor le(const Tensor& other) const { return compare(CompareKind::le, other); }
  [[nodiscard]] Tensor ge(const Tensor& other) const { return compare(CompareKind::ge, other); }
  [[nodiscard]] Tensor lt(const Tensor& other) const { return compare(CompareKind::lt, other); }
  [[nodiscard]] Tensor gt(const Tensor& other) const { return compare(CompareKind::gt, other); }
  [[nodiscard]] Tensor eq(double other) const { return compare(CompareKind::eq, other); }
  [[nodiscard]] Tensor ne(double other) const { return compare(CompareKind::ne, other); }
  [[nodiscard]] Tensor le(double other) const { return compare(CompareKind::le, other); }
  [[nodiscard]] Tensor ge(double other) const { return compare(CompareKind::ge, other); }
  [[nodiscard]] Tensor lt(double other) const { return compare(CompareKind::lt, other); }
  [[nodiscard]] Tensor gt(double other) const { return compare(CompareKind::gt, other); }
  // u8, of whether elements are 0 or not: NaN is not. Operands may differ in dtype.
  [[nodiscard]] Tensor logical_and(const Tensor& other) const;
  [[nodiscard]] Tensor logical_or(const Tensor& other) const;
  [[nodiscard]] Tensor logical_xor(const Tensor& other) const;
  [[nodiscard]] Tensor logical_not() const;
  // u8; integers are finite.
  [[nodiscard]] Tensor isnan() const;
  [[nodiscard]] Tensor isinf() const;
  [[nodiscard]] Tensor isfinite() const;
  // This tensor (u8, u32 or i64) is the condition: on_true where it is not 0, else on_false.
  [[nodiscard]] Tensor where_cond(const Tensor& on_true, const Tensor& on_false) const;
  // A copy with `value` where the mask, which broadcasts to this shape, is not 0. Errors: shape_mismatch.
  [[nodiscard]] Tensor masked_fill(const Tensor& mask, double value) const;

  // --- Reductions: ops/reduce.h ---

  [[nodiscard]] Tensor sum(const Dims& dims) const;
  [[nodiscard]] Tensor mean(const Dims& dims) const;
  // Unbiased: Σ (x - mean)² / (n - 1).
  [[nodiscard]] Tensor var(const Dims& dims) const;
  // √ var.
  [[nodiscard]] Tensor std(const Dims& dims) const;
  // Products; integers wrap around, of no element it is 1.
  [[nodiscard]] Tensor prod(const Dims& dims) const;
  // u8: whether an element is not 0, or none is 0; of no element 0 and 1.
  [[nodiscard]] Tensor any(const Dims& dims) const;
  [[nodiscard]] Tensor all(const Dims& dims) const;
  [[nodiscard]] Tensor min(const Dims& dims) const;
  [[nodiscard]] Tensor max(const Dims& dims) const;
  // u32; the first of equal ones.
  [[nodiscard]] Tensor argmin(int dim) const;
  [[nodiscard]] Tensor argmax(int dim) const;
  [[nodiscard]] Tensor sum_keepdim(const Dims& dims) const;
  [[nodiscard]] Tensor mean_keepdim(const Dims& dims) const;
  [[nodiscard]] Tensor var_keepdim(const Dims& dims) const;
  [[nodiscard]] Tensor std_keepdim(const Dims& dims) const;
  [[nodiscard]] Tensor prod_keepdim(const Dims& dims) const;
  [[nodiscard]] Tensor any_keepdim(const Dims& dims) const;
  [[nodiscard]] Tensor all_keepdim(const Dims& dims) const;
  [[nodiscard]] Tensor min_keepdim(const Dims& dims) const;
  [[nodiscard]] Tensor max_keepdim(const Dims& dims) const;
  [[nodiscard]] Tensor argmin_keepdim(int dim) const;
  [[nodiscard]] Tensor argmax_keepdim(int dim) const;
  [[nodiscard]] Tensor sum_all() const;
  [[nodiscard]] Tensor mean_all() const;
  [[nodiscard]] Tensor var_all() const;
  [[nodiscard]] Tensor std_all() const;
  [[nodiscard]] Tensor prod_all() const;
  [[nodiscard]] Tensor any_all() const;
  [[nodiscard]] Tensor all_all() const;
  [[nodiscard]] Tensor sum() const { return sum_all(); }
  [[nodiscard]] Tensor mean() const { return mean_all(); }
  [[nodiscard]] Tensor var() const { return var_all(); }
  [[nodiscard]] Tensor std() const { return std_all(); }
  [[nodiscard]] Tensor prod() const { return prod_all(); }
  [[nodiscard]] Tensor any() const { return any_all(); }
  [[nodiscard]] Tensor all() const { return all_all(); }
  [[nodiscard]] Tensor min() const { return min_all(); }
  [[nodiscard]] Tensor max() const { return max_all(); }
  [[nodiscard]] Tensor min_all() const;
  [[nodiscard]] Tensor max_all() const;
  // log Σ e^x, without overflow.
  [[nodiscard]] Tensor log_sum_exp(const Dims& dims) const;
  // √ Σ x² over all elements.
  [[nodiscard]] Tensor norm() const;
  [[nodiscard]] Tensor cumsum(int dim) const;
  // Running products: log2 of the extent steps, each of which multiplies all elements.
  [[nodiscard]] Tensor cumprod(int dim) const;
  // ops/normalize.h
  [[nodiscard]] Tensor softmax(int dim) const;
  [[nodiscard]] Tensor log_softmax(int dim) const;

  // --- Order: ops/sort.h ---

  // Stable; NaN counts as largest. Indices are u32.
  [[nodiscard]] Tensor arg_sort_last_dim(bool ascending) const;
  [[nodiscard]] std::pair<Tensor, Tensor> sort_last_dim(bool ascending) const;
  [[nodiscard]] std::pair<Tensor, Tensor> sort(int dim, bool descending = false) const;
  [[nodiscard]] Tensor argsort(int dim, bool descending = false) const;
  // The smaller one of the two in the middle where the number is even, and where it is; NaN where there is one. Errors: shape_mismatch for
  // a dimension without elements.
  [[nodiscard]] std::pair<Tensor, Tensor> median(int dim) const;
  [[nodiscard]] Tensor median_all() const;
  // The k largest (smallest) along a dimension, in order, and their indices.
  [[nodiscard]] std::pair<Tensor, Tensor> topk(int64_t k, int dim = -1, bool largest = true) const;

  // --- Products: ops/matmul.h, ops/einsum.h ---

  // [..., m, k] · [..., k, n]; batch dimensions broadcast.
  [[nodiscard]] Tensor matmul(const Tensor& other) const;
  [[nodiscard]] Tensor broadcast_matmul(const Tensor& other) const { return matmul(other); }
  // Product of two vectors; of a matrix and a vector.
  [[nodiscard]] Tensor dot(const Tensor& other) const;
  [[nodiscard]] Tensor mv(const Tensor& vector) const;
  // Outer product of two vectors of lengths m and n: [m, n].
  [[nodiscard]] Tensor outer(const Tensor& other) const;

  // --- By index: ops/indexing.h, ops/gather.h ---
  // ids are u8, u32, i32 or i64. Errors: index_out_of_range, naming the id and the extent.

  // Slices of `dim` in the order of `ids` (1-d).
  [[nodiscard]] Tensor index_select(const Tensor& ids, int dim) const;
  // The shapes of these results depend on elements: they wait for the device. Errors: unsupported while a Graph is recorded.
  // [n, rank] u32: where the n elements are that are not 0, in row-major order.
  [[nodiscard]] Tensor nonzero() const;
  // A vector of the elements where the mask is not 0; both broadcast to one shape.
  [[nodiscard]] Tensor masked_select(const Tensor& mask) const;
  // x[mask] of NumPy: the mask has the shape of the first dimensions, and each of its elements that is not 0 chooses what is left of them:
  // [n, other dimensions…]. Errors: shape_mismatch.
  [[nodiscard]] Tensor boolean_mask(const Tensor& mask) const;
  // The different elements, in ascending order; each NaN is different. With counts: also how often each occurs (u32).
  [[nodiscard]] Tensor unique() const;
  [[nodiscard]] std::pair<Tensor, Tensor> unique_with_counts() const;
  // Rows of a table [rows, width] for ids of any shape.
  [[nodiscard]] Tensor embedding(const Tensor& ids) const;
  [[nodiscard]] Tensor gather(const Tensor& ids, int dim) const;
  // A copy with source's elements set (added) where ids say.
  [[nodiscard]] Tensor scatter(const Tensor& ids, const Tensor& source, int dim) const;
  [[nodiscard]] Tensor scatter_add(const Tensor& ids, const Tensor& source, int dim) const;
  // A copy with slices of source added to the slices that ids name.
  [[nodiscard]] Tensor index_add(const Tensor& ids, const Tensor& source, int dim) const;
  // A copy with `source` in place of the elements from `start` on along dim.
  [[nodiscard]] Tensor slice_scatter(const Tensor& source, int dim, int64_t start) const;
  // A copy with `source`, broadcast, in place of the part that the arguments choose (no tensors of ids, no new_axis).
  [[nodiscard]] Tensor slice_assign(std::initializer_list<Index> arguments, const Tensor& source) const;
  [[nodiscard]] Tensor slice_assign(std::span<const Index> arguments, const Tensor& source) const;

  // --- Convolutions and images: ops/conv.h, ops/pool.h, ops/upsample.h ---

  [[nodiscard]] Tensor conv1d(const Tensor& kernel, int64_t padding, int64_t stride, int64_t dilation, int64_t groups) const;
  [[nodiscard]] Tensor conv_transpose1d(const Tensor& kernel, int64_t padding, int64_t output_padding, int64_t stride, int64_t dilation,
                                        int64_t groups) const;
  [[nodiscard]] Tensor conv2d(const Tensor& kernel, int64_t padding, int64_t stride, int64_t dilation, int64_t groups) const;
  [[nodiscard]] Tensor conv2d(const Tensor& kernel, const ConvParams& params) const;
  [[nodiscard]] Tensor conv_transpose2d(const Tensor& kernel, int64_t padding, int64_t output_padding, int64_t stride, int64_t dilation,
                                        int64_t groups = 1) const;
  [[nodiscard]] Tensor conv_transpose2d(const Tensor& kernel, const ConvParams& params) const;
  // The stride is the window's size where none is given.
  [[nodiscard]] Tensor avg_pool2d(std::array<int64_t, 2> kernel, std::optional<std::array<int64_t, 2>> stride = {}) const;
  [[nodiscard]] Tensor max_pool2d(std::array<int64_t, 2> kernel, std::optional<std::array<int64_t, 2>> stride = {}) const;
  [[nodiscard]] Tensor upsample_nearest1d(int64_t length) const;
  [[nodiscard]] Tensor upsample_nearest2d(int64_t height, int64_t width) const;
  [[nodiscard]] Tensor interpolate1d(int64_t length) const { return upsample_nearest1d(length); }
  [[nodiscard]] Tensor interpolate2d(int64_t height, int64_t width) const { return upsample_nearest2d(height, width); }
  [[nodiscard]] Tensor upsample_bilinear2d(int64_t height, int64_t width, bool align_corners) const;
  [[nodiscard]] Tensor upsample_bilinear2d_with_scale(double scale_height, double scale_width, bool align_corners) const;

  // --- In place: they write through the tensor's layout ---
  // Errors: unsupported for a tensor that is tracked, and for a source that is: a tape cannot see through them (use Var::set,
  // slice_scatter, scatter…).

  void const_set(double value) const;
  void zero_set() const { const_set(0); }
  void one_set() const { const_set(1); }
  // `source` takes the place of the elements from `start` on along dim.
  void slice_set(const Tensor& source, int dim, int64_t start) const;
  void scatter_set(const Tensor& ids, const Tensor& source, int dim) const;
  void scatter_add_set(const Tensor& ids, const Tensor& source, int dim) const;

  // --- Ops that users bring: custom_op.h ---

  // Tracked where an operand is and the result is of floats: the tape keeps the op for its gradient.
  [[nodiscard]] Tensor apply_op1(std::shared_ptr<const CustomOp1> op) const;
  [[nodiscard]] Tensor apply_op2(const Tensor& second, std::shared_ptr<const CustomOp2> op) const;
  [[nodiscard]] Tensor apply_op3(const Tensor& second, const Tensor& third, std::shared_ptr<const CustomOp3> op) const;
  template <std::derived_from<CustomOp1> Op>
  [[nodiscard]] Tensor apply_op1(Op op) const {
    return apply_op1(std::shared_ptr<const CustomOp1>(std::make_shared<const Op>(std::move(op))));
  }
  template <std::derived_from<CustomOp2> Op>
  [[nodiscard]] Tensor apply_op2(const Tensor& second, Op op) const {
    return apply_op2(second, std::shared_ptr<const CustomOp2>(std::make_shared<const Op>(std::move(op))));
  }
  template <std::derived_from<CustomOp3> Op>
  [[nodiscard]] Tensor apply_op3(const Tensor& second, const Tensor& third, Op op) const {
    return apply_op3(second, third, std::shared_ptr<const CustomOp3>(std::make_shared<const Op>(std::move(op))));
  }
  // Never tracked.
  [[nodiscard]] Tensor apply_op1_no_backward(const CustomOp1& op) const;
  [[nodiscard]] Tensor apply_op2_no_backward(const Tensor& second, const CustomOp2& op) const;
  [[nodiscard]] Tensor apply_op3_no_backward(const Tensor& second, const Tensor& third, const CustomOp3& op) const;
  // They write to this tensor's elements, with the errors of the functions above.
  void inplace_op1(const InplaceOp1& op) const;
  void inplace_op2(const Tensor& second, const InplaceOp2& op) const;
  void inplace_op3(const Tensor& second, const Tensor& third, const InplaceOp3& op) const;

 private:
  template <size_t kRank>
  [[nodiscard]] std::array<int64_t, kRank> extents() const {
    check_rank("dims", static_cast<int>(kRank));
    std::array<int64_t, kRank> result{};
    std::copy(dims().begin(), dims().end(), result.begin());
    return result;
  }
  [[nodiscard]] Tensor view(const Layout& layout) const;
  [[nodiscard]] const Tensor& assigned(const char* function) const {
    if (storage_ == nullptr) [[unlikely]]
      fail_empty(function, "the tensor");
    return *this;
  }
  void check_reach() const;
  // Argument checks of the functions above; errors name `function`.
  static void check_elements(std::string_view function, size_t given, const Shape& shape);
  void check_rank(std::string_view function, int rank) const;

  std::shared_ptr<const Storage> storage_;
  Layout layout_;
  std::shared_ptr<const TapeNode> node_;
};

// Operators: with tensors they broadcast. With a number the result keeps the tensor's dtype: with integers it is computed by value, then
// truncated toward zero and saturated (u8 7 * 0.5 is 3, u8 200 + 100.0 is 255, u8 6 / 0.5 is 12), but whole numbers divide and i64 adds
// and multiplies as tensors of integers do.
[[nodiscard]] inline Tensor operator+(const Tensor& lhs, const Tensor& rhs) { return lhs.add(rhs); }
[[nodiscard]] inline Tensor operator-(const Tensor& lhs, const Tensor& rhs) { return lhs.sub(rhs); }
[[nodiscard]] inline Tensor operator*(const Tensor& lhs, const Tensor& rhs) { return lhs.mul(rhs); }
[[nodiscard]] inline Tensor operator/(const Tensor& lhs, const Tensor& rhs) { return lhs.div(rhs); }
[[nodiscard]] inline Tensor operator-(const Tensor& x) { return x.neg(); }
[[nodiscard]] Tensor operator+(const Tensor& lhs, double rhs);
[[nodiscard]] Tensor operator-(const Tensor& lhs, double rhs);
[[nodiscard]] Tensor operator*(const Tensor& lhs, double rhs);
[[nodiscard]] Tensor operator/(const Tensor& lhs, double rhs);
[[nodiscard]] Tensor operator+(double lhs, const Tensor& rhs);
[[nodiscard]] Tensor operator-(double lhs, const Tensor& rhs);
[[nodiscard]] Tensor operator*(double lhs, const Tensor& rhs);
[[nodiscard]] Tensor operator/(double lhs, const Tensor& rhs);

// x += y is x = x + y: x is another tensor then, and what shared its elements keeps the old ones. So it may be tracked.
inline Tensor& operator+=(Tensor& lhs, const Tensor& rhs) { return lhs = lhs + rhs; }
inline Tensor& operator-=(Tensor& lhs, const Tensor& rhs) { return lhs = lhs - rhs; }
inline Tensor& operator*=(Tensor& lhs, const Tensor& rhs) { return lhs = lhs * rhs; }
inline Tensor& operator/=(Tensor& lhs, const Tensor& rhs) { return lhs = lhs / rhs; }
inline Tensor& operator+=(Tensor& lhs, double rhs) { return lhs = lhs + rhs; }
inline Tensor& operator-=(Tensor& lhs, double rhs) { return lhs = lhs - rhs; }
inline Tensor& operator*=(Tensor& lhs, double rhs) { return lhs = lhs * rhs; }
inline Tensor& operator/=(Tensor& lhs, double rhs) { return lhs = lhs / rhs; }

// u8, element by element, as gt, lt, ge and le. There is no == and !=: eq and ne compare elements.
[[nodiscard]] inline Tensor operator>(const Tensor& lhs, const Tensor& rhs) { return lhs.gt(rhs); }
[[nodiscard]] inline Tensor operator<(const Tensor& lhs, const Tensor& rhs) { return lhs.lt(rhs); }
[[nodiscard]] inline Tensor operator>=(const Tensor& lhs, const Tensor& rhs) { return lhs.ge(rhs); }
[[nodiscard]] inline Tensor operator<=(const Tensor& lhs, const Tensor& rhs) { return lhs.le(rhs); }
[[nodiscard]] inline Tensor operator>(const Tensor& lhs, double rhs) { return lhs.gt(rhs); }
[[nodiscard]] inline Tensor operator<(const Tensor& lhs, double rhs) { return lhs.lt(rhs); }
[[nodiscard]] inline Tensor operator>=(const Tensor& lhs, double rhs) { return lhs.ge(rhs); }
[[nodiscard]] inline Tensor operator<=(const Tensor& lhs, double rhs) { return lhs.le(rhs); }
[[nodiscard]] inline Tensor operator>(double lhs, const Tensor& rhs) { return rhs.lt(lhs); }
[[nodiscard]] inline Tensor operator<(double lhs, const Tensor& rhs) { return rhs.gt(lhs); }
[[nodiscard]] inline Tensor operator>=(double lhs, const Tensor& rhs) { return rhs.le(lhs); }
[[nodiscard]] inline Tensor operator<=(double lhs, const Tensor& rhs) { return rhs.ge(lhs); }

}  // namespace wick
