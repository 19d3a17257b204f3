#include "wick/kernels/attention.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <optional>

#include "wick/base/fail.h"
#include "wick/kernels/attention_lanes.h"
#include "wick/kernels/attention_tiles.h"
#include "wick/tensor/ops/launchers/launcher.h"
#include "wick/tensor/ops/launchers/launchers.h"

namespace wick::launchers {
namespace {

using kernels::AttentionForm;
using kernels::AttentionLanes;
using kernels::AttentionTiles;
using kernels::RowAccess;

constexpr int64_t kMaxRows = 8;            // of queries in a group of lanes
constexpr int64_t kMaxColumns = 8;         // of the output in a lane
constexpr int64_t kFewestPositions = 256;  // of a split, on the average

RowAccess cache_access_of(const Operand& keys, const Operand& values) {
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

// Whether a slot directly follows the one before it.
bool is_ascending(const Operand& operand) { return operand.layout->stride(1) >= 0; }

// Whether tiles that lanes set take less time than the other kernels: for prompts (2,048 tokens of an 8B model on an H200: 32,600 and
// 31,000 tokens/s), and for few rows a sequence after enough positions (64 sequences of 1,000 to 1,200 positions, 3,360 and 3,190 tokens/s;
// of one sequence after 4,096 positions 11 and 23 us), which subgroups share.
bool gains_by_lanes(int64_t rows_of_one, int64_t positions) { return rows_of_one > 2 * kMaxRows || positions >= 2 * kFewestPositions; }

// For fewer rows of a sequence than two groups of lanes take, tiles would be mostly empty.
std::optional<AttentionTiles> tiles_for(const AttentionForm& form, int64_t rows, int64_t width, const DeviceCaps& caps) {
  return rows > 2 * kMaxRows ? kernels::attention_tiles_of(form, width, caps) : std::nullopt;
}

// The rows of a group of lanes and the columns of each, without tiles.
void choose_lanes(AttentionForm& form, int64_t rows, int64_t width, const DeviceCaps& caps) {
  const int64_t lanes = kernels::attention_lanes(caps);
  form.rows = static_cast<uint32_t>(std::bit_ceil(static_cast<uint64_t>(std::min(rows, kMaxRows))));
  form.columns = columns_per_lane(width, lanes);
  // What the queries and weights of the rows, and the slots, take in shared memory.
  while (form.rows > 1 && ((form.columns + 1) * form.rows + 1) * static_cast<uint64_t>(lanes) * sizeof(float) > caps.max_shared_bytes / 2)
    form.rows /= 2;
}

const Program& program_for(Runtime& runtime, const AttentionForm& form, const std::optional<AttentionLanes>& lanes,
                           const std::optional<AttentionTiles>& tiles, int64_t width) {
  const uint32_t cache = number_of(form.cache), access = static_cast<uint32_t>(form.access), variant = form.variant();
  if (lanes) {
    const auto columns = static_cast<uint32_t>(width);
    return runtime.program({"attention_by_lanes", {columns, lanes->row_subgroups, lanes->key_subgroups, lanes->staged ? 1U : 0U, variant}},
                           [&] { return kernels::attention_by_lanes(form, columns, *lanes); });
  }
  if (tiles) {
    const auto columns = static_cast<uint32_t>(width);
    return runtime.program({"attention_tiles", {cache, columns, variant}}, [&] { return kernels::attention_tiles(form, columns, *tiles); });
  }
  return runtime.program({"attention", {cache, access, form.rows, form.columns, variant}},
                         [&] { return kernels::attention(form, runtime.caps()); });
}

// How many splits give every part of the device something to do.
int64_t splits_for(int64_t groups, int64_t positions, const DeviceCaps& caps) {
  const int64_t wanted = (2 * int64_t{caps.compute_units} + groups - 1) / groups;
  return std::clamp<int64_t>(positions / kFewestPositions, 1, std::max<int64_t>(wanted, 1));
}

// The operands of a call, by name.
struct AttentionOperands {
  const Operand &query, &keys, &values, &starts, &lengths, &table;
  const Operand *sinks = nullptr, *slopes = nullptr, *mask = nullptr;
  const Operand& out;
  const Operand* logarithms;

  AttentionOperands(const OpCall& call, const AttentionParams& params)
      : query(call.inputs[0]),
        keys(call.inputs[1]),
        values(call.inputs[2]),
        starts(call.inputs[3]),
        lengths(call.inputs[4]),
        table(call.inputs[5]),
        out(call.outputs[0]),
        logarithms(call.outputs.size() > 1 ? &call.outputs[1] : nullptr) {
    size_t bias = 6;
    if (params.has_sinks) sinks = &call.inputs[bias++];
    if (params.has_slopes) slopes = &call.inputs[bias++];
    if (params.has_mask) mask = &call.inputs[bias++];
  }
};

AttentionForm form_of(const AttentionOperands& o, const AttentionParams& params) {
  return {.cache = o.keys.dtype,
          .access = cache_access_of(o.keys, o.values),
          .fixed = params.deterministic,
          .paged = o.table.layout->shape()[1] > 1,
          .causal = params.causal,
          .window = params.window > 0,
          .chunk = params.chunk > 0,
          .softcap = params.softcap > 0,
          .slopes = params.has_slopes,
          .mask = params.has_mask,
          .sinks = params.has_sinks,
          .logarithms = o.logarithms != nullptr,
          .halves = o.out.dtype == DType::f16};
}

// A sequence has as many positions as params.longest says, or its row of the table, and in a window or chunk only those count.
int64_t positions_of(const AttentionOperands& o, const AttentionParams& params, int64_t tokens) {
  int64_t positions = o.table.layout->shape()[1] * params.block_size;
  for (const int64_t bound :
       {params.longest, params.window > 0 ? params.window + tokens : 0, params.chunk > 0 ? params.chunk + tokens : 0}) {
    if (bound > 0) positions = std::min(positions, bound);
  }
  return positions;
}

// The same number for all batches: so many that each has its positions, wherever a sequence's window begins.
int64_t fixed_splits(const AttentionOperands& o, const AttentionParams& params, const DeviceCaps& caps) {
  const int64_t table = o.table.layout->shape()[1] * params.block_size;
  const int64_t positions = params.longest > 0 ? std::min(table, params.longest) : table;
  const int64_t length = kernels::attention_fixed_length(kernels::attention_lanes(caps));
  return std::max<int64_t>(1, (positions + length - 1) / length);
}

// Sizes that no number of 32 bits holds are as good as the largest that one does.
int64_t limited(int64_t value) { return std::min<int64_t>(value, std::numeric_limits<int32_t>::max()); }

void add_form(Arguments& arguments, const AttentionForm& form, const AttentionOperands& o, const AttentionParams& params) {
  if (form.paged) arguments.size(o.table.layout->shape()[1]).size(params.block_size);
  if (form.window) arguments.size(limited(params.window));
  if (form.chunk) arguments.size(limited(params.chunk));
  if (form.softcap) arguments.number(params.softcap);
  if (form.slopes) arguments.size(first_of(*o.slopes));
  if (!form.mask) return;
  check_range(*o.mask);
  arguments.size(o.mask->layout->offset());
  for (const int dim : {0, 1, 2}) arguments.stride(o.mask->layout->stride(dim));
}

// Behind all others.
void add_row_end(Arguments& arguments, const AttentionOperands& o) {
  for (const Operand* operand : {o.sinks, o.logarithms}) {
    if (operand != nullptr) arguments.buffer(*operand).size(first_of(*operand));
  }
}

}  // namespace

void attention(const OpCall& call) {
  const auto& params = call.parameters<AttentionParams>();
  const AttentionOperands o(call, params);
  Runtime& runtime = *call.runtime;
  const DeviceCaps& caps = runtime.caps();
  const Shape& q = o.query.layout->shape();
  const int64_t tokens = q[0], heads = q[1], width = q[2], value_width = o.values.layout->shape()[2];
  const int64_t kv_heads = o.keys.layout->shape()[0], group = heads / kv_heads, sequences = o.lengths.layout->shape()[0];
  const int64_t rows = tokens * group, rows_of_one = (tokens + sequences - 1) / sequences * group;
  AttentionForm form = form_of(o, params);
  // Where its own ends want more buffers than a device has to have, or results of another dtype, the joining of one split takes them.
  constexpr int kMaxBuffers = 8;
  const int biases = static_cast<int>(form.slopes) + static_cast<int>(form.mask);
  const bool may_end = 6 + biases + static_cast<int>(form.sinks) + static_cast<int>(form.logarithms) <= kMaxBuffers;
  const bool may_tile = !params.precise && !params.deterministic && width == value_width && is_ascending(o.keys) && is_ascending(o.values);
  const int64_t positions = positions_of(o, params, tokens);
  const bool by_quads = o.query.layout->offset() % 4 == 0 && o.out.layout->offset() % 4 == 0;
  const auto lanes = may_tile && by_quads && gains_by_lanes(rows_of_one, positions)
                         ? kernels::attention_lanes_of(form, width, params.block_size, rows_of_one, positions, caps)
                         : std::nullopt;
  const auto tiles = may_tile && !lanes ? tiles_for(form, rows_of_one, width, caps) : std::nullopt;
  if (!tiles && !lanes) choose_lanes(form, rows_of_one, std::max(width, value_width), caps);
  const int64_t block = lanes ? lanes->rows() : tiles ? tiles->rows() : form.rows;
  const int64_t blocks = sequences == 1 ? (rows + block - 1) / block : rows / block + sequences;
  const int64_t groups = (rows + block - 1) / block * kv_heads;
  const bool fills = lanes && groups >= caps.compute_units;
  const int64_t splits = params.deterministic ? fixed_splits(o, params, caps) : fills ? 1 : splits_for(groups, positions, caps);
  form.splits = splits > 1 || !may_end || (form.halves && !lanes);
  const Program& program = program_for(runtime, form, lanes, tiles, width);
  const InOneBuffer bounds(runtime, o.starts, o.lengths);
  Arguments arguments;
  arguments.buffer(o.query).buffer(o.keys).buffer(o.values).buffer(bounds.buffer()).buffer(o.table);
  for (const Operand* operand : {o.slopes, o.mask}) {
    if (operand != nullptr) arguments.buffer(*operand);
  }
  std::unique_ptr<Buffer> parts;
  const int64_t stats_offset = tokens * heads * splits * value_width;
  if (form.splits) {
    parts = runtime.allocate(static_cast<size_t>(tokens * heads * splits * (value_width + 2)) * sizeof(float), Lifetime::transient);
    arguments.buffer(*parts);
  } else {
    arguments.buffer(o.out);
  }
  arguments.size(width).size(value_width).size(o.query.layout->offset());
  add_view(arguments, o.keys);
  add_view(arguments, o.values);
  arguments.size(group).size(heads).number(params.scale).size(form.splits ? 0 : o.out.layout->offset());
  arguments.size(tokens).size(sequences).size(std::bit_width(static_cast<uint64_t>(sequences - 1)));
  arguments.size(bounds.first()).size(bounds.second()).size(first_of(o.table)).size(limited(params.block_size));
  if (form.splits) arguments.size(stats_offset);
  add_form(arguments, form, o, params);
  if (!form.splits) add_row_end(arguments, o);
  launch(runtime, program, {static_cast<uint32_t>(blocks), static_cast<uint32_t>(kv_heads), static_cast<uint32_t>(splits)}, arguments);
  if (!form.splits) return;
  const DType result = o.out.dtype;
  const Program& join = runtime.program({"attention_join", {number_of(result), form.sinks ? 1U : 0U, form.logarithms ? 1U : 0U}},
                                        [&] { return kernels::attention_join(result, form.sinks, form.logarithms, caps); });
  Arguments ends;
  ends.buffer(*parts).buffer(o.out).size(value_width).size(splits).size(heads).size(stats_offset).size(o.out.layout->offset());
  add_row_end(ends, o);
  launch(runtime, join, {static_cast<uint32_t>(tokens * heads), 1, 1}, ends);
}

}  // namespace wick::launchers
