// Kernels of users: the same numbers as plain loops on every device of the program, and what is refused.
#include "wick/tensor/compiled_kernel.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numeric>
#include <optional>

#include "unit/message_of.h"
#include "wick/device/registry.h"
#include "wick/kernels/group_options.h"
#include "wick/kernels/group_reduce.h"
#include "wick/kernels/math.h"
#include "wick/tensor/backward.h"
#include "wick/tensor/kernel_inplace_op.h"
#include "wick/tensor/variable.h"

namespace wick {
namespace {

using ir::Element;
using ir::Memory;
using ir::Type;
using ir::Value;

constexpr int64_t kRows = 5, kColumns = 300;

// Every device of this program whose numbers are real.
std::vector<Device> opened_devices() {
  std::vector<Device> found;
  for (const Backend* backend : linked_backends()) {
    if (backend->kind == DeviceKind::null) continue;
    for (const DeviceInfo& device : backend->probe()) found.push_back(Device::open({backend->kind, device.index}));
  }
  return found;
}

// y = scale · x[i] + add, as i32 and f32 and u32 parameters.
ir::Kernel affine_kernel() {
  ir::KernelBuilder k("affine", {.group_size = 32});
  const Memory x = k.buffer("x", Element::f32), y = k.output("y", Element::f32);
  const Value n = k.parameter("n", Type::u32), add = k.parameter("add", Type::i32), scale = k.parameter("scale", Type::f32);
  const Value i = k.group_id() * 32U + k.local_id();
  k.when(i < n, [&] { y[i] = x[i] * scale + cast(Type::f32, add); });
  return k.finish();
}

// y = silu(x) / √(mean over the row of x²), a group for each row.
ir::Kernel row_kernel(const DeviceCaps& caps) {
  const ir::KernelOptions options = kernels::group_options(caps, 64);
  ir::KernelBuilder k("silu_rms", options);
  const Memory x = k.buffer("x", Element::f32), y = k.output("y", Element::f32);
  const Value columns = k.parameter("columns", Type::u32);
  const Value first = k.group_id() * columns;
  kernels::GroupReduce reduce(k);
  ir::Variable squares = k.variable(0.0F);
  k.loop(k.local_id(), columns, options.group_size, [&](const Value& i) {
    const Value at = x[first + i];
    squares = squares + at * at;
  });
  const Value scale = 1.0 / kernels::sqrt(reduce(ir::Reduce::add, squares) / cast(Type::f32, columns));
  k.loop(k.local_id(), columns, options.group_size, [&](const Value& i) { y[first + i] = kernels::silu(x[first + i]) * scale; });
  return k.finish();
}

std::vector<float> numbers(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i)) * 3;
  return values;
}

TEST(CompiledKernel, GivesTheNumbersOfAPlainLoopOnEveryDevice) {
  for (const Device& device : opened_devices()) {
    SCOPED_TRACE(device.location().to_string());
    const std::vector<float> values = numbers(100);
    const Tensor x = Tensor::from_vector(values, {100}, device), y = Tensor::zeros({100}, DType::f32, device);
    const CompiledKernel kernel(affine_kernel(), device);
    kernel.launch({4, 1, 1}, {x, y}, {90U, -3, 0.5F});
    const std::vector<float> found = y.to_vector<float>();
    for (size_t i = 0; i < values.size(); ++i) EXPECT_FLOAT_EQ(found[i], i < 90 ? values[i] * 0.5F - 3 : 0) << i;
  }
}

TEST(CompiledKernel, ReducesRowsInGroups) {
  for (const Device& device : opened_devices()) {
    SCOPED_TRACE(device.location().to_string());
    const std::vector<float> values = numbers(kRows * kColumns);
    const Tensor x = Tensor::from_vector(values, {kRows, kColumns}, device), y = x.empty_like();
    CompiledKernel(row_kernel(device.caps()), device).launch({kRows, 1, 1}, {x, y}, {uint32_t{kColumns}});
    const std::vector<float> found = y.to_vector<float>();
    for (size_t row = 0; row < kRows; ++row) {
      double squares = 0;
      for (size_t i = 0; i < kColumns; ++i) squares += std::pow(values[row * kColumns + i], 2.0);
      for (size_t i = row * kColumns; i < (row + 1) * kColumns; ++i) {
        const double value = values[i];
        EXPECT_NEAR(found[i], value / (1 + std::exp(-value)) / std::sqrt(squares / kColumns), 1e-5) << i;
      }
    }
  }
}

TEST(CompiledKernel, WordsAreTheBytesOfAnyDType) {
  ir::KernelBuilder k("invert", {.group_size = 4});
  const Memory x = k.output("x", Element::u32);
  x[k.local_id()] = ~Value(x[k.local_id()]);
  const ir::Kernel invert = k.finish();
  for (const Device& device : opened_devices()) {
    SCOPED_TRACE(device.location().to_string());
    const Tensor x = Tensor::from_vector(std::vector<uint8_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {16}, device);
    CompiledKernel(invert, device).launch({}, {x});
    const std::vector<uint8_t> found = x.to_vector<uint8_t>();
    for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], 255 - i);
  }
}

TEST(CompiledKernel, AWriteIsSeenByTheTape) {
  const Device device = Device::cpu();
  const Var v = Var::of<float>({1, 2}, device);
  const Tensor x = Tensor::of<float>({3, 4}, device), y = Tensor::of<float>({5, 6}, device);
  const Tensor sum = (v.tensor() * y).sum_all();
  CompiledKernel(affine_kernel(), device).launch({}, {x, y}, {2U, 0, 1.0F});
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{3, 4}));
  EXPECT_THROW((void)backward(sum), Error);
}

// The same kernel as a custom op's forward, with a gradient.
class Doubled final : public CustomOp1 {
 public:
  [[nodiscard]] std::string_view name() const override { return "doubled"; }
  Tensor cpu_forward(const CustomOperand& x) const override {
    const Tensor y = Tensor::empty(x.shape(), DType::f32, x.device());
    CompiledKernel(affine_kernel(), x.device()).launch({}, {x, y}, {static_cast<uint32_t>(x.layout.elements()), 0, 2.0F});
    return y;
  }
  [[nodiscard]] std::optional<Tensor> backward(const Tensor& /*x*/, const Tensor& /*result*/, const Tensor& gradient) const override {
    return gradient * 2.0;
  }
};

TEST(CompiledKernel, ServesACustomOpWithAGradient) {
  const Var x = Var::of<float>({1, 2}, Device::cpu());
  const Tensor y = x.tensor().apply_op1(Doubled());
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{2, 4}));
  EXPECT_EQ(backward(y.sum_all()).get(x)->to_vector<float>(), (std::vector<float>{2, 2}));
}

// x += scale · y.
ir::Kernel add_scaled_kernel() {
  ir::KernelBuilder k("add_scaled", {.group_size = 32});
  const Memory x = k.output("x", Element::f32), y = k.buffer("y", Element::f32);
  const Value n = k.parameter("n", Type::u32), scale = k.parameter("scale", Type::f32);
  const Value i = k.group_id() * 32U + k.local_id();
  k.when(i < n, [&] { x[i] = x[i] + y[i] * scale; });
  return k.finish();
}

// A lane for each element of what is written.
KernelLaunch launch_for(const CustomOperand& written) {
  const auto elements = static_cast<uint32_t>(written.layout.elements());
  return {.grid = {(elements + 31) / 32, 1, 1}, .parameters = {elements, 0.5F}};
}

TEST(CompiledKernel, IsAnInplaceOpOnEveryDevice) {
  for (const Device& device : opened_devices()) {
    SCOPED_TRACE(device.location().to_string());
    const std::vector<float> values = numbers(100);
    const Tensor x = Tensor::from_vector(values, {10, 10}, device), y = Tensor::full({100}, 4, DType::f32, device);
    const KernelInplaceOp2 op(CompiledKernel(add_scaled_kernel(), device), launch_for);
    EXPECT_EQ(op.name(), "add_scaled");
    x.inplace_op2(y, op);
    const std::vector<float> found = x.to_vector<float>();
    for (size_t i = 0; i < values.size(); ++i) EXPECT_FLOAT_EQ(found[i], values[i] + 2) << i;
    EXPECT_EQ(y.to_vector<float>(), std::vector<float>(100, 4));
  }
}

TEST(CompiledKernel, AsAnInplaceOpRefusesWhatALaunchRefuses) {
  const Device device = Device::cpu();
  const Tensor x = Tensor::zeros({4, 4}, DType::f32, device), y = Tensor::zeros({16}, DType::f32, device);
  const KernelInplaceOp2 op(CompiledKernel(add_scaled_kernel(), device), launch_for);
  const KernelInplaceOp1 alone(CompiledKernel(add_scaled_kernel(), device), launch_for);
  EXPECT_NE(message_of([&] { x.inplace_op1(alone); }).find("kernel add_scaled: 1 buffers and 2 parameters given, 2 and 2 needed"),
            std::string::npos);
  EXPECT_NE(message_of([&] { x.inplace_op2(x, op); }).find("kernel add_scaled: buffers x and y share their memory"), std::string::npos);
  EXPECT_NE(message_of([&] { x.transpose(0, 1).inplace_op2(y, op); }).find("is not row-major"), std::string::npos);
}

TEST(CompiledKernel, WhatDoesNotFitIsNamed) {
  const Device device = Device::cpu();
  const CompiledKernel kernel(affine_kernel(), device);
  const Tensor x = Tensor::zeros({4, 4}, DType::f32, device), y = x.zeros_like();
  const auto refused = [&](const Tensor& a, const Tensor& b) { return message_of([&] { kernel.launch({}, {a, b}, {16U, 0, 1.0F}); }); };
  EXPECT_EQ(message_of([&] { kernel.launch({}, {x}, {16U, 0, 1.0F}); }), "kernel affine: 1 buffers and 3 parameters given, 2 and 3 needed");
  EXPECT_EQ(message_of([&] { kernel.launch({}, {x, y}, {16U, 0}); }), "kernel affine: 2 buffers and 2 parameters given, 2 and 3 needed");
  EXPECT_EQ(message_of([&] { kernel.launch({}, {x, y}, {16, 0, 1.0F}); }), "kernel affine: parameter n is of u32, not i32");
  EXPECT_EQ(refused(x.to_dtype(DType::f64), y), "kernel affine: buffer x has elements of f32, and the tensor is f64 [4, 4]");
  EXPECT_EQ(refused(x.t(), y),
            "kernel affine: buffer x: a view of f32 [4, 4] that is not row-major from the beginning of its storage; copy() it");
  EXPECT_EQ(refused(x.narrow(0, 1, 2), y),
            "kernel affine: buffer x: a view of f32 [2, 4] that is not row-major from the beginning of its storage; copy() it");
  EXPECT_EQ(refused(x, x.narrow(0, 0, 2)), "kernel affine: buffers x and y share their memory, and one of them is written; copy() one");
  EXPECT_EQ(refused(Tensor::zeros({0}, DType::f32, device), y), "kernel affine: buffer x: f32 [0] has no elements; leave the launch out");
  EXPECT_EQ(refused(x, Tensor::zeros({4, 4}, DType::f32, Device::open({DeviceKind::null, 0}))),
            "kernel affine: buffer y is on null, but the kernel was compiled for cpu");
  const Var tracked = Var::zeros({4, 4}, DType::f32, device);
  EXPECT_EQ(refused(x, tracked.tensor()),
            "kernel affine: buffer y: f32 [4, 4] is tracked, and a kernel has no gradient; detach it, or launch from a CustomOp");
  EXPECT_NE(message_of([&] { kernel.launch({70000, 70000, 1}, {x, y}, {16U, 0, 1.0F}); }).find("split the launch"), std::string::npos);
}

// y[i] = scale · x[i] + add for i < n, in the language of the device; none for one that compiles no texts of users.
std::optional<KernelSource> scale_source(DeviceKind kind) {
  constexpr const char* kCuda = R"(extern "C" __global__ void scale(const float* x, float* y, unsigned n, int add, float factor) {
  const unsigned i = blockIdx.x * 32u + threadIdx.x;
  if (i < n) y[i] = factor * x[i] + (float)add;
})";
  if (kind == DeviceKind::cuda) return KernelSource{SourceLanguage::cuda_cpp, kCuda};
  if (kind == DeviceKind::rocm) return KernelSource{SourceLanguage::hip_cpp, kCuda};
  if (kind == DeviceKind::opencl || kind == DeviceKind::oneapi) {
    return KernelSource{SourceLanguage::opencl_c, R"(
__kernel void scale(__global const float* x, __global float* y, uint n, int add, float factor) {
  const uint i = get_global_id(0);
  if (i < n) y[i] = factor * x[i] + (float)add;
})"};
  }
  if (kind == DeviceKind::vulkan) {
    return KernelSource{SourceLanguage::glsl, R"(#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0, std430) readonly buffer X { float x[]; };
layout(set = 0, binding = 1, std430) buffer Y { float y[]; };
layout(push_constant) uniform Scalars { uint n; int add; float factor; } s;
void main() {
  const uint i = gl_GlobalInvocationID.x;
  if (i < s.n) y[i] = s.factor * x[i] + float(s.add);
})"};
  }
  return std::nullopt;
}

std::string entry_of(const KernelSource& source) { return source.language == SourceLanguage::glsl ? "main" : "scale"; }

const KernelSignature kScale{.group_size = 32,
                             .buffers = {{"x", Element::f32, ir::Access::read}, {"y", Element::f32, ir::Access::read_write}},
                             .scalars = {{"n", Type::u32}, {"add", Type::i32}, {"factor", Type::f32}}};

TEST(SourceKernel, GivesTheNumbersOfAPlainLoop) {
  for (const Device& device : opened_devices()) {
    SCOPED_TRACE(device.location().to_string());
    const std::optional<KernelSource> source = scale_source(device.kind());
    if (!source) {
      const std::string message = message_of(ErrorCode::unsupported, [&] { (void)device.compile("scale", {}, "scale", kScale); });
      const char* const words = device.is_webgpu() ? "takes WGSL" : device.is_metal() ? "takes MSL" : "compiles no source texts";
      EXPECT_NE(message.find(words), std::string::npos) << message;
      continue;
    }
    const std::vector<float> values = numbers(100);
    const Tensor x = Tensor::from_vector(values, {100}, device), y = Tensor::zeros({100}, DType::f32, device);
    const CompiledKernel kernel("scale", *source, entry_of(*source), kScale, device);
    kernel.launch({4, 1, 1}, {x, y}, {90U, -3, 0.5F});
    const std::vector<float> found = y.to_vector<float>();
    for (size_t i = 0; i < values.size(); ++i) EXPECT_FLOAT_EQ(found[i], i < 90 ? values[i] * 0.5F - 3 : 0) << i;
  }
}

TEST(SourceKernel, ALaunchIsCheckedAgainstTheSignature) {
  for (const Device& device : opened_devices()) {
    const std::optional<KernelSource> source = scale_source(device.kind());
    if (!source) continue;
    SCOPED_TRACE(device.location().to_string());
    const CompiledKernel kernel("scale", *source, entry_of(*source), kScale, device);
    const Tensor x = Tensor::zeros({64}, DType::f32, device), y = Tensor::zeros({64}, DType::f32, device);
    const auto refusal = [&](ErrorCode code, std::initializer_list<KernelBuffer> buffers, std::initializer_list<KernelParameter> scalars) {
      return message_of(code, [&] { kernel.launch({2, 1, 1}, buffers, scalars); });
    };
    EXPECT_EQ(refusal(ErrorCode::invalid_argument, {x}, {1U, 2, 3.0F}), "kernel scale: 1 buffers and 3 parameters given, 2 and 3 needed");
    EXPECT_EQ(refusal(ErrorCode::invalid_argument, {x, y}, {1U, 2.0F, 3.0F}), "kernel scale: parameter add is of i32, not f32");
    EXPECT_EQ(refusal(ErrorCode::dtype_mismatch, {x, Tensor::zeros({64}, DType::f16, device)}, {1U, 2, 3.0F}),
              "kernel scale: buffer y has elements of f32, and the tensor is f16 [64]");
    EXPECT_EQ(refusal(ErrorCode::invalid_argument, {x, x}, {1U, 2, 3.0F}),
              "kernel scale: buffers x and y share their memory, and one of them is written; copy() one");
  }
}

TEST(SourceKernel, AnotherLanguageIsRefusedAndTheDevicesOwnIsNamed) {
  for (const Device& device : opened_devices()) {
    const std::optional<KernelSource> source = scale_source(device.kind());
    if (!source) continue;
    const SourceLanguage other = device.is_cuda() ? SourceLanguage::hip_cpp : SourceLanguage::cuda_cpp;
    const std::string message =
        message_of(ErrorCode::unsupported, [&] { (void)device.compile("scale", {other, source->text}, "scale", kScale); });
    EXPECT_NE(message.find("its source is " + std::string(to_string(other))), std::string::npos) << message;
    EXPECT_NE(message.find(" takes " + std::string(to_string(source->language))), std::string::npos) << message;
  }
}

TEST(SourceKernel, AFaultyTextOrSignatureIsNamedWithTheCompilersWords) {
  for (const Device& device : opened_devices()) {
    std::optional<KernelSource> source = scale_source(device.kind());
    if (!source) continue;
    SCOPED_TRACE(device.location().to_string());
    KernelSignature wrong = kScale;
    wrong.scalars[1].type = Type::f64;
    EXPECT_EQ(message_of(ErrorCode::invalid_argument, [&] { (void)device.compile("scale", *source, "scale", wrong); }),
              "kernel scale: scalar add is of f64, and u32, i32 and f32 can be given");
    wrong = kScale;
    wrong.group_size = 0;
    EXPECT_NE(message_of(ErrorCode::invalid_argument, [&] { (void)device.compile("scale", *source, "scale", wrong); }).find("0 lanes"),
              std::string::npos);
    const size_t at = source->text.find("factor * x");
    source->text.replace(at, 6, "no_such_name");
    const std::string message =
        message_of(ErrorCode::unsupported, [&] { (void)device.compile("scale", *source, entry_of(*source), kScale); });
    EXPECT_NE(message.find("no_such_name"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace wick
