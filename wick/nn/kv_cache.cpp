#include "wick/nn/kv_cache.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"

namespace wick::nn {
namespace {

int64_t checked_capacity(int64_t capacity) {
  if (capacity < 1) fail(ErrorCode::invalid_argument, "Cache: capacity is {}; allowed: 1 or more", capacity);
  return capacity;
}

Tensor memory_for(const Tensor& positions, int dim, int64_t capacity) {
  std::vector<int64_t> dims(positions.dims().begin(), positions.dims().end());
  dims[static_cast<size_t>(positions.normalize_axis(dim))] = capacity;
  return Tensor::zeros(Shape(std::span<const int64_t>(dims)), positions.dtype(), positions.device());
}

// Whether a query must not see a key that is later, or more than `context` positions earlier.
bool is_hidden(int64_t query, int64_t key, int64_t context) { return key > query || key + context < query; }

}  // namespace

// --- Cache ---

Cache::Cache(int dim, int64_t capacity) : dim_(dim), capacity_(checked_capacity(capacity)) {}

std::optional<Tensor> Cache::current_data() const { return data_ ? std::optional(data_->narrow(dim_, 0, length_)) : std::nullopt; }

void Cache::append(const Tensor& positions) {
  const int64_t added = positions.dim(dim_);
  if (length_ + added > capacity_) {
    fail(ErrorCode::context_full, "Cache: {} more positions after {} exceed the capacity of {}", added, length_, capacity_);
  }
  const Tensor memory = data_ ? *data_ : memory_for(positions, dim_, capacity_);
  memory.slice_set(positions, dim_, length_);
  data_ = memory;
  length_ += added;
}

void Cache::reset() noexcept {
  data_.reset();
  length_ = 0;
}

// --- RotatingCache ---

RotatingCache::RotatingCache(int dim, int64_t capacity) : dim_(dim), capacity_(checked_capacity(capacity)) {}

std::optional<Tensor> RotatingCache::current_data() const {
  return data_ ? std::optional(data_->narrow(dim_, 0, std::min(length_, capacity_))) : std::nullopt;
}

Tensor RotatingCache::append(const Tensor& positions) {
  const int64_t added = positions.dim(dim_);
  const Tensor memory = data_ ? *data_ : memory_for(positions, dim_, capacity_);
  if (added >= capacity_) {
    memory.slice_set(positions.narrow(dim_, added - capacity_, capacity_), dim_, 0);
    data_ = memory;
    offset_ = 0;
    length_ += added;
    return positions;
  }
  const int64_t before_end = std::min(added, capacity_ - offset_);
  memory.slice_set(positions.narrow(dim_, 0, before_end), dim_, offset_);
  if (added > before_end) memory.slice_set(positions.narrow(dim_, before_end, added - before_end), dim_, 0);
  data_ = memory;
  offset_ = (offset_ + added) % capacity_;
  length_ += added;
  return memory.narrow(dim_, 0, std::min(length_, capacity_));
}

void RotatingCache::reset() noexcept {
  data_.reset();
  offset_ = 0;
  length_ = 0;
}

std::vector<int64_t> RotatingCache::positions(int64_t added) const {
  const int64_t total = length_ + added;
  if (added >= capacity_) {
    std::vector<int64_t> numbers(static_cast<size_t>(added));
    std::iota(numbers.begin(), numbers.end(), length_);
    return numbers;
  }
  // The slots before the next one to be written hold the newest positions, the others those of the round before.
  const int64_t next = (offset_ + added) % capacity_;
  std::vector<int64_t> numbers(static_cast<size_t>(std::min(total, capacity_)));
  for (int64_t slot = 0; slot < static_cast<int64_t>(numbers.size()); ++slot) {
    numbers[static_cast<size_t>(slot)] = total - next + slot - (slot < next ? 0 : capacity_);
  }
  return numbers;
}

std::optional<Tensor> RotatingCache::attn_mask(int64_t added, const Device& device) const {
  if (added == 1) return std::nullopt;
  const std::vector<int64_t> keys = positions(added);
  std::vector<uint8_t> mask;
  for (int64_t query = length_; query < length_ + added; ++query) {
    for (const int64_t key : keys) mask.push_back(is_hidden(query, key, capacity_) ? 1 : 0);
  }
  return Tensor::from_vector(mask, {added, static_cast<int64_t>(keys.size())}, device);
}

// --- ConcatCache ---

Tensor ConcatCache::append(const Tensor& positions) {
  data_ = data_ ? Tensor::cat({*data_, positions}, dim_) : positions.contiguous();
  return *data_;
}

// --- Pairs ---

std::pair<Tensor, Tensor> KvCache::append(const Tensor& key, const Tensor& value) {
  check_assigned("KvCache::append", {{"key", key}, {"value", value}});
  keys_.append(key);
  values_.append(value);
  return {*keys_.current_data(), *values_.current_data()};
}

void KvCache::reset() noexcept {
  keys_.reset();
  values_.reset();
}

void RotatingKvCache::reset() noexcept {
  keys_.reset();
  values_.reset();
}

void ConcatKvCache::reset() noexcept {
  keys_.reset();
  values_.reset();
}

// --- ScatteredKvCache ---

ScatteredKvCache::ScatteredKvCache(const Shape& shape, DType dtype, const Device& device)
    : keys_(Tensor::zeros(shape, dtype, device)), values_(Tensor::zeros(shape, dtype, device)) {}

std::pair<Tensor, Tensor> ScatteredKvCache::append(const Tensor& key, const Tensor& value, const Tensor& indices) {
  const Tensor places = indices.unsqueeze(1).unsqueeze(-1).broadcast_to(key.shape());
  keys_.scatter_set(places, key, 2);  // where places repeat, the later position stays
  values_.scatter_set(places, value, 2);
  if (key.dim(2) >= keys_.dim(2)) return {key, value};
  return {keys_, values_};
}

ScatteredCacheBuilder::ScatteredCacheBuilder(int64_t batch_size, int64_t context, DType dtype, Device device)
    : context_(checked_capacity(context)), dtype_(dtype), device_(std::move(device)), positions_(static_cast<size_t>(batch_size), 0) {}

ScatteredKvCache ScatteredCacheBuilder::make_cache(int64_t heads, int64_t head_dim) const {
  return {Shape{batch_size(), heads, context_, head_dim}, dtype_, device_};
}

void ScatteredCacheBuilder::reset() noexcept { std::fill(positions_.begin(), positions_.end(), 0); }

ScatteredCacheBuilder::Step ScatteredCacheBuilder::advance(int64_t added, std::span<const bool> active) {
  if (active.size() != positions_.size()) {
    fail(ErrorCode::shape_mismatch, "ScatteredCacheBuilder: {} flags for a batch of {}; one for each is needed", active.size(),
         positions_.size());
  }
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  const bool whole = added >= context_;  // the step returns its own positions
  const int64_t keys = whole ? added : context_;
  std::vector<uint32_t> indices;
  std::vector<float> mask;
  for (size_t sequence = 0; sequence < positions_.size(); ++sequence) {
    const int64_t start = positions_[sequence];
    for (int64_t step = 0; step < added; ++step) {
      indices.push_back(static_cast<uint32_t>((active[sequence] ? start + step : start) % context_));
    }
    const int64_t total = start + added;
    for (int64_t query = start; query < total; ++query) {
      for (int64_t slot = 0; slot < keys; ++slot) {
        // The newest position in the slot: the largest below `total` that is `slot` modulo the context.
        const int64_t key = whole ? start + slot : slot < total ? total - 1 - (total - 1 - slot) % context_ : query + 1;
        mask.push_back(active[sequence] && is_hidden(query, key, context_) ? kHidden : 0.0F);
      }
    }
    if (active[sequence]) positions_[sequence] = total;
  }
  return {Tensor::from_vector(indices, {batch_size(), added}, device_),
          Tensor::from_vector(mask, {batch_size(), 1, added, keys}, device_).to_dtype(dtype_)};
}

}  // namespace wick::nn
