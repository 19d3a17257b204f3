#include "wick/tensor/ops/launchers/sort.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "wick/kernels/order_key.h"
#include "wick/kernels/sort.h"
#include "wick/tensor/ops/launchers/indexing.h"
#include "wick/tensor/ops/launchers/launcher.h"
#include "wick/tensor/ops/launchers/launchers.h"

namespace wick::launchers {
namespace {

SortedRows allocate_rows(Runtime& runtime, int64_t count, uint32_t words) {
  const auto bytes = static_cast<size_t>(count) * sizeof(uint32_t);
  return {runtime.allocate(bytes * words, Lifetime::transient), runtime.allocate(bytes, Lifetime::transient)};
}

}  // namespace

SortedRows sort_rows(Runtime& runtime, const Buffer& keys, int64_t rows, int64_t length, uint32_t words) {
  const int64_t count = rows * length;
  SortedRows sorted = allocate_rows(runtime, count, words);
  const int64_t run = std::min<int64_t>(kernels::kSortBlock, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(length))));
  const int64_t runs = (length + run - 1) / run, runs_per_group = kernels::kSortBlock / run;
  const Program& sort = runtime.program({"sort_runs", {words}}, [&] { return kernels::sort_runs(words, runtime.caps()); });
  launch(runtime, sort, group_grid(sort, (rows * runs + runs_per_group - 1) / runs_per_group, runtime.caps()),
         Arguments()
             .buffer(keys)
             .buffer(*sorted.keys)
             .buffer(*sorted.order)
             .size(length)
             .size(runs)
             .size(std::countr_zero(static_cast<uint64_t>(run)))
             .size(rows * runs));
  if (run >= length) return sorted;
  const Program& merge = runtime.program({"merge_runs", {words}}, [&] { return kernels::merge_runs(words, runtime.caps()); });
  SortedRows other = allocate_rows(runtime, count, words);
  for (int64_t merged = run; merged < length; merged *= 2) {
    launch(runtime, merge, kernels::groups_for(merge.kernel(), static_cast<uint64_t>(count), runtime.caps()),
           Arguments()
               .buffer(*sorted.keys)
               .buffer(*sorted.order)
               .buffer(*other.keys)
               .buffer(*other.order)
               .size(count)
               .size(length)
               .size(merged)
               .size(std::bit_width(static_cast<uint64_t>(merged))));
    std::swap(sorted, other);
  }
  return sorted;
}

void sort(const OpCall& call) {
  Runtime& runtime = *call.runtime;
  const Operand &x = call.inputs[0], &values = call.outputs[0], &indices = call.outputs[1];
  const Layout& shape = *x.layout;
  const int last = shape.rank() - 1;
  const int64_t length = shape.shape()[last], rows = shape.elements() / length, kept = values.layout->shape()[last];
  const uint32_t words = kernels::key_words(x.dtype);
  const std::unique_ptr<Buffer> keys =
      runtime.allocate(static_cast<size_t>(shape.elements()) * words * sizeof(uint32_t), Lifetime::transient);
  const Layout key_layout(shape.shape());
  const Operand key_operand{keys.get(), DType::u32, &key_layout};
  launch_strided(
      runtime, {"order_keys", {number_of(x.dtype)}}, [&](uint32_t rank) { return kernels::order_keys(x.dtype, rank, runtime.caps()); },
      {&x, &key_operand}, Arguments().bits(call.parameters<SortParams>().descending ? 0xffffffffU : 0U));
  const SortedRows sorted = sort_rows(runtime, *keys, rows, length, words);
  // The first of each row's order are the indices, and say which values go with them.
  const Layout first = key_layout.narrow(last, 0, kept);
  take(runtime, x, last, {sorted.order.get(), DType::u32, &first}, values, &indices);
}

}  // namespace wick::launchers
