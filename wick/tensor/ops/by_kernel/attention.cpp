#include "wick/kernels/attention.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>

#include "wick/base/fail.h"
#include "wick/kernels/attention_tiles.h"
#include "wick/tensor/ops/by_kernel/by_kernel.h"
#include "wick/tensor/ops/by_kernel/launcher.h"

namespace wick::by_kernel {
namespace {

using kernels::AttentionForm;
using kernels::AttentionTiles;
using kernels::RowAccess;

constexpr int64_t kMaxRows = 8;            // of queries in a group of lanes
constexpr int64_t kMaxColumns = 8;         // of the output in a lane
constexpr int64_t kFewestPositions = 256;  // that a split is worth its share of the joining

RowAccess access_of(const Operand& keys, const Operand& values) {
  if (is_quantized(keys.dtype)) return RowAccess::blocks;
  const int64_t vector = 16 / info(keys.dtype).block_bytes;
  for (const Operand* operand : {&keys, &values}) {
    const Layout& layout = *operand->layout;
    if (layout.shape()[2] % vector != 0 || layout.offset() % vector != 0) return RowAccess::elements;
    for (const int dim : {0, 1}) {
      if (layout.stride(dim) % vector != 0) return RowAccess::elements;
    }
  }
  return RowAccess::vectors;
}

void add_view(Arguments& arguments, const Operand& operand) {
  const int64_t unit = is_quantized(operand.dtype) ? 16 : 1;
  const Layout& layout = *operand.layout;
  arguments.size(layout.offset() / unit).stride(layout.stride(0) / unit).stride(layout.stride(1) / unit);
}

uint32_t columns_per_lane(int64_t width, int64_t lanes) {
  const auto columns = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>((width + lanes - 1) / lanes)));
  if (columns > kMaxColumns) fail(ErrorCode::unsupported, "attention: heads of {} elements; a kernel takes {}", width, kMaxColumns * lanes);
  return static_cast<uint32_t>(columns);
}

// Whether a position lies behind the one before it.
bool is_ascending(const Operand& operand) { return operand.layout->stride(1) >= 0; }

// For fewer rows than two groups of lanes take, tiles would be mostly empty.
std::optional<AttentionTiles> tiles_for(const AttentionForm& form, int64_t rows, int64_t width, const DeviceCaps& caps) {
  return rows > 2 * kMaxRows ? kernels::attention_tiles_of(form, width, caps) : std::nullopt;
}

// The rows of a group of lanes and the columns of each, without tiles.
void choose_lanes(AttentionForm& form, int64_t rows, int64_t width, const DeviceCaps& caps) {
  const int64_t lanes = kernels::attention_lanes(caps);
  form.rows = static_cast<uint32_t>(std::bit_ceil(static_cast<uint64_t>(std::min(rows, kMaxRows))));
  form.columns = columns_per_lane(width, lanes);
  // What the queries and weights of the rows take in shared memory.
  while (form.rows > 1 && (form.columns + 1) * form.rows * static_cast<uint64_t>(lanes) * sizeof(float) > caps.max_shared_bytes / 2)
    form.rows /= 2;
}

const Program& program_for(Runtime& runtime, const AttentionForm& form, const std::optional<AttentionTiles>& tiles, int64_t width) {
  const uint32_t cache = number_of(form.cache), access = static_cast<uint32_t>(form.access), splits = form.splits ? 1 : 0;
  if (tiles) {
    const auto columns = static_cast<uint32_t>(width);
    return runtime.program({"attention_tiles", {cache, columns, splits}}, [&] { return kernels::attention_tiles(form, columns, *tiles); });
  }
  return runtime.program({"attention", {cache, access, form.rows, form.columns, splits}},
                         [&] { return kernels::attention(form, runtime.caps()); });
}

// How many splits give every part of the device something to do.
int64_t splits_for(int64_t groups, int64_t positions, const DeviceCaps& caps) {
  const int64_t wanted = (2 * int64_t{caps.compute_units} + groups - 1) / groups;
  return std::clamp<int64_t>(positions / kFewestPositions, 1, std::max<int64_t>(wanted, 1));
}

}  // namespace

void attention(const OpCall& call) {
  const Operand &query = call.inputs[0], &keys = call.inputs[1], &values = call.inputs[2], &out = call.outputs[0];
  const auto& params = call.parameters<AttentionParams>();
  Runtime& runtime = *call.runtime;
  const DeviceCaps& caps = runtime.caps();
  const Shape& q = query.layout->shape();
  const int64_t tokens = q[0], heads = q[1], width = q[2], kv_heads = keys.layout->shape()[0], group = heads / kv_heads;
  const int64_t rows = tokens * group, positions = params.past + tokens;
  AttentionForm form{.cache = keys.dtype, .access = access_of(keys, values)};
  const auto tiles = params.precise || !is_ascending(keys) || !is_ascending(values) ? std::nullopt : tiles_for(form, rows, width, caps);
  if (!tiles) choose_lanes(form, rows, width, caps);
  const int64_t block = tiles ? tiles->rows() : form.rows, step = tiles ? kernels::kAttentionKeys : kernels::attention_lanes(caps);
  const int64_t blocks = (rows + block - 1) / block;
  int64_t splits = splits_for(blocks * kv_heads, positions, caps);
  const int64_t split_length = ((positions + splits - 1) / splits + step - 1) / step * step;
  splits = (positions + split_length - 1) / split_length;
  form.splits = splits > 1;
  const Program& program = program_for(runtime, form, tiles, width);
  std::unique_ptr<Buffer> parts, stats;
  Arguments arguments;
  arguments.buffer(query).buffer(keys).buffer(values);
  if (form.splits) {
    parts = runtime.allocate(static_cast<size_t>(tokens * heads * splits * width) * sizeof(float), Lifetime::transient);
    stats = runtime.allocate(static_cast<size_t>(tokens * heads * splits * 2) * sizeof(float), Lifetime::transient);
    arguments.buffer(*parts).buffer(*stats);
  } else {
    arguments.buffer(out);
  }
  arguments.size(width).size(query.layout->offset());
  add_view(arguments, keys);
  add_view(arguments, values);
  arguments.size(group).size(heads).size(params.past).size(rows).size(split_length).number(params.scale);
  arguments.size(form.splits ? 0 : out.layout->offset());
  launch(runtime, program, {static_cast<uint32_t>(blocks), static_cast<uint32_t>(kv_heads), static_cast<uint32_t>(splits)}, arguments);
  if (!form.splits) return;
  const Program& join = runtime.program({"attention_join", {}}, [&] { return kernels::attention_join(caps); });
  launch(runtime, join, {static_cast<uint32_t>(tokens * heads), 1, 1},
         Arguments().buffer(*parts).buffer(*stats).buffer(out).size(width).size(splits).size(out.layout->offset()));
}

}  // namespace wick::by_kernel
