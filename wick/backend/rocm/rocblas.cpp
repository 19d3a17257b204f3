#include "wick/backend/rocm/rocblas.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "wick/backend/rocm/rocm.h"

namespace wick::rocm {
namespace {

// The library's numbers, as its header (rocblas-types.h of ROCm 5 and 6) fixes them. Not tried on hardware yet.
constexpr int kPlain = 111, kTransposed = 112;
constexpr int kF16 = 150, kF32 = 151, kBf16 = 168;
constexpr int kNotImplemented = 2;
constexpr int kDefaultAlgorithm = 0;

std::optional<int> number_of(MatrixType type) {
  switch (type) {
    case MatrixType::f32: return kF32;
    case MatrixType::f16: return kF16;
    case MatrixType::bf16: return kBf16;
    case MatrixType::f8e4m3: return std::nullopt;
  }
  return std::nullopt;
}

// It counts rows and columns in 32 bits.
bool fits(const Product& p) {
  return std::max({p.m, p.n, p.k, p.a_stride, p.b_stride, p.c_stride, p.batches}) <= std::numeric_limits<int32_t>::max();
}

}  // namespace

RocBlas::RocBlas(std::shared_ptr<const DynamicLibrary> library, StreamContext context)
    : library_(std::move(library)), context_(std::move(context)) {
  library_->bind("rocblas_create_handle", functions_.create);
  library_->bind("rocblas_destroy_handle", functions_.destroy);
  library_->bind("rocblas_set_stream", functions_.set_stream);
  library_->bind("rocblas_gemm_strided_batched_ex", functions_.multiply);
  library_->bind("rocblas_status_to_string", functions_.status_text);
  context_.make_current();
  check(functions_.create(&handle_), "rocblas_create_handle");
}

RocBlas::~RocBlas() {
  if (context_.enter()) functions_.destroy(handle_);
}

void RocBlas::check(int status, std::string_view call) const {
  if (status == 0) return;
  const std::string text = functions_.status_text(status);
  throw RocmError(ErrorCode::unsupported, fmt::format("{}: {}: {}", context_.place, call, text), {std::string(call), status, text});
}

bool RocBlas::multiply(const Product& p, StreamAddress a, StreamAddress b, StreamAddress c, StreamQueue& queue) {
  const std::optional<int> type = number_of(p.type), result = number_of(p.result);
  if (!type || !result || p.tf32 || !fits(p)) return false;
  const std::lock_guard lock(mutex_);
  context_.make_current();
  check(functions_.set_stream(handle_, queue.stream()), "rocblas_set_stream");
  constexpr float kOne = 1, kZero = 0;
  const auto pointer = [](StreamAddress address) { return reinterpret_cast<void*>(address); };
  const auto count = [](int64_t value) { return static_cast<int32_t>(value); };
  const int status = functions_.multiply(
      handle_, p.a_by_rows ? kTransposed : kPlain, p.b_by_rows ? kTransposed : kPlain, count(p.m), count(p.n), count(p.k), &kOne,
      pointer(a), *type, count(p.a_stride), p.a_batch, pointer(b), *type, count(p.b_stride), p.b_batch, &kZero, pointer(c), *result,
      count(p.c_stride), p.c_batch, pointer(c), *result, count(p.c_stride), p.c_batch, count(p.batches), kF32, kDefaultAlgorithm, 0, 0);
  if (status == kNotImplemented) return false;
  check(status, "rocblas_gemm_strided_batched_ex");
  return true;
}

}  // namespace wick::rocm
