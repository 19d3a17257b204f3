// rope_into_cache: queries turned, keys turned into their cache, values converted into theirs; one pass over a token's heads.
#include <algorithm>

#include "wick/backend/cpu/cpu_runtime.h"
#include "wick/backend/cpu/op_table.h"
#include "wick/backend/cpu/ops/convert.h"
#include "wick/base/fail.h"

namespace wick::cpu {
namespace {

class RopeIntoCache {
 public:
  explicit RopeIntoCache(const OpCall& call)
      : call_(call),
        kernels_(runtime_of(call).kernels()),
        heads_(call.inputs[0].layout->shape()[1]),
        kv_heads_(call.inputs[1].layout->shape()[1]),
        width_(call.inputs[0].layout->shape()[2]),
        value_width_(call.inputs[2].layout->shape()[2]),
        pairs_(call.inputs[3].layout->shape()[1]),
        positions_(data_of<const int32_t>(call.inputs[4])),
        slots_(data_of<const int32_t>(call.inputs[5])),
        interleaved_(call.parameters<RopeParams>().style == RopeStyle::interleaved) {}

  [[nodiscard]] int64_t tokens() const { return call_.inputs[0].layout->shape()[0]; }
  [[nodiscard]] int64_t elements_per_token() const { return (heads_ + kv_heads_) * width_ + kv_heads_ * value_width_; }

  // Before anything is written.
  void check() const {
    const int64_t positions = call_.inputs[3].layout->shape()[0], slots = call_.outputs[0].layout->shape()[1];
    for (int64_t token = 0; token < tokens(); ++token) {
      if (pairs_ > 0 && (positions_[token] < 0 || positions_[token] >= positions)) {
        fail(ErrorCode::invalid_argument, "rope_into_cache: token {} is at position {}, and the table has {}", token, positions_[token],
             positions);
      }
      if (slots_[token] < -1 || slots_[token] >= slots) {
        fail(ErrorCode::invalid_argument, "rope_into_cache: token {} is for slot {}; allowed: -1 for none, and 0 to {}", token,
             slots_[token], slots - 1);
      }
    }
  }

  void run(int64_t token, Scratch& scratch) const {
    ScratchFrame frame(scratch);
    float* cosines = frame.take<float>(static_cast<size_t>(2 * pairs_));
    float* sines = cosines + pairs_;
    const float* angles = pairs_ == 0 ? nullptr : data_of<const float>(call_.inputs[3]) + int64_t{positions_[token]} * 2 * pairs_;
    for (int64_t pair = 0; pair < pairs_; ++pair) {
      cosines[pair] = angles[2 * pair];
      sines[pair] = angles[2 * pair + 1];
    }
    const auto* query = data_of<const float>(call_.inputs[0]) + token * heads_ * width_;
    auto* turned = data_of<float>(call_.outputs[2]) + token * heads_ * width_;
    for (int64_t head = 0; head < heads_; ++head) turn(query + head * width_, cosines, sines, turned + head * width_);
    const int64_t slot = slots_[token];
    if (slot < 0) return;
    auto* row = frame.take<float>(static_cast<size_t>(width_));
    for (int64_t head = 0; head < kv_heads_; ++head) {
      const int64_t source = token * kv_heads_ + head;
      turn(data_of<const float>(call_.inputs[1]) + source * width_, cosines, sines, row);
      store(row, width_, call_.outputs[0], head, slot);
      store(data_of<const float>(call_.inputs[2]) + source * value_width_, value_width_, call_.outputs[1], head, slot);
    }
  }

 private:
  void turn(const float* x, const float* cosines, const float* sines, float* out) const {
    const RowLoops<float>& loops = kernels_.rows<float>();
    (interleaved_ ? loops.rotate_neighbours : loops.rotate_halves)(x, cosines, sines, out, static_cast<size_t>(pairs_));
    std::copy(x + 2 * pairs_, x + width_, out + 2 * pairs_);
  }

  void store(const float* row, int64_t width, const Operand& cache, int64_t head, int64_t slot) const {
    const Layout& layout = *cache.layout;
    const int64_t place = layout.offset() + head * layout.stride(0) + slot * layout.stride(1);
    std::byte* target = cache.buffer->host_data() + storage_bytes(cache.dtype, place);
    if (cache.dtype == DType::q8_0) return kernels_.f32_to_q8_0(row, target, static_cast<size_t>(width));
    convert_elements(kernels_, DType::f32, reinterpret_cast<const std::byte*>(row), cache.dtype, target, width);
  }

  const OpCall& call_;
  const SimdKernels& kernels_;
  int64_t heads_, kv_heads_, width_, value_width_, pairs_;
  const int32_t* positions_;
  const int32_t* slots_;
  bool interleaved_;
};

}  // namespace

void rope_into_cache_any(const OpCall& call) {
  const RopeIntoCache job(call);
  job.check();
  CpuRuntime& runtime = runtime_of(call);
  const int64_t tokens = job.tokens();
  const auto run_share = [&](Scratch& scratch, int64_t begin, int64_t end) {
    for (int64_t token = begin; token < end; ++token) job.run(token, scratch);
  };
  share_equally(runtime, tokens, tokens > 1 && tokens * job.elements_per_token() >= 2 * kElementsPerThread, run_share);
}

}  // namespace wick::cpu
