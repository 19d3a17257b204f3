// A Trial is one run of one case on one device: it makes the inputs, and compares what an op gave with the op's f64 reference.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "conformance/answers.h"
#include "conformance/bounds.h"
#include "conformance/placement.h"
#include "conformance/random.h"
#include "wick/tensor/tensor.h"

namespace wick::conformance {

struct Range {
  double low = -4;
  double high = 4;
};

class Trial {
 public:
  // Without `values` the device plans only: shapes and dtypes are checked, values are not. `answers` are those of the case so far.
  Trial(const Device& device, uint64_t seed, bool values, Answers& answers)
      : device_(device), random_(seed), values_(values), answers_(answers) {}

  [[nodiscard]] const Device& device() const noexcept { return device_; }
  [[nodiscard]] Random& random() noexcept { return random_; }
  [[nodiscard]] bool has_values() const noexcept { return values_; }
  [[nodiscard]] Answers& answers() noexcept { return answers_; }

  // Random elements of a plain dtype: whole numbers for integers, without negative ones for unsigned.
  [[nodiscard]] Tensor input(const Shape& shape, DType dtype, View view = View::contiguous, Range range = {});
  // Those values, again and again until the storage is full.
  [[nodiscard]] Tensor input_of(const std::vector<double>& values, const Shape& shape, DType dtype, View view = View::contiguous);
  // Random weights [n, k] of any readable dtype: random codes, block scales about 1/64.
  [[nodiscard]] Tensor weight(int64_t n, int64_t k, DType dtype);
  // The weight, which the device has prepared for products as far as it does.
  [[nodiscard]] Tensor prepared(const Tensor& weight) const;

  // Compares `result` with the reference of that op on these inputs. On a device that keeps no subnormals (DeviceCaps::f32_subnormals) also
  // with what the reference makes of them as zeros, and a subnormal result is as good as zero.
  void expect(OpId op, const void* params, std::span<const Tensor* const> inputs, const Tensor& result, const Bound& bound = {});
  void expect(OpId op, const void* params, std::initializer_list<const Tensor*> inputs, const Tensor& result, const Bound& bound = {}) {
    expect(op, params, std::span(inputs.begin(), inputs.size()), result, bound);
  }
  // Compares a tensor's elements and shape with these.
  void expect_values(const ReferenceTensor& expected, const Tensor& result, std::span<const double> allowed);
  void expect_true(bool fact, const std::string& what);

  // The elements of a tensor as doubles, read without any op of the device.
  [[nodiscard]] ReferenceTensor values_of(const Tensor& tensor) const;

  // What went wrong; empty if nothing did.
  [[nodiscard]] const std::string& failure() const noexcept { return failure_; }
  // The largest error of the results that were right, as a part of the error allowed, their own rounding included; 0 where none is.
  [[nodiscard]] double largest_error() const noexcept { return largest_error_; }
  // Whether a result was right only as one of a device that keeps no subnormals.
  [[nodiscard]] bool counted_subnormals_as_zero() const noexcept { return counted_as_zero_; }

 private:
  // What a result should be, and the error allowed for each element (empty: none but the rounding).
  struct Expectation {
    const ReferenceTensor& expected;
    std::span<const double> allowed;
  };
  void expect_one_of(std::span<const Expectation> expectations, const Tensor& result);

  // In the device's memory, or as somebody else's that ends exactly where the elements do, so that AddressSanitizer sees reads behind it.
  [[nodiscard]] Tensor tensor_of(std::vector<std::byte> bytes, const Shape& shape, DType dtype);
  [[nodiscard]] Tensor place_values(const std::vector<double>& values, const Placement& placement, DType dtype);

  Device device_;
  Random random_;
  bool values_;
  Answers& answers_;
  std::string failure_;
  double largest_error_ = 0;
  bool counted_as_zero_ = false;
};

}  // namespace wick::conformance
