#include "wick/backend/cuda/cublaslt.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "wick/backend/cuda/compiler.h"
#include "wick/backend/cuda/cuda.h"
#include "wick/base/fail.h"

namespace wick::cuda {
namespace {

// The library's numbers that we use, as its interface fixes them.
constexpr int kSumsF32 = 68, kSumsTf32 = 77, kTypeF32 = 0;
constexpr int kTransposeA = 3, kTransposeB = 4;        // of a description
constexpr int kBatchCount = 5, kBatchStride = 6;       // of a layout
constexpr int kWorkspaceBytes = 1, kAlignmentOfA = 5;  // of a preference; b, c and d follow a
constexpr int32_t kPlain = 0, kTransposed = 1;
constexpr int kNotSupported = 15;

// What NVIDIA advises for its newest processors.
constexpr size_t kWorkspace = size_t{32} << 20;

struct Choice {
  std::array<uint64_t, 8> algorithm;
  size_t workspace;
  int status;
  float waves;
  std::array<int, 4> reserved;
};

// The largest power of two up to 256 that divides it.
int64_t alignment_of(StreamAddress address) { return static_cast<int64_t>(std::min<StreamAddress>(256, address & (~address + 1))); }

}  // namespace

CublasLt::CublasLt(StreamContext context, int driver_version)
    : library_(open_first(libraries_of("cublasLt", driver_version), "NVIDIA's library of matrix products", remedy_for("libcublas"))),
      context_(std::move(context)) {
  bind_all();
  context_.make_current();
  check(functions_.create(&handle_), "cublasLtCreate");
}

CublasLt::~CublasLt() {
  if (!context_.enter()) return;
  for (const auto& [key, plan] : plans_) {
    functions_.description_destroy(plan.description);
    for (void* layout : {plan.a, plan.b, plan.c}) functions_.layout_destroy(layout);
  }
  functions_.destroy(handle_);
}

void CublasLt::bind_all() {
  const auto bind = [this]<class Function>(const char* name, Function*& function) {
    function = library_->function<Function>(name);
    if (function == nullptr) fail(ErrorCode::unsupported, "library {} has no {}", library_->name(), name);
  };
  bind("cublasLtCreate", functions_.create);
  bind("cublasLtDestroy", functions_.destroy);
  bind("cublasLtMatmulDescCreate", functions_.description_create);
  bind("cublasLtMatmulDescSetAttribute", functions_.description_set);
  bind("cublasLtMatmulDescDestroy", functions_.description_destroy);
  bind("cublasLtMatrixLayoutCreate", functions_.layout_create);
  bind("cublasLtMatrixLayoutSetAttribute", functions_.layout_set);
  bind("cublasLtMatrixLayoutDestroy", functions_.layout_destroy);
  bind("cublasLtMatmulPreferenceCreate", functions_.preference_create);
  bind("cublasLtMatmulPreferenceSetAttribute", functions_.preference_set);
  bind("cublasLtMatmulPreferenceDestroy", functions_.preference_destroy);
  bind("cublasLtMatmulAlgoGetHeuristic", functions_.choose);
  bind("cublasLtMatmul", functions_.run);
  bind("cublasLtGetStatusName", functions_.status_name);
}

void CublasLt::check(int status, const char* call) const {
  if (status == 0) return;
  const std::string name = functions_.status_name(status);
  throw CudaError(ErrorCode::unsupported, fmt::format("{}: {}: {}", context_.place, call, name), {call, status, name});
}

void* CublasLt::make_layout(MatrixType type, int64_t rows, int64_t columns, int64_t stride, int64_t batches, int64_t batch) {
  void* layout = nullptr;
  check(functions_.layout_create(&layout, static_cast<int>(type), static_cast<uint64_t>(rows), static_cast<uint64_t>(columns), stride),
        "cublasLtMatrixLayoutCreate");
  const auto count = static_cast<int32_t>(batches);
  check(functions_.layout_set(layout, kBatchCount, &count, sizeof(count)), "cublasLtMatrixLayoutSetAttribute");
  check(functions_.layout_set(layout, kBatchStride, &batch, sizeof(batch)), "cublasLtMatrixLayoutSetAttribute");
  return layout;
}

void CublasLt::choose_algorithm(Plan& plan, const std::array<int64_t, 3>& alignments) {
  void* preference = nullptr;
  check(functions_.preference_create(&preference), "cublasLtMatmulPreferenceCreate");
  functions_.preference_set(preference, kWorkspaceBytes, &kWorkspace, sizeof(kWorkspace));
  for (int i = 0; i < 4; ++i) {
    const auto alignment = static_cast<uint32_t>(alignments[static_cast<size_t>(std::min(i, 2))]);
    functions_.preference_set(preference, kAlignmentOfA + i, &alignment, sizeof(alignment));
  }
  Choice choice{};
  int count = 0;
  const int status = functions_.choose(handle_, plan.description, plan.a, plan.b, plan.c, plan.c, preference, 1, &choice, &count);
  functions_.preference_destroy(preference);
  if (status != kNotSupported) check(status, "cublasLtMatmulAlgoGetHeuristic");
  plan.found = status == 0 && count > 0 && choice.status == 0;
  plan.algorithm = choice.algorithm;
}

CublasLt::Plan CublasLt::make_plan(const Product& p, const std::array<int64_t, 3>& alignments) {
  Plan plan;
  check(functions_.description_create(&plan.description, p.tf32 ? kSumsTf32 : kSumsF32, kTypeF32), "cublasLtMatmulDescCreate");
  const int32_t a = p.a_by_rows ? kTransposed : kPlain, b = p.b_by_rows ? kTransposed : kPlain;
  check(functions_.description_set(plan.description, kTransposeA, &a, sizeof(a)), "cublasLtMatmulDescSetAttribute");
  check(functions_.description_set(plan.description, kTransposeB, &b, sizeof(b)), "cublasLtMatmulDescSetAttribute");
  plan.a = make_layout(p.type, p.a_by_rows ? p.k : p.m, p.a_by_rows ? p.m : p.k, p.a_stride, p.batches, p.a_batch);
  plan.b = make_layout(p.type, p.b_by_rows ? p.n : p.k, p.b_by_rows ? p.k : p.n, p.b_stride, p.batches, p.b_batch);
  plan.c = make_layout(p.result, p.m, p.n, p.c_stride, p.batches, p.c_batch);
  choose_algorithm(plan, alignments);
  return plan;
}

bool CublasLt::multiply(const Product& p, StreamAddress a, StreamAddress b, StreamAddress c, StreamQueue& queue) {
  const std::lock_guard lock(mutex_);
  context_.make_current();
  if (workspace_ == nullptr) workspace_ = queue.allocate(kWorkspace);
  if (workspace_ == nullptr) return false;
  const std::array<int64_t, 3> alignments{alignment_of(a), alignment_of(b), alignment_of(c)};
  const Key key{static_cast<int64_t>(p.type),
                static_cast<int64_t>(p.result),
                p.a_by_rows,
                p.b_by_rows,
                p.m,
                p.n,
                p.k,
                p.a_stride,
                p.b_stride,
                p.c_stride,
                p.batches,
                p.a_batch,
                p.b_batch,
                p.c_batch,
                alignments[0],
                alignments[1],
                alignments[2],
                p.tf32};
  auto found = plans_.find(key);
  if (found == plans_.end()) found = plans_.emplace(key, make_plan(p, alignments)).first;
  const Plan& plan = found->second;
  if (!plan.found) return false;
  constexpr float kOne = 1, kZero = 0;
  const auto pointer = [](StreamAddress address) { return reinterpret_cast<void*>(address); };
  check(functions_.run(handle_, plan.description, &kOne, pointer(a), plan.a, pointer(b), plan.b, &kZero, pointer(c), plan.c, pointer(c),
                       plan.c, plan.algorithm.data(), pointer(workspace_->address()), kWorkspace, queue.stream()),
        "cublasLtMatmul");
  return true;
}

}  // namespace wick::cuda
