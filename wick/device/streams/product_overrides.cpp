#include "wick/device/streams/product_overrides.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "wick/base/fail.h"
#include "wick/device/kernel_runtime.h"
#include "wick/device/linked_kernels.h"
#include "wick/device/streams/matrix_library.h"
#include "wick/device/streams/product_driver.h"

namespace wick {
namespace {

// Fewer rows of activations are the portable kernels', which read each weight once.
constexpr int64_t kManyRows = 9;
// Below so many products and sums a call costs more than it saves.
constexpr int64_t kLargeProduct = int64_t{1} << 24;

KernelRuntime& runtime_of(const OpCall& call) { return static_cast<KernelRuntime&>(*call.runtime); }
ProductDriver& driver_of(const OpCall& call) { return static_cast<ProductDriver&>(runtime_of(call).driver()); }

void run_kernels(const OpCall& call) { (*linked_launchers())[static_cast<size_t>(call.op)](call); }

std::optional<MatrixType> matrix_type(DType dtype) {
  if (dtype == DType::f32) return MatrixType::f32;
  if (dtype == DType::f16) return MatrixType::f16;
  if (dtype == DType::bf16) return MatrixType::bf16;
  if (dtype == DType::f8e4m3) return MatrixType::f8e4m3;
  return std::nullopt;
}

StreamAddress address_of(const Operand& operand) {
  return stream_address(*operand.buffer,
                        static_cast<size_t>(operand.layout->offset()) * static_cast<size_t>(info(operand.dtype).block_bytes));
}

// The last two dimensions of an operand in memory: by rows or by columns, and how far one is from the next.
struct Matrix {
  bool by_rows = true;
  int64_t stride = 0;
};
std::optional<Matrix> matrix_of(const Layout& layout) {
  const int last = layout.rank() - 1;
  const int64_t rows = layout.shape()[last - 1], columns = layout.shape()[last];
  const int64_t row = layout.stride(last - 1), column = layout.stride(last);
  if (column == 1 && (row >= columns || rows == 1)) return Matrix{true, rows == 1 ? columns : row};
  if (row == 1 && (column >= rows || columns == 1)) return Matrix{false, columns == 1 ? rows : column};
  return std::nullopt;
}

// All dimensions before the last two as one: how many, and how far one is from the next.
struct Batches {
  int64_t count = 1, stride = 0;
};
std::optional<Batches> batches_of(const Layout& layout) {
  Batches all;
  for (int dim = layout.rank() - 3; dim >= 0; --dim) {
    const int64_t extent = layout.shape()[dim];
    if (extent == 1) continue;
    if (all.count == 1) {
      all.stride = layout.stride(dim);
    } else if (layout.stride(dim) != all.stride * all.count) {
      return std::nullopt;
    }
    all.count *= extent;
  }
  return all;
}

bool multiply(const OpCall& call, const Product& product, StreamAddress a, StreamAddress b, StreamAddress c) {
  ProductDriver& driver = driver_of(call);
  const auto& libraries = driver.matrix_libraries();
  if (runtime_of(call).is_planning()) return !libraries.empty();
  return std::any_of(libraries.begin(), libraries.end(),
                     [&](const auto& library) { return library->multiply(product, a, b, c, driver.queue()); });
}

// c [m, n] by rows is its transpose by columns: cᵀ = bᵀ · aᵀ.
bool try_matmul(const OpCall& call) {
  const Operand &a = call.inputs[0], &b = call.inputs[1], &c = call.outputs[0];
  const Layout &left = *a.layout, &right = *b.layout;
  const int last = left.rank() - 1;
  Product p;
  p.type = p.result = *matrix_type(a.dtype);
  p.tf32 = a.dtype == DType::f32 && driver_of(call).multiplies_in_tf32();
  p.m = right.shape()[last];
  p.n = left.shape()[last - 1];
  p.k = left.shape()[last];
  const std::optional<Matrix> first = matrix_of(right), second = matrix_of(left);
  const std::optional<Batches> rights = batches_of(right), lefts = batches_of(left);
  if (!first || !second || !rights || !lefts || rights->count != lefts->count) return false;
  if (p.m * p.n * p.k * lefts->count < kLargeProduct) return false;
  p.a_by_rows = !first->by_rows;
  p.b_by_rows = !second->by_rows;
  p.a_stride = first->stride;
  p.b_stride = second->stride;
  p.c_stride = p.m;
  p.batches = lefts->count;
  p.a_batch = rights->stride;
  p.b_batch = lefts->stride;
  p.c_batch = p.m * p.n;
  return multiply(call, p, address_of(b), address_of(a), address_of(c));
}

// A matrix of this dtype, row behind row: the operand itself, or a copy.
struct Dense {
  std::unique_ptr<Buffer> memory;
  StreamAddress address = 0;
};
Dense dense(const OpCall& call, const Operand& operand, DType dtype) {
  if (operand.dtype == dtype && operand.layout->is_contiguous()) return {nullptr, address_of(operand)};
  const Layout layout(operand.layout->shape());
  std::unique_ptr<Buffer> memory =
      call.runtime->allocate(static_cast<size_t>(layout.elements() * info(dtype).block_bytes), Lifetime::transient);
  const Operand copy{memory.get(), dtype, &layout};
  run_kernels({OpId::copy, nullptr, std::span(&operand, 1), std::span(&copy, 1), call.runtime});
  const StreamAddress address = stream_address(*memory, 0);
  return {std::move(memory), address};
}

// The library takes the columns of b and the rows of a one behind the other, in multiples of 16. Sums are f32, and rounded to f8 as the
// portable kernels do.
bool try_matmul_f8(const OpCall& call) {
  const Operand &a = call.inputs[0], &b = call.inputs[1], &c = call.outputs[0];
  const int last = a.layout->rank() - 1;
  Product p;
  p.type = MatrixType::f8e4m3;
  p.m = b.layout->shape()[last];
  p.n = a.layout->shape()[last - 1];
  p.k = a.layout->shape()[last];
  p.batches = c.layout->elements() / (p.m * p.n);
  if (!driver_of(call).multiplies_f8() || p.m % 16 != 0 || p.n % 16 != 0 || p.k % 16 != 0) return false;
  if (p.m * p.n * p.k * p.batches < kLargeProduct || driver_of(call).matrix_libraries().empty()) return false;
  const Layout turned = b.layout->transpose(last - 1, last), sums_layout(c.layout->shape());
  const Dense first = dense(call, {b.buffer, b.dtype, &turned}, b.dtype), second = dense(call, a, a.dtype);
  const std::unique_ptr<Buffer> sums =
      call.runtime->allocate(static_cast<size_t>(sums_layout.elements()) * sizeof(float), Lifetime::transient);
  p.a_by_rows = true;
  p.a_stride = p.b_stride = p.k;
  p.c_stride = p.m;
  p.a_batch = p.m * p.k;
  p.b_batch = p.n * p.k;
  p.c_batch = p.m * p.n;
  if (!multiply(call, p, first.address, second.address, stream_address(*sums, 0))) return false;
  const Operand unrounded{sums.get(), DType::f32, &sums_layout};
  run_kernels({OpId::copy, nullptr, std::span(&unrounded, 1), std::span(&c, 1), call.runtime});
  return true;
}

void matmul(const OpCall& call) {
  const bool is_f8 = call.inputs[0].dtype == DType::f8e4m3;
  if (is_f8 ? !try_matmul_f8(call) : !try_matmul(call)) run_kernels(call);
}

// y [rows, n] = x [rows, k] · weightᵀ; false: the library has no way.
bool multiply_weight(const OpCall& call, const Dense& x, int64_t rows, DType dtype, const Operand& weight, const Operand& y) {
  const Dense weights = dense(call, weight, dtype);
  Product p;
  p.type = *matrix_type(dtype);
  p.result = *matrix_type(y.dtype);
  p.tf32 = dtype == DType::f32 && driver_of(call).multiplies_in_tf32();
  p.m = weight.layout->shape()[0];
  p.n = rows;
  p.k = weight.layout->shape()[1];
  p.a_by_rows = true;
  p.a_stride = p.b_stride = p.k;
  p.c_stride = p.m;
  return multiply(call, p, weights.address, x.address, address_of(y));
}

// Kernels take activations of f32 and have such results.
void run_linear_kernels(const OpCall& call) {
  if (std::ranges::all_of(call.outputs, [](const Operand& y) { return y.dtype == DType::f32; })) return run_kernels(call);
  std::vector<Operand> outputs(call.outputs.begin(), call.outputs.end());
  std::vector<std::unique_ptr<Buffer>> memory;
  std::vector<Layout> layouts;
  layouts.reserve(outputs.size());
  for (Operand& y : outputs) {
    if (y.dtype == DType::f32) continue;
    const Layout& layout = layouts.emplace_back(y.layout->shape());
    memory.push_back(call.runtime->allocate(static_cast<size_t>(layout.elements()) * sizeof(float), Lifetime::transient));
    y = {memory.back().get(), DType::f32, &layout};
  }
  run_kernels({call.op, call.params, call.inputs, outputs, call.runtime});
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].dtype == call.outputs[i].dtype) continue;
    run_kernels({OpId::copy, nullptr, std::span(&outputs[i], 1), call.outputs.subspan(i, 1), call.runtime});
  }
}

struct LinearPlan {
  int64_t rows = 0;
  DType dtype = DType::f16;  // of the product's operands
};

// Activations are rounded to the dtype of the product, as the portable kernels with tiles do; weights of f8 are halves without a change.
std::optional<LinearPlan> linear_plan(const OpCall& call, std::span<const Operand> weights) {
  constexpr int64_t kMaxElements = 128 << 20;  // that are kept twice
  const Layout& x = *call.inputs[0].layout;
  const DType dtype = weights[0].dtype;
  const LinearPlan plan{x.elements() / x.shape().last(), dtype == DType::f8e4m3 ? DType::f16 : dtype};
  const bool rounds = plan.dtype != DType::f32;
  const auto& params = call.parameters<LinearParams>();
  if ((rounds && params.precise) || params.deterministic || plan.rows < kManyRows || x.shape().last() % 8 != 0) return std::nullopt;
  if (driver_of(call).matrix_libraries().empty()) return std::nullopt;
  for (const Operand& weight : weights) {
    if (weight.dtype != dtype || weight.layout->elements() * plan.rows < kLargeProduct) return std::nullopt;
    if (dtype != plan.dtype && weight.layout->elements() > kMaxElements) return std::nullopt;
  }
  return plan;
}

void linear(const OpCall& call) {
  const auto weights = call.inputs.subspan(1, call.outputs.size());
  const std::optional<LinearPlan> plan = linear_plan(call, weights);
  if (!plan) return run_linear_kernels(call);
  const Dense x = dense(call, call.inputs[0], plan->dtype);
  for (size_t i = 0; i < weights.size(); ++i) {
    if (multiply_weight(call, x, plan->rows, plan->dtype, weights[i], call.outputs[i])) continue;
    const std::array<Operand, 2> inputs{call.inputs[0], weights[i]};
    run_linear_kernels({call.op, call.params, inputs, call.outputs.subspan(i, 1), call.runtime});
  }
}

}  // namespace

OpFunction product_override_of(OpId op, DType dtype) noexcept {
  if (!matrix_type(dtype)) return nullptr;
  if (op == OpId::matmul) return &matmul;
  return op == OpId::linear ? &linear : nullptr;
}

}  // namespace wick
