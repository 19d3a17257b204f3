#include "wick/device/op_fallback.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "wick/base/fail.h"
#include "wick/device/runtime.h"

namespace wick {
namespace {

constexpr size_t kAlignment = 64;  // of memory that a Runtime allocates

struct Range {
  size_t begin = 0;
  size_t end = 0;
};

// The bytes of its buffer that an operand touches, in whole blocks.
Range touched_bytes(const Operand& operand) {
  const auto [first, last] = operand.layout->touched_range();
  if (first == last) return {};
  const DTypeInfo& entry = info(operand.dtype);
  if (entry.tail_bytes > 0) return {0, operand.buffer->bytes()};
  const int64_t block = entry.block_elements;
  return {static_cast<size_t>(first / block * entry.block_bytes), static_cast<size_t>((last + block - 1) / block * entry.block_bytes)};
}

// What one buffer's operands touch, and its copy in host memory. Operands that share a buffer share the copy, so that an op in place stays
// one.
struct HostCopy {
  Buffer* device = nullptr;
  Range range;
  size_t unit = kAlignment;  // `range` begins at a multiple: no block is cut, and alignment stays
  bool is_read = false;
  std::unique_ptr<Buffer> host;
};

bool same_bytes(Buffer& a, Buffer& b) {
  const Buffer::Place first = a.place(), second = b.place();
  return &a == &b || (first.block == second.block && first.offset == second.offset && a.bytes() == b.bytes());
}

class HostCopies {
 public:
  void add(const Operand& operand, bool is_read) {
    const Range touched = touched_bytes(operand);
    HostCopy* copy = find(operand);
    if (copy == nullptr) {
      copies_.push_back({.device = operand.buffer, .range = touched, .host = {}});
      copy = &copies_.back();
    } else if (touched.end > 0) {
      copy->range =
          copy->range.end == 0 ? touched : Range{std::min(copy->range.begin, touched.begin), std::max(copy->range.end, touched.end)};
    }
    copy->unit = std::lcm(copy->unit, static_cast<size_t>(info(operand.dtype).block_bytes));
    copy->is_read |= is_read;
  }

  void download(Runtime& cpu, Queue& queue) {
    for (HostCopy& copy : copies_) {
      copy.range.begin -= copy.range.begin % copy.unit;
      copy.range.end = std::min(copy.range.end, copy.device->bytes());
      const size_t bytes = copy.range.end - copy.range.begin;
      copy.host = cpu.allocate(std::max(bytes, kAlignment), Lifetime::transient);
      if (copy.is_read && bytes > 0) queue.download(*copy.device, copy.range.begin, copy.host->host_data(), bytes);
    }
  }

  // The operand in host memory; `layout` is where its layout there is kept.
  Operand on_host(const Operand& operand, Layout& layout) {
    const HostCopy& copy = *find(operand);
    const DTypeInfo& entry = info(operand.dtype);
    const int64_t first = static_cast<int64_t>(copy.range.begin) / entry.block_bytes * entry.block_elements;
    layout = Layout(operand.layout->shape(), operand.layout->strides(), operand.layout->offset() - first);
    return {copy.host.get(), operand.dtype, &layout};
  }

  void upload(Queue& queue, const Operand& output) {
    const HostCopy& copy = *find(output);
    const Range touched = touched_bytes(output);
    if (touched.begin == touched.end) return;
    queue.upload(copy.host->host_data() + (touched.begin - copy.range.begin), *output.buffer, touched.begin, touched.end - touched.begin);
  }

 private:
  HostCopy* find(const Operand& operand) {
    const auto found =
        std::find_if(copies_.begin(), copies_.end(), [&](const HostCopy& copy) { return same_bytes(*copy.device, *operand.buffer); });
    return found == copies_.end() ? nullptr : &*found;
  }

  std::vector<HostCopy> copies_;
};

}  // namespace

void OpFallback::run(const OpCall& call, bool updates, OpFunction function) {
  if (call.runtime->is_recording()) {
    fail(ErrorCode::unsupported,
         "{}: {} lacks this op and the CPU runs it instead, which a graph cannot record; call the ops without recording",
         to_string(call.op), call.runtime->caps().name);
  }
  const auto start = std::chrono::steady_clock::now();
  Queue& queue = call.runtime->queue();
  HostCopies copies;
  for (const Operand& input : call.inputs) copies.add(input, true);
  // Between the elements of an output with gaps are those of other tensors.
  for (const Operand& output : call.outputs) copies.add(output, updates || !output.layout->is_contiguous());
  queue.synchronize();
  copies.download(*cpu_, queue);
  std::vector<Layout> layouts(call.inputs.size() + call.outputs.size());
  std::vector<Operand> operands;
  for (const Operand& input : call.inputs) operands.push_back(copies.on_host(input, layouts[operands.size()]));
  for (const Operand& output : call.outputs) operands.push_back(copies.on_host(output, layouts[operands.size()]));
  const std::span all(std::as_const(operands));
  function({call.op, call.params, all.first(call.inputs.size()), all.subspan(call.inputs.size()), cpu_.get()});
  cpu_->queue().synchronize();
  for (const Operand& output : call.outputs) copies.upload(queue, output);
  count(call.op, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

void OpFallback::count(OpId op, double seconds) {
  const std::lock_guard lock(mutex_);
  auto row = std::find_if(rows_.begin(), rows_.end(), [&](const Row& known) { return known.op == op; });
  if (row == rows_.end()) row = rows_.insert(row, {op, 0, 0});
  ++row->calls;
  row->seconds += seconds;
}

std::vector<OpFallback::Row> OpFallback::rows() const {
  const std::lock_guard lock(mutex_);
  std::vector<Row> sorted = rows_;
  std::sort(sorted.begin(), sorted.end(), [](const Row& a, const Row& b) { return a.seconds > b.seconds; });
  return sorted;
}

}  // namespace wick
