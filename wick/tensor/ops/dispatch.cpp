#include "wick/tensor/ops/dispatch.h"

#include <algorithm>
#include <array>
#include <memory>
#include <type_traits>

#include "wick/base/fail.h"
#include "wick/device/last_work.h"
#include "wick/device/linked_kernels.h"
#include "wick/quant/unpack_row.h"
#include "wick/tensor/ops/op_counts.h"
#include "wick/tensor/ops/op_rule.h"
#include "wick/tensor/ops/reference.h"

namespace wick {
namespace {

constexpr size_t kMaxOperands = 9;

// Whether a call has what the op's row says.
bool fits(const OpInfo& row, const void* params, size_t inputs, size_t outputs) {
  const bool has_inputs = inputs >= static_cast<size_t>(row.min_inputs) && inputs <= static_cast<size_t>(row.max_inputs);
  return has_inputs && outputs >= 1 && outputs <= static_cast<size_t>(row.max_outputs) && (params != nullptr) == (row.param_bytes > 0);
}
static_assert(std::all_of(kOps.begin(), kOps.end(), [](const OpInfo& row) {
  return static_cast<size_t>(row.max_inputs) <= kMaxOperands && static_cast<size_t>(row.max_outputs) <= kMaxOperands;
}));

// Operands of a call, of which most have few: room that is not initialised before they come.
class Operands {
 public:
  Operands() {}  // NOLINT(modernize-use-equals-default): of the union
  void add(const Operand& operand) noexcept { std::construct_at(&room_.all[count_++], operand); }
  [[nodiscard]] std::span<const Operand> all() const noexcept { return {room_.all.data(), count_}; }

 private:
  static_assert(std::is_trivially_destructible_v<Operand>);
  union Room {
    Room() {}  // NOLINT(modernize-use-equals-default)
    std::array<Operand, kMaxOperands> all;
  };
  Room room_;
  size_t count_ = 0;
};

bool has_reference(const Runtime& runtime, OpId op, DType dtype) noexcept {
  return runtime.caps().host_memory && rule(op).reference != nullptr && is_readable(dtype);
}

// What a device in host memory runs an op with; nullptr: nothing.
OpFunction on_host(const Runtime& runtime, OpId op, int kind, DType dtype) noexcept {
  if (const OpFunction function = implementation(runtime, op, kind, dtype)) return function;
  return has_reference(runtime, op, dtype) ? run_reference : nullptr;
}

// Runs an op that its device does not implement.
void run_elsewhere(const OpCall& call, const Device& device, int kind, DType dtype) {
  if (has_reference(*call.runtime, call.op, dtype)) return run_reference(call);
  if (OpFallback* const fallback = call.runtime->op_fallback()) {
    if (const OpFunction function = on_host(fallback->cpu(), call.op, kind, dtype)) {
      return fallback->run(call, rule(call.op).updates, function);
    }
  }
  fail(ErrorCode::unsupported, "{}: {} has no implementation for dtype {}", kind_name(call.op, kind), device.location().to_string(),
       to_string(dtype));
}

}  // namespace

std::string_view missing_ability(const DeviceCaps& caps, DType dtype) noexcept {
  if (dtype == DType::f64 && !caps.f64_arithmetic) return "the device has no f64 arithmetic";
  if (dtype == DType::i64 && !caps.int64) return "the device has no 64-bit integers";
  return {};
}

OpFunction implementation(const Runtime& runtime, OpId op, int kind, DType dtype) noexcept {
  if (const OpFunction function = runtime.override_for(op, kind, dtype)) return function;
  const OpRule& op_rule = rule(op);
  if (!runtime.runs_kernels() || (op_rule.unsupported != nullptr && !op_rule.unsupported(dtype).empty())) return nullptr;
  const LauncherTable* launchers = linked_launchers();
  if (launchers == nullptr || !missing_ability(runtime.caps(), dtype).empty()) return nullptr;
  return (*launchers)[static_cast<size_t>(op)];
}

Support support(const Device& device, OpId op, DType dtype, int kind) noexcept {
  const Runtime& runtime = device.runtime();
  if (implementation(runtime, op, kind, dtype) != nullptr) {
    return runtime.override_for(op, kind, dtype) != nullptr ? Support::native : Support::kernel;
  }
  if (has_reference(runtime, op, dtype)) return Support::reference;
  const OpFallback* const fallback = runtime.op_fallback();
  return fallback != nullptr && on_host(fallback->cpu(), op, kind, dtype) != nullptr ? Support::cpu_fallback : Support::none;
}

bool rounds_results(const Device& device, OpId op, DType dtype, DType result) noexcept {
  return result == DType::f16 && support(device, op, dtype) == Support::kernel;
}

void dispatch(OpId op, const void* params, std::span<const Tensor* const> inputs, std::span<const Tensor* const> outputs) {
  WICK_ASSERT(fits(info(op), params, inputs.size(), outputs.size()));
  const Device& device = outputs.front()->device();
  for (const std::span<const Tensor* const> group : {inputs, outputs}) {
    for (const Tensor* tensor : group) {
      if (&tensor->device().runtime() == &device.runtime()) continue;
      fail(ErrorCode::device_mismatch, "{}: operands on {} and {}; move them to one device first", kind_name(op, kind_of(op, params)),
           inputs.front()->device().location().to_string(), (tensor == inputs.front() ? device : tensor->device()).location().to_string());
    }
  }
  if (std::all_of(outputs.begin(), outputs.end(), [](const Tensor* output) { return output->elements() == 0; })) return;
  const OpRule& op_rule = rule(op);
  const auto& defining =
      op_rule.defining_operand == kFirstOutput ? *outputs.front() : *inputs[static_cast<size_t>(op_rule.defining_operand)];
  Operands input_operands, output_operands;
  for (const Tensor* input : inputs) input_operands.add(operand_of(*input));
  for (const Tensor* output : outputs) {
    output_operands.add(operand_of(*output));
    output->storage()->bump_version();
  }
  const OpCall call{op, params, input_operands.all(), output_operands.all(), &device.runtime()};
  const OpScope scope(call);
  const int kind = kind_of(op, params);
  if (OpCounts::active()) OpCounts::note(device.kind(), op, defining.dtype(), support(device, op, defining.dtype(), kind));
  if (const OpFunction function = implementation(device.runtime(), op, kind, defining.dtype())) return function(call);
  run_elsewhere(call, device, kind, defining.dtype());
}

void apply(OpId op, const void* params, std::span<const std::byte> param_bytes, std::span<const Tensor* const> inputs,
           std::span<Tensor* const> outputs) {
  const bool tracked = any_tracked(inputs);
  if (tracked && rule(op).gradient_kind == GradientKind::missing) {
    fail(ErrorCode::unsupported, "{}: an operand is tracked, and this op has no gradient; detach the operand if none is wanted",
         kind_name(op, kind_of(op, params)));
  }
  dispatch(op, params, inputs, std::span<const Tensor* const>(outputs.data(), outputs.size()));
  if (tracked && rule(op).gradient_kind == GradientKind::function) {
    record(to_string(op), rule(op).gradient, param_bytes, inputs, *outputs.front());
  }
}

void check_dtype(OpId op, std::string_view name, const Tensor& tensor) {
  const UnsupportedReason unsupported = rule(op).unsupported;
  if (unsupported == nullptr) return;
  const std::string_view reason = unsupported(tensor.dtype());
  if (!reason.empty()) fail(ErrorCode::unsupported, "{}: not defined for {}: {}", name, tensor.describe(), reason);
}

}  // namespace wick
