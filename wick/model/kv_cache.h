// A KvCache holds the keys and values of every position seen so far, for one sequence; all its memory is taken when it is made.
#pragma once

#include <cstdint>
#include <vector>

#include "wick/tensor/tensor.h"

namespace wick {

class KvCache {
 public:
  // What a cache is made for.
  struct Sizes {
    int64_t layers = 0, kv_heads = 0, head_dim = 0;
  };

  // For each layer two tensors [kv_heads, capacity, head_dim] of `dtype`, one of kCacheDTypes. Errors: check_dtype's; invalid_argument for
  // a size below 0; out_of_memory.
  KvCache(int64_t layers, int64_t kv_heads, int64_t capacity, int64_t head_dim, DType dtype, const Device& device);

  // Errors: unsupported, naming dtype and head_dim and what to take instead, where rows of head_dim cannot be stored so.
  static void check_dtype(DType dtype, int64_t head_dim);

  // Positions that are filled, and that fit.
  [[nodiscard]] int64_t length() const noexcept { return length_; }
  [[nodiscard]] int64_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] int64_t bytes() const noexcept;
  [[nodiscard]] Sizes sizes() const noexcept { return sizes_; }
  [[nodiscard]] const Device& device() const noexcept { return device_; }

  // Errors: index_out_of_range.
  [[nodiscard]] const Tensor& keys(int64_t layer) const { return keys_[checked(layer)]; }
  [[nodiscard]] const Tensor& values(int64_t layer) const { return values_[checked(layer)]; }

  // Counts `tokens` positions as filled, once every layer has written them. Errors: context_full.
  void advance(int64_t tokens);
  // Forgets all positions from `length` on. Errors: invalid_argument below 0 and beyond length().
  void truncate(int64_t length);
  // Errors: context_full, saying how many tokens are there, are wanted and fit.
  void require_room(int64_t tokens) const;

 private:
  [[nodiscard]] size_t checked(int64_t layer) const;

  Sizes sizes_;
  Device device_;
  int64_t capacity_;
  int64_t length_ = 0;
  std::vector<Tensor> keys_;
  std::vector<Tensor> values_;
};

}  // namespace wick
