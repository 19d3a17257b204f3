#include "wick/device/streams/planned_products.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "wick/base/fail.h"

namespace wick {
namespace {

// What NVIDIA and AMD advise for their newest processors.
constexpr size_t kWorkspace = size_t{32} << 20;

// What the library says of its choice, behind the algorithm.
struct Verdict {
  size_t workspace;
  int status;
  float waves;
  std::array<int, 4> reserved;
};

// The largest power of two up to 256 that divides it.
int64_t alignment_of(StreamAddress address) { return static_cast<int64_t>(std::min<StreamAddress>(256, address & (~address + 1))); }

}  // namespace

PlannedProducts::PlannedProducts(std::shared_ptr<const DynamicLibrary> library, const PlannedProductsNames& names, StreamContext context)
    : library_(std::move(library)), names_(names), context_(std::move(context)) {
  WICK_ASSERT(names_.algorithm_bytes <= sizeof(Algorithm));
  bind_all();
  context_.make_current();
  check(functions_.create(&handle_), "Create");
}

PlannedProducts::~PlannedProducts() {
  if (!context_.enter()) return;
  for (const auto& [key, plan] : plans_) {
    functions_.description_destroy(plan.description);
    for (void* layout : {plan.a, plan.b, plan.c}) functions_.layout_destroy(layout);
  }
  functions_.destroy(handle_);
}

void PlannedProducts::bind_all() {
  const auto bind = [this]<class Function>(std::string_view name, Function*& function) {
    library_->bind(fmt::format("{}{}", names_.prefix, name).c_str(), function);
  };
  bind("Create", functions_.create);
  bind("Destroy", functions_.destroy);
  bind("MatmulDescCreate", functions_.description_create);
  bind("MatmulDescSetAttribute", functions_.description_set);
  bind("MatmulDescDestroy", functions_.description_destroy);
  bind("MatrixLayoutCreate", functions_.layout_create);
  bind("MatrixLayoutSetAttribute", functions_.layout_set);
  bind("MatrixLayoutDestroy", functions_.layout_destroy);
  bind("MatmulPreferenceCreate", functions_.preference_create);
  bind("MatmulPreferenceSetAttribute", functions_.preference_set);
  bind("MatmulPreferenceDestroy", functions_.preference_destroy);
  bind("MatmulAlgoGetHeuristic", functions_.choose);
  bind("Matmul", functions_.run);
  if (names_.names_statuses) bind("GetStatusName", functions_.status_name);
}

void PlannedProducts::check(int status, std::string_view name) const {
  if (status == 0) return;
  const std::string call = fmt::format("{}{}", names_.prefix, name);
  const std::string text = functions_.status_name != nullptr ? functions_.status_name(status) : fmt::format("status {}", status);
  context_.api->raise(ErrorCode::unsupported, fmt::format("{}: {}: {}", context_.place, call, text), {call, status, text});
}

void* PlannedProducts::make_layout(MatrixType type, int64_t rows, int64_t columns, int64_t stride, int64_t batches, int64_t batch) {
  void* layout = nullptr;
  check(functions_.layout_create(&layout, names_.types[static_cast<size_t>(type)], static_cast<uint64_t>(rows),
                                 static_cast<uint64_t>(columns), stride),
        "MatrixLayoutCreate");
  const auto count = static_cast<int32_t>(batches);
  check(functions_.layout_set(layout, names_.batch_count, &count, sizeof(count)), "MatrixLayoutSetAttribute");
  check(functions_.layout_set(layout, names_.batch_stride, &batch, sizeof(batch)), "MatrixLayoutSetAttribute");
  return layout;
}

void PlannedProducts::choose_algorithm(Plan& plan, const std::array<int64_t, 3>& alignments) {
  void* preference = nullptr;
  check(functions_.preference_create(&preference), "MatmulPreferenceCreate");
  functions_.preference_set(preference, names_.workspace_bytes, &kWorkspace, sizeof(kWorkspace));
  for (int i = 0; i < 4 && names_.alignment_of_a >= 0; ++i) {
    const auto alignment = static_cast<uint32_t>(alignments[static_cast<size_t>(std::min(i, 2))]);
    functions_.preference_set(preference, names_.alignment_of_a + i, &alignment, sizeof(alignment));
  }
  alignas(uint64_t) std::array<std::byte, sizeof(Algorithm) + sizeof(Verdict)> choice{};
  int count = 0;
  const int status = functions_.choose(handle_, plan.description, plan.a, plan.b, plan.c, plan.c, preference, 1, choice.data(), &count);
  functions_.preference_destroy(preference);
  if (status != PlannedProductsNames::kNotSupported) check(status, "MatmulAlgoGetHeuristic");
  Verdict verdict{};
  std::memcpy(&verdict, choice.data() + names_.algorithm_bytes, sizeof(verdict));
  std::memcpy(plan.algorithm.data(), choice.data(), names_.algorithm_bytes);
  plan.found = status == 0 && count > 0 && verdict.status == 0;
}

PlannedProducts::Plan PlannedProducts::make_plan(const Product& p, const std::array<int64_t, 3>& alignments) {
  Plan plan;
  check(functions_.description_create(&plan.description, p.tf32 ? names_.sums_tf32 : names_.sums_f32,
                                      names_.types[static_cast<size_t>(MatrixType::f32)]),
        "MatmulDescCreate");
  const int32_t a = p.a_by_rows ? names_.transposed : names_.plain, b = p.b_by_rows ? names_.transposed : names_.plain;
  check(functions_.description_set(plan.description, names_.transpose_a, &a, sizeof(a)), "MatmulDescSetAttribute");
  check(functions_.description_set(plan.description, names_.transpose_b, &b, sizeof(b)), "MatmulDescSetAttribute");
  plan.a = make_layout(p.type, p.a_by_rows ? p.k : p.m, p.a_by_rows ? p.m : p.k, p.a_stride, p.batches, p.a_batch);
  plan.b = make_layout(p.type, p.b_by_rows ? p.n : p.k, p.b_by_rows ? p.k : p.n, p.b_stride, p.batches, p.b_batch);
  plan.c = make_layout(p.result, p.m, p.n, p.c_stride, p.batches, p.c_batch);
  choose_algorithm(plan, alignments);
  return plan;
}

bool PlannedProducts::multiply(const Product& p, StreamAddress a, StreamAddress b, StreamAddress c, StreamQueue& queue) {
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
        "Matmul");
  return true;
}

}  // namespace wick
