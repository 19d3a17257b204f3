// Takes any bytes for a list of views with any int64 arguments, applies them to a small tensor and reads the result: each is an error or a
// view of the tensor's own elements, and no number overflows on the way (UBSan).
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "outcome.h"
#include "wick/base/error.h"
#include "wick/tensor/indexer.h"
#include "wick/tensor/ops/attention.h"
#include "wick/tensor/tensor.h"

namespace {

using wick::Tensor;

constexpr int64_t kElements = 24;

class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), left_(size) {}

  [[nodiscard]] bool empty() const { return left_ == 0; }
  uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  int dim() { return static_cast<int>(byte() % 11) - 5; }
  // Small ones mostly, those around the limits of the type often, any at times.
  int64_t number() {
    static constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
    static constexpr std::array<int64_t, 12> kEdges = {kMax,
                                                       kMax - 1,
                                                       -kMax,
                                                       -kMax - 1,
                                                       int64_t{1} << 62,
                                                       (int64_t{1} << 62) + 1,
                                                       kMax / 2,
                                                       -(int64_t{1} << 62),
                                                       int64_t{1} << 61,
                                                       int64_t{1} << 32,
                                                       int64_t{1} << 31,
                                                       -1};
    const uint8_t kind = byte();
    if (kind < 160) return static_cast<int64_t>(kind % 32) - 4;
    if (kind < 240) return kEdges[kind % kEdges.size()];
    uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) bits = bits << 8 | byte();
    int64_t value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }

  // What makes a tensor larger: a little, or more than any machine has. Sizes between cost seconds and find nothing.
  int64_t growth() {
    const int64_t value = number();
    return value > 4096 ? std::max(value, int64_t{1} << 48) : value;
  }

 private:
  const uint8_t* data_;
  size_t left_;
};

Tensor any_layout(const Tensor& x, Input& input) {
  std::vector<int64_t> extents(input.byte() % 5);
  std::vector<int64_t> strides(extents.size());
  for (int64_t& extent : extents) extent = input.number();
  for (int64_t& stride : strides) stride = input.number();
  const wick::Shape shape{std::span<const int64_t>(extents)};
  return Tensor(x.storage(), wick::Layout(shape, strides, input.number()));
}

Tensor convolved(const Tensor& x, Input& input) {
  const Tensor image = x.contiguous().flatten_all().narrow(0, 0, 16).reshape({1, 1, 4, 4});
  const Tensor kernel = image.narrow(2, 0, 2).narrow(3, 0, 2);
  const int64_t padding = input.growth(), stride = input.number(), dilation = input.number(), groups = input.number();
  switch (input.byte() % 4) {
    case 0: return image.conv2d(kernel, padding, stride, dilation, groups);
    case 1: return image.conv_transpose2d(kernel, padding, input.growth(), std::min(stride, int64_t{1} << 20), dilation, groups);
    case 2: return image.max_pool2d({padding, stride}, std::array{dilation, groups});
    default: return image.upsample_nearest2d(padding, input.growth());
  }
}

// One step. Those that repeat elements are made only of results that stay small.
Tensor step(const Tensor& x, Input& input) {
  switch (input.byte() % 22) {
    case 0: return x.narrow(input.dim(), input.number(), input.number());
    case 1: return x.stride_slice(input.dim(), input.number(), input.number(), input.number());
    case 2: return x.unfold(input.dim(), input.number(), input.number());
    case 3: return x.transpose(input.dim(), input.dim());
    case 4: return x.unsqueeze(input.dim());
    case 5: return x.squeeze(input.dim());
    case 6: return x.flip(input.dim());
    case 7: return x.reshape({input.number(), input.number(), input.number()});
    case 8: return x.flatten(input.dim(), input.dim());
    case 9: return x.get_on_dim(input.dim(), input.number());
    case 10: return x.diagonal(static_cast<int>(input.number()), input.dim(), input.dim());
    case 11: return x.i(wick::range(input.number(), input.number(), input.number()));
    case 12: return x.i(wick::ellipsis, input.number());
    case 13: return x.roll(input.number(), input.dim());
    case 14: return x.pad_with_zeros(input.dim(), input.growth(), input.growth());
    case 15: return x.broadcast_to({input.number(), input.number(), input.number(), input.number()});
    case 16: return any_layout(x, input);
    case 17: return convolved(x, input);
    case 18: {
      const std::vector<Tensor> parts = input.byte() % 2 == 0 ? x.split(input.number(), input.dim()) : x.chunk(input.number(), input.dim());
      return parts[input.byte() % parts.size()];
    }
    case 19: return x.tril(static_cast<int>(input.number()));
    case 20: return x.repeat({input.growth(), input.growth()});
    default: {
      const Tensor cache = x.contiguous().flatten_all().narrow(0, 0, 12).reshape({1, 3, 4});
      return attention(cache.transpose(0, 1).narrow(0, 0, 1).contiguous(), cache, cache, {1, input.number(), true});
    }
  }
}

void check(const Tensor& x) {
  if (x.elements() == 0 || x.elements() > 4096) return;
  const auto [first, end] = x.layout().touched_range();
  const auto held = static_cast<int64_t>(x.storage()->buffer().bytes() / sizeof(float));
  if (first < 0 || end > held) {
    std::fprintf(stderr, "a view touches %lld to %lld of %lld elements\n", static_cast<long long>(first), static_cast<long long>(end),
                 static_cast<long long>(held));
    std::abort();
  }
  (void)x.to_vector<float>();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const wick::Device device = wick::Device::open({wick::DeviceKind::cpu, 0}, {.threads = 1});
  Input input(data, size);
  const Tensor source = Tensor::arange(0, kElements, wick::DType::f32, device).reshape({2, 3, 4});
  Tensor x = source;
  bool accepted = false;
  for (int steps = 0; steps < 16 && !input.empty(); ++steps) {
    try {
      const Tensor next = step(x, input);
      check(next);
      // From what is empty or huge the next step begins anew.
      x = next.elements() > 0 && next.elements() <= 4096 ? next : source;
      accepted = true;
    } catch (const wick::Error&) {
      continue;
    }
  }
  ++(accepted ? wick::fuzz::outcome.accepted : wick::fuzz::outcome.refused);
  return 0;
}
