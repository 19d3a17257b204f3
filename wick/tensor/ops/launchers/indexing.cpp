#include "wick/tensor/ops/launchers/indexing.h"

#include <array>
#include <bit>
#include <vector>

#include "wick/kernels/indexing.h"
#include "wick/tensor/ops/launchers/ids.h"
#include "wick/tensor/ops/launchers/launcher.h"
#include "wick/tensor/ops/launchers/launchers.h"
#include "wick/tensor/ops/launchers/sort.h"

namespace wick::launchers {
namespace {

// `shape` as if every step along `dim` led nowhere: ids say where to go there.
Layout standing_still(const Layout& layout, const Shape& shape, int dim) {
  std::vector<int64_t> strides(layout.strides().begin(), layout.strides().end());
  strides[static_cast<size_t>(dim)] = 0;
  return {shape, strides, layout.offset()};
}

// One id for each slice, for every element of a tensor of that shape.
Layout spread(const Layout& ids, const Shape& shape, int dim) {
  std::vector<int64_t> strides(static_cast<size_t>(shape.rank()), 0);
  strides[static_cast<size_t>(dim)] = ids.stride(0);
  return {shape, strides, ids.offset()};
}

// Writes source into y where the ids say. Equal ids of a line come together by sorting it, so that one lane writes all that goes to an
// element of y, in order. `ids` has the lines in the order in which `keys`, which goes over source, steps through them.
void put(const OpCall& call, const CheckedIds& ids, int64_t lines, const Layout& keys, int dim, kernels::Repeated repeated) {
  Runtime& runtime = *call.runtime;
  const Operand &source = call.inputs[1], &y = call.outputs[0];
  const int64_t length = source.layout->shape()[dim];
  const SortedRows sorted = sort_rows(runtime, *ids.buffer, lines, length, 1);
  const Layout y_layout = standing_still(*y.layout, source.layout->shape(), dim);
  const Layout source_layout = standing_still(*source.layout, source.layout->shape(), dim);
  const Operand target{y.buffer, y.dtype, &y_layout}, from{source.buffer, source.dtype, &source_layout};
  const Operand sorted_keys{sorted.keys.get(), DType::u32, &keys};
  // Elements that only move are told apart by their size.
  const auto bytes = static_cast<uint32_t>(info(y.dtype).block_bytes);
  const ProgramKey key = repeated == kernels::Repeated::sum ? ProgramKey("put_sum", {number_of(y.dtype)}) : ProgramKey("put_last", {bytes});
  launch_strided(
      runtime, key, [&](uint32_t rank) { return kernels::put(y.dtype, repeated, rank, runtime.caps()); }, {&target, &from, &sorted_keys},
      Arguments()
          .size(length)
          .size(std::bit_width(static_cast<uint64_t>(length)))
          .stride(source.layout->stride(dim))
          .stride(y.layout->stride(dim)),
      Arguments().buffer(*sorted.order));
}

// read(ids) for the ids as u32, which are looked at on the device only where the host does not know them.
template <class Read>
void read_checked(const OpCall& call, const Operand& ids, int dim, int64_t extent, const Read& read) {
  if (host_has_checked(call, ids, extent)) return read(Operand{ids.buffer, DType::u32, ids.layout});
  const CheckedIds checked = check_ids(call, ids, dim, extent);
  read(checked.operand());
}

}  // namespace

void take(Runtime& runtime, const Operand& x, int dim, const Operand& ids, const Operand& result, const Operand* kept) {
  const auto bytes = static_cast<uint32_t>(info(x.dtype).block_bytes);
  const Layout standing = standing_still(*x.layout, result.layout->shape(), dim);
  const Operand from{x.buffer, x.dtype, &standing};
  const ProgramKey key{"take", {bytes, kept != nullptr ? 1U : 0U}};
  const MakeStrided make = [&](uint32_t rank) { return kernels::take(bytes, kept != nullptr, rank, runtime.caps()); };
  const Arguments step = Arguments().stride(x.layout->stride(dim));
  if (kept != nullptr) return launch_strided(runtime, key, make, {&from, &ids, &result, kept}, step);
  launch_strided(runtime, key, make, {&from, &ids, &result}, step);
}

void index_select(const OpCall& call) {
  const int dim = call.parameters<IndexParams>().dim;
  const Operand &x = call.inputs[0], &y = call.outputs[0];
  read_checked(call, call.inputs[1], dim, x.layout->shape()[dim], [&](const Operand& ids) {
    const Layout each = spread(*ids.layout, y.layout->shape(), dim);
    take(*call.runtime, x, dim, {ids.buffer, DType::u32, &each}, y);
  });
}

void gather(const OpCall& call) {
  const int dim = call.parameters<IndexParams>().dim;
  const Operand& x = call.inputs[0];
  read_checked(call, call.inputs[1], dim, x.layout->shape()[dim],
               [&](const Operand& ids) { take(*call.runtime, x, dim, ids, call.outputs[0]); });
}

void index_add(const OpCall& call) {
  const int dim = call.parameters<IndexParams>().dim;
  const CheckedIds ids = check_ids(call, call.inputs[0], dim, call.outputs[0].layout->shape()[dim]);
  put(call, ids, 1, spread(ids.layout, call.inputs[1].layout->shape(), dim), dim, kernels::Repeated::sum);
}

void scatter(const OpCall& call) {
  const auto& [dim, add] = call.parameters<ScatterParams>();
  const Operand& given = call.inputs[0];
  const int last = given.layout->rank() - 1;
  // Each line of ids is contiguous.
  const Layout lines(given.layout->transpose(dim, last).shape());
  const CheckedIds ids = check_ids(call, given, dim, call.outputs[0].layout->shape()[dim], lines.transpose(dim, last));
  put(call, ids, lines.elements() / lines.shape()[last], ids.layout, dim, add ? kernels::Repeated::sum : kernels::Repeated::last);
}

}  // namespace wick::launchers
