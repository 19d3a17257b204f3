// Caches of the keys and values that a decoder has seen, as tensors that grow along one dimension.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "wick/tensor/tensor.h"

namespace [[gnu::visibility("default")]] wick {
namespace nn {

// Up to `capacity` positions, in memory that is taken once, when the first ones come.
class Cache {
 public:
  // Grows along `dim`. Errors: invalid_argument for a capacity below 1.
  Cache(int dim, int64_t capacity);

  [[nodiscard]] int dim() const noexcept { return dim_; }
  [[nodiscard]] int64_t current_seq_len() const noexcept { return length_; }
  [[nodiscard]] int64_t max_seq_len() const noexcept { return capacity_; }
  // The whole memory, and the part that is filled (a view); none before the first append.
  [[nodiscard]] const std::optional<Tensor>& all_data() const noexcept { return data_; }
  [[nodiscard]] std::optional<Tensor> current_data() const;

  // Errors: context_full naming capacity and length; shape_mismatch, dtype_mismatch against what is there. Nothing is stored then.
  void append(const Tensor& positions);
  void reset() noexcept;

 private:
  int dim_;
  int64_t capacity_;
  int64_t length_ = 0;
  std::optional<Tensor> data_;
};

// The last `capacity` positions: new ones overwrite the oldest, so a sequence may grow without end.
class RotatingCache {
 public:
  RotatingCache(int dim, int64_t capacity);

  [[nodiscard]] int dim() const noexcept { return dim_; }
  // Where the next position will be written.
  [[nodiscard]] int64_t offset() const noexcept { return offset_; }
  // All positions seen so far, also those that are gone.
  [[nodiscard]] int64_t current_seq_len() const noexcept { return length_; }
  [[nodiscard]] int64_t max_seq_len() const noexcept { return capacity_; }
  [[nodiscard]] const std::optional<Tensor>& all_data() const noexcept { return data_; }
  [[nodiscard]] std::optional<Tensor> current_data() const;

  // Returns what attention may see now: the memory, whose positions are not in order (see positions), or, where as many positions come at
  // once as it holds or more, all of those. Errors: as Cache's, but for context_full.
  Tensor append(const Tensor& positions);
  void reset() noexcept;

  // The number in the sequence of each position that append returns after adding `added` ones.
  [[nodiscard]] std::vector<int64_t> positions(int64_t added) const;
  // u8 [added, positions(added)]: 1 where a query must not look, because the key is later or more than `capacity` positions earlier.
  // None for a single query, which may look everywhere.
  [[nodiscard]] std::optional<Tensor> attn_mask(int64_t added, const Device& device) const;

 private:
  int dim_;
  int64_t capacity_;
  int64_t offset_ = 0;
  int64_t length_ = 0;
  std::optional<Tensor> data_;
};

// Grows by concatenation: what it returns is row-major and stays as it is, and tracked tensors stay tracked.
class ConcatCache {
 public:
  explicit ConcatCache(int dim) : dim_(dim) {}

  [[nodiscard]] int dim() const noexcept { return dim_; }
  [[nodiscard]] int64_t current_seq_len() const { return data_ ? data_->dim(dim_) : 0; }
  [[nodiscard]] bool is_empty() const noexcept { return !data_; }
  [[nodiscard]] const std::optional<Tensor>& current_data() const noexcept { return data_; }
  Tensor append(const Tensor& positions);
  void reset() noexcept { data_.reset(); }

 private:
  int dim_;
  std::optional<Tensor> data_;
};

// Keys and values side by side, in caches of one kind.
class KvCache {
 public:
  KvCache(int dim, int64_t capacity) : keys_(dim, capacity), values_(dim, capacity) {}

  [[nodiscard]] const Cache& k_cache() const noexcept { return keys_; }
  [[nodiscard]] const Cache& v_cache() const noexcept { return values_; }
  [[nodiscard]] std::optional<Tensor> k() const { return keys_.current_data(); }
  [[nodiscard]] std::optional<Tensor> v() const { return values_.current_data(); }
  [[nodiscard]] int64_t current_seq_len() const noexcept { return keys_.current_seq_len(); }
  // All keys and all values so far.
  std::pair<Tensor, Tensor> append(const Tensor& key, const Tensor& value);
  void reset() noexcept;

 private:
  Cache keys_;
  Cache values_;
};

class RotatingKvCache {
 public:
  RotatingKvCache(int dim, int64_t capacity) : keys_(dim, capacity), values_(dim, capacity) {}

  [[nodiscard]] const RotatingCache& k_cache() const noexcept { return keys_; }
  [[nodiscard]] const RotatingCache& v_cache() const noexcept { return values_; }
  [[nodiscard]] std::optional<Tensor> k() const { return keys_.current_data(); }
  [[nodiscard]] std::optional<Tensor> v() const { return values_.current_data(); }
  [[nodiscard]] int64_t offset() const noexcept { return keys_.offset(); }
  [[nodiscard]] int64_t current_seq_len() const noexcept { return keys_.current_seq_len(); }
  [[nodiscard]] std::vector<int64_t> positions(int64_t added) const { return keys_.positions(added); }
  [[nodiscard]] std::optional<Tensor> attn_mask(int64_t added, const Device& device) const { return keys_.attn_mask(added, device); }
  std::pair<Tensor, Tensor> append(const Tensor& key, const Tensor& value) { return {keys_.append(key), values_.append(value)}; }
  void reset() noexcept;

 private:
  RotatingCache keys_;
  RotatingCache values_;
};

class ConcatKvCache {
 public:
  explicit ConcatKvCache(int dim) : keys_(dim), values_(dim) {}

  [[nodiscard]] const std::optional<Tensor>& k() const noexcept { return keys_.current_data(); }
  [[nodiscard]] const std::optional<Tensor>& v() const noexcept { return values_.current_data(); }
  [[nodiscard]] int64_t current_seq_len() const { return keys_.current_seq_len(); }
  [[nodiscard]] bool is_empty() const noexcept { return keys_.is_empty(); }
  std::pair<Tensor, Tensor> append(const Tensor& key, const Tensor& value) { return {keys_.append(key), values_.append(value)}; }
  void reset() noexcept;

 private:
  ConcatCache keys_;
  ConcatCache values_;
};

// A batch of sequences of different lengths, each in a ring of its own: [batch, heads, context, head_dim].
class ScatteredKvCache {
 public:
  ScatteredKvCache(const Shape& shape, DType dtype, const Device& device);

  [[nodiscard]] const Tensor& k() const noexcept { return keys_; }
  [[nodiscard]] const Tensor& v() const noexcept { return values_; }
  // Writes key and value [batch, heads, added, head_dim] where `indices` [batch, added] (u32) say, and returns the whole memory; or, where
  // as many positions come at once as it holds or more, key and value themselves.
  std::pair<Tensor, Tensor> append(const Tensor& key, const Tensor& value, const Tensor& indices);

 private:
  Tensor keys_;
  Tensor values_;
};

// Knows the position of each sequence of the batch, for all the layers' caches.
class ScatteredCacheBuilder {
 public:
  ScatteredCacheBuilder(int64_t batch_size, int64_t context, DType dtype, Device device);

  struct Step {
    Tensor indices;  // u32 [batch, added], for ScatteredKvCache::append
    Tensor mask;     // added to scores: 0 where a query may look, -inf elsewhere; [batch, 1, added, context]
  };
  // Moves the sequences whose `active` is true by `added` positions; the others write to where their next position will be, and their rows
  // of the mask mean nothing. Errors: shape_mismatch where `active` has not one element a sequence.
  [[nodiscard]] Step advance(int64_t added, std::span<const bool> active);

  [[nodiscard]] ScatteredKvCache make_cache(int64_t heads, int64_t head_dim) const;
  // How many positions each sequence has seen.
  [[nodiscard]] const std::vector<int64_t>& positions() const noexcept { return positions_; }
  [[nodiscard]] int64_t batch_size() const noexcept { return static_cast<int64_t>(positions_.size()); }
  [[nodiscard]] const Device& device() const noexcept { return device_; }
  void reset() noexcept;
  void reset_batch_index(int64_t index) { positions_.at(static_cast<size_t>(index)) = 0; }

 private:
  int64_t context_;
  DType dtype_;
  Device device_;
  std::vector<int64_t> positions_;
};

}  // namespace nn
}  // namespace wick
