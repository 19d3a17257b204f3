#include "conformance/guarded_runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/op_rule.h"

namespace wick::conformance {
namespace {

using Bytes = std::vector<std::byte>;

constexpr size_t kGuardBytes = 512;  // a multiple of every element and of a vector's alignment
constexpr std::byte kCanary{0xc5};
constexpr std::byte kUnwritten{0xcd};

void guarded_call(const OpCall& call) { static_cast<GuardedRuntime&>(*call.runtime).call(call); }

Bytes read_all(Queue& queue, const Buffer& buffer) {
  Bytes bytes(buffer.bytes());
  queue.download(buffer, 0, bytes.data(), bytes.size());
  return bytes;
}

// For each unit of a buffer (an element, or a block of a quantized output) whether the layout names it.
std::vector<bool> named_units(const Operand& output, size_t units) {
  const int64_t elements = info(output.dtype).block_elements;
  std::vector<bool> named(units, false);
  for_each_offset(*output.layout, [&](int64_t offset) { named.at(static_cast<size_t>(offset / elements)) = true; });
  return named;
}

// A quantized output begins where its buffer does.
size_t head_of(const Operand& output) { return is_quantized(output.dtype) ? 0 : kGuardBytes; }

// One output's stand-in: [canaries][the buffer's bytes, the output's own elements poisoned unless the op reads them][canaries].
struct GuardedOutput {
  std::unique_ptr<Buffer> buffer;
  Layout layout;
  Bytes before;
  std::vector<bool> named;
};

GuardedOutput guard(Runtime& runtime, const Operand& output, bool updates) {
  const auto unit = static_cast<size_t>(info(output.dtype).block_bytes);
  const size_t head = head_of(output);
  const Bytes old = read_all(runtime.queue(), *output.buffer);
  GuardedOutput guarded;
  guarded.before.assign(head + old.size() + kGuardBytes, kCanary);
  std::copy(old.begin(), old.end(), guarded.before.begin() + static_cast<std::ptrdiff_t>(head));
  guarded.named = named_units(output, old.size() / unit);
  for (size_t index = 0; index < guarded.named.size(); ++index) {
    if (guarded.named[index] && !updates)
      std::fill_n(guarded.before.begin() + static_cast<std::ptrdiff_t>(head + index * unit), unit, kUnwritten);
  }
  guarded.buffer = runtime.allocate(guarded.before.size(), Lifetime::transient);
  runtime.queue().upload(guarded.before.data(), *guarded.buffer, 0, guarded.before.size());
  guarded.layout = Layout(output.layout->shape(), output.layout->strides(), output.layout->offset() + static_cast<int64_t>(head / unit));
  return guarded;
}

// Checks the stand-in and moves its middle to the output.
void release(Runtime& runtime, const GuardedOutput& guarded, const Operand& output, OpId op) {
  const auto unit = static_cast<size_t>(info(output.dtype).block_bytes);
  const size_t head = head_of(output);
  const Bytes after = read_all(runtime.queue(), *guarded.buffer);
  for (size_t at = 0; at < after.size(); ++at) {
    const bool inside = at >= head && at - head < guarded.named.size() * unit;
    if (after[at] == guarded.before[at] || (inside && guarded.named[(at - head) / unit])) continue;
    throw std::runtime_error(fmt::format("{} wrote outside its output: byte {} of a buffer of {}", to_string(op),
                                         static_cast<int64_t>(at) - static_cast<int64_t>(head), output.buffer->bytes()));
  }
  runtime.queue().upload(after.data() + head, *output.buffer, 0, output.buffer->bytes());
}

}  // namespace

OpFunction GuardedRuntime::override_for(OpId op, int kind, DType dtype) const noexcept {
  return implementation(inner(), op, kind, dtype) == nullptr ? nullptr : guarded_call;
}

void GuardedRuntime::call(const OpCall& call) {
  const int defining = rule(call.op).defining_operand;
  const DType dtype = defining == kFirstOutput ? call.outputs[0].dtype : call.inputs[static_cast<size_t>(defining)].dtype;
  const OpFunction function = implementation(inner(), call.op, kind_of(call.op, call.params), dtype);
  OpCall inner_call = call;
  inner_call.runtime = &inner();
  std::vector<Bytes> inputs;
  for (const Operand& input : call.inputs) inputs.push_back(read_all(queue(), *input.buffer));
  std::vector<GuardedOutput> guarded;
  for (const Operand& output : call.outputs) guarded.push_back(guard(inner(), output, rule(call.op).updates));
  std::vector<Operand> outputs;
  for (size_t index = 0; index < guarded.size(); ++index) {
    outputs.push_back({guarded[index].buffer.get(), call.outputs[index].dtype, &guarded[index].layout});
  }
  inner_call.outputs = outputs;
  function(inner_call);
  queue().synchronize();
  for (size_t index = 0; index < inputs.size(); ++index) {
    if (read_all(queue(), *call.inputs[index].buffer) != inputs[index]) {
      throw std::runtime_error(fmt::format("{} wrote to its input {}", to_string(call.op), index));
    }
  }
  for (size_t index = 0; index < guarded.size(); ++index) release(inner(), guarded[index], call.outputs[index], call.op);
}

}  // namespace wick::conformance
