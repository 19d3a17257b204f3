// A KvLayout lists what a model keeps of each position, layer by layer: the shape of its KvPool.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "wick/layout/dtype.h"

namespace wick {

// Which positions a layer attends to, and so which must be kept.
struct Retention {
  enum class Kind { full, window, chunk };
  Kind kind = Kind::full;
  int64_t size = 0;  // of the window, which counts the position itself, or of a chunk

  // The first position that the one at `length`, which comes next, attends to.
  [[nodiscard]] int64_t first_needed(int64_t length) const noexcept {
    switch (kind) {
      case Kind::full: return 0;
      case Kind::window: return std::max<int64_t>(0, length - size + 1);
      case Kind::chunk: return length / size * size;
    }
    return 0;
  }
  // The most positions that are kept at once of a sequence of `context`, while `step` more come in.
  [[nodiscard]] int64_t most(int64_t context, int64_t step) const noexcept {
    return kind == Kind::full ? context : std::min(context, size + step);
  }
  friend bool operator==(const Retention&, const Retention&) = default;
};

// One layer's keys and values; latent rows, which are both at once, are keys with values of width 0.
struct KvLayer {
  int64_t kv_heads = 0, key_dim = 0, value_dim = 0;
  DType dtype = DType::f16;
  Retention retention = {};
  friend bool operator==(const KvLayer&, const KvLayer&) = default;
};

struct KvLayout {
  std::string model = {};            // a pool of one model takes no batch of another, be it of the same shape
  std::vector<KvLayer> layers = {};  // those that attend
  std::vector<int64_t> states = {};  // f32 numbers that each recurrent layer keeps of a sequence
  friend bool operator==(const KvLayout&, const KvLayout&) = default;
};

}  // namespace wick
