#include "wick/tensor/ops/launchers/ids.h"

#include <algorithm>
#include <limits>
#include <span>

#include "wick/base/fail.h"
#include "wick/kernels/indexing.h"
#include "wick/tensor/ops/index_ids.h"
#include "wick/tensor/ops/launchers/launcher.h"
#include "wick/tensor/ops/reference.h"

namespace wick::launchers {
namespace {

// Says which id it is. The host reads them all as the reference loops do, which find the first.
void fail_for(const OpCall& call, const Operand& ids, int dim, int64_t extent) {
  (void)checked_ids(call.op, download_reference(*call.runtime, ids), dim, extent);
}

}  // namespace

bool host_has_checked(const OpCall& call, const Operand& ids, int64_t extent) {
  if (ids.host_ids.empty() || !ids.layout->is_contiguous() || call.runtime->is_recording()) return false;
  const std::span<const int32_t> own =
      ids.host_ids.subspan(static_cast<size_t>(ids.layout->offset()), static_cast<size_t>(ids.layout->elements()));
  return std::all_of(own.begin(), own.end(), [&](int32_t id) { return id >= 0 && id < extent; });
}

CheckedIds check_ids(const OpCall& call, const Operand& ids, int dim, int64_t extent, const Layout& layout) {
  Runtime& runtime = *call.runtime;
  Queue& queue = runtime.queue();
  // 64-bit ids are counted in words.
  if (ids.dtype == DType::i64 && ids.layout->touched_range().second > std::numeric_limits<int32_t>::max()) {
    fail(ErrorCode::unsupported, "{}: ids {} of i64 lie beyond the 2^31st of their buffer; copy them", to_string(call.op),
         ids.layout->shape().to_string());
  }
  CheckedIds checked{runtime.allocate(static_cast<size_t>(layout.elements()) * sizeof(uint32_t), Lifetime::transient), layout};
  const std::unique_ptr<Buffer> fault = runtime.allocate(sizeof(uint32_t), Lifetime::transient);
  queue.fill(*fault, 0, sizeof(uint32_t), std::byte{0});
  const Operand result = checked.operand();
  launch_strided(
      runtime, {"check_ids", {number_of(ids.dtype)}}, [&](uint32_t rank) { return kernels::check_ids(ids.dtype, rank, runtime.caps()); },
      {&ids, &result}, Arguments().size(extent), Arguments().buffer(*fault));
  uint32_t found = 0;
  queue.download(*fault, 0, reinterpret_cast<std::byte*>(&found), sizeof(found));
  if (found != 0) fail_for(call, ids, dim, extent);
  return checked;
}

}  // namespace wick::launchers
