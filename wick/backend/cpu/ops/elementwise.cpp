// Functions of each element: unary, binary, comparisons and choices. Each run goes through the loop of its number type; narrow floats go
// through f32 in chunks and are rounded once.
#include <algorithm>
#include <array>

#include "wick/backend/cpu/cpu_runtime.h"
#include "wick/backend/cpu/op_table.h"
#include "wick/backend/cpu/ops/convert.h"
#include "wick/backend/cpu/ops/number_visit.h"
#include "wick/backend/cpu/ops/strided.h"

namespace wick::cpu {
namespace {

struct alignas(64) FloatChunk {
  std::array<float, kChunk> values;
};

// A narrow input's next elements as f32.
const float* widened(const SimdKernels& kernels, DType dtype, const RunInput& input, int64_t begin, int64_t count, FloatChunk& chunk) {
  const std::byte* source = input.scalar ? input.data : input.data + begin * info(dtype).block_bytes;
  read_numbers(kernels, dtype, source, input.scalar ? 1 : count, chunk.values.data());
  return chunk.values.data();
}

void unary_narrow(const OpCall& call, const UnaryParams& params, UnaryLoop<float> loop) {
  const SimdKernels& kernels = runtime_of(call).kernels();
  const DType dtype = call.inputs[0].dtype;
  for_each_run(call, [&](std::byte* out, const RunInput* inputs, int64_t n) {
    FloatChunk chunk;  // NOLINT: uninitialised
    const int64_t size = info(dtype).block_bytes;
    const int64_t distinct = inputs[0].scalar ? 1 : n;
    for (int64_t begin = 0; begin < distinct; begin += kChunk) {
      const int64_t count = std::min(kChunk, distinct - begin);
      (void)widened(kernels, dtype, inputs[0], begin, count, chunk);
      loop(chunk.values.data(), chunk.values.data(), static_cast<size_t>(count), params.a, params.b);
      write_numbers(kernels, chunk.values.data(), count, dtype, out + begin * size);
    }
    if (inputs[0].scalar) repeat_element(out, out + size, n - 1, size);
  });
}

// The splat of a pair of inputs, of which at most one may be scalar.
Splat splat_of(const RunInput* inputs) { return inputs[0].scalar ? Splat::lhs : inputs[1].scalar ? Splat::rhs : Splat::none; }

// Calls loop(lhs, rhs, out, splat, n) for runs of two inputs of `dtype`, in chunks of f32 where that is narrow. Where both are scalar, one
// element is computed and repeated.
template <class T, class Loop>
void for_each_pair(const OpCall& call, const Loop& loop) {
  const SimdKernels& kernels = runtime_of(call).kernels();
  const DType dtype = call.inputs[0].dtype;
  const int64_t out_size = info(call.outputs[0].dtype).block_bytes;
  const bool narrow = is_narrow_float(dtype);
  for_each_run(call, [&](std::byte* out, const RunInput* inputs, int64_t n) {
    const bool constant = inputs[0].scalar && inputs[1].scalar;
    const int64_t distinct = constant ? 1 : n;
    const Splat splat = constant ? Splat::none : splat_of(inputs);
    if (!narrow) {
      loop(inputs[0].as<T>(), inputs[1].as<T>(), out, splat, distinct);
    } else if constexpr (std::is_same_v<T, float>) {
      FloatChunk lhs;  // NOLINT: uninitialised
      FloatChunk rhs;  // NOLINT: uninitialised
      for (int64_t begin = 0; begin < distinct; begin += kChunk) {
        const int64_t count = std::min(kChunk, distinct - begin);
        const float* left = widened(kernels, dtype, inputs[0], begin, count, lhs);
        const float* right = widened(kernels, dtype, inputs[1], begin, count, rhs);
        loop(left, right, out + begin * out_size, splat, count);
      }
    }
    if (constant) repeat_element(out, out + out_size, n - 1, out_size);
  });
}

// lhs ? rhs is rhs ?' lhs.
CompareKind mirrored(CompareKind kind) {
  switch (kind) {
    case CompareKind::eq:
    case CompareKind::ne: return kind;
    case CompareKind::le: return CompareKind::ge;
    case CompareKind::ge: return CompareKind::le;
    case CompareKind::lt: return CompareKind::gt;
    case CompareKind::gt: return CompareKind::lt;
  }
  return kind;
}

template <class Condition>
void choose(const OpCall& call, const ChooseLoops<Condition>& loops) {
  size_t log_size = 0;
  while (int64_t{1} << log_size < info(call.outputs[0].dtype).block_bytes) ++log_size;
  for_each_run(call, [loop = loops[log_size]](std::byte* out, const RunInput* inputs, int64_t n) {
    const ChoiceSteps steps{inputs[0].scalar ? 0U : 1U, inputs[1].scalar ? 0U : 1U, inputs[2].scalar ? 0U : 1U};
    loop(inputs[0].as<Condition>(), inputs[1].data, inputs[2].data, out, steps, static_cast<size_t>(n));
  });
}

}  // namespace

bool has_loop(const SimdKernels& kernels, OpId op, int kind, DType dtype) noexcept {
  if (kind < 0 || kind >= info(op).kinds) return false;
  if (is_quantized(dtype) || (op != OpId::unary && op != OpId::binary && op != OpId::compare)) return true;
  bool found = false;
  const auto at = static_cast<size_t>(kind);
  visit_number(dtype, [&]<class T>(T) {
    const NumberLoops<T>& loops = kernels.numbers<T>();
    found = op == OpId::unary    ? loops.unary[at] != nullptr
            : op == OpId::binary ? loops.binary[at].front() != nullptr
                                 : loops.compare[at].front() != nullptr;
  });
  return found;
}

void unary_any(const OpCall& call) {
  const UnaryParams& params = call.parameters<UnaryParams>();
  const DType dtype = call.inputs[0].dtype;
  const SimdKernels& kernels = runtime_of(call).kernels();
  if (is_narrow_float(dtype)) return unary_narrow(call, params, kernels.numbers<float>().unary[static_cast<size_t>(params.kind)]);
  visit_number(dtype, [&]<class T>(T) {
    const UnaryLoop<T> loop = kernels.numbers<T>().unary[static_cast<size_t>(params.kind)];
    for_each_run(call, [&, loop](std::byte* out, const RunInput* inputs, int64_t n) {
      loop(inputs[0].as<T>(), reinterpret_cast<T*>(out), inputs[0].scalar ? 1 : static_cast<size_t>(n), params.a, params.b);
      if (inputs[0].scalar) repeat_element(out, out + sizeof(T), n - 1, sizeof(T));
    });
  });
}

void binary_any(const OpCall& call) {
  const auto kind = static_cast<size_t>(call.parameters<BinaryParams>().kind);
  const DType dtype = call.inputs[0].dtype;
  const SimdKernels& kernels = runtime_of(call).kernels();
  visit_number(dtype, [&]<class T>(T) {
    const std::array<BinaryLoop<T>, kSplats>& loops = kernels.numbers<T>().binary[kind];
    for_each_pair<T>(call, [&](const T* lhs, const T* rhs, std::byte* out, Splat splat, int64_t n) {
      const BinaryLoop<T> loop = loops[static_cast<size_t>(splat)];
      if (!is_narrow_float(dtype)) return loop(lhs, rhs, reinterpret_cast<T*>(out), static_cast<size_t>(n));
      if constexpr (std::is_same_v<T, float>) {
        FloatChunk results;  // NOLINT: uninitialised
        loop(lhs, rhs, results.values.data(), static_cast<size_t>(n));
        write_numbers(kernels, results.values.data(), n, dtype, out);
      }
    });
  });
}

void compare_any(const OpCall& call) {
  const CompareKind kind = call.parameters<CompareParams>().kind;
  visit_number(call.inputs[0].dtype, [&]<class T>(T) {
    const auto& loops = runtime_of(call).kernels().numbers<T>().compare;
    for_each_pair<T>(call, [&](const T* lhs, const T* rhs, std::byte* out, Splat splat, int64_t n) {
      auto* result = reinterpret_cast<uint8_t*>(out);
      const auto count = static_cast<size_t>(n);
      if (splat == Splat::lhs) return loops[static_cast<size_t>(mirrored(kind))][1](rhs, lhs, result, count);
      loops[static_cast<size_t>(kind)][splat == Splat::rhs ? 1 : 0](lhs, rhs, result, count);
    });
  });
}

void where_any(const OpCall& call) {
  const SimdKernels& kernels = runtime_of(call).kernels();
  switch (call.inputs[0].dtype) {
    case DType::u32: return choose(call, kernels.choose_u32);
    case DType::i64: return choose(call, kernels.choose_i64);
    default: return choose(call, kernels.choose_u8);
  }
}

}  // namespace wick::cpu
