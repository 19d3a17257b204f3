#include "wick/model/kv_cache.h"

#include "wick/base/fail.h"

namespace wick {

KvCache::KvCache(int64_t layers, int64_t kv_heads, int64_t capacity, int64_t head_dim, DType dtype, const Device& device)
    : sizes_{layers, kv_heads, head_dim}, device_(device), capacity_(capacity) {
  if (layers < 0 || kv_heads < 0 || capacity < 0 || head_dim < 0) {
    fail(ErrorCode::invalid_argument, "key/value cache of {} layers, {} heads, {} positions and head_dim {}: none may be negative", layers,
         kv_heads, capacity, head_dim);
  }
  check_dtype(dtype, head_dim);
  keys_.reserve(static_cast<size_t>(layers));
  values_.reserve(static_cast<size_t>(layers));
  for (int64_t layer = 0; layer < layers; ++layer) {
    keys_.push_back(Tensor::empty({kv_heads, capacity, head_dim}, dtype, device, Lifetime::persistent));
    values_.push_back(Tensor::empty({kv_heads, capacity, head_dim}, dtype, device, Lifetime::persistent));
  }
}

void KvCache::check_dtype(DType dtype, int64_t head_dim) {
  if (!is_cache_dtype(dtype)) {
    fail(ErrorCode::unsupported, "key/value cache of {}: it can be f32, f16, bf16 or q8_0 (--kv-type)", to_string(dtype));
  }
  const int64_t block = info(dtype).block_elements;
  if (head_dim % block == 0) return;
  fail(ErrorCode::unsupported, "key/value cache of {}: the model's head_dim {} is not a multiple of the block of {}; take --kv-type f16",
       to_string(dtype), head_dim, block);
}

int64_t KvCache::bytes() const noexcept {
  int64_t total = 0;
  for (const Tensor& tensor : keys_) total += 2 * storage_bytes(tensor.dtype(), tensor.elements());
  return total;
}

void KvCache::advance(int64_t tokens) {
  require_room(tokens);
  length_ += tokens;
}

void KvCache::truncate(int64_t length) {
  if (length < 0 || length > length_) {
    fail(ErrorCode::invalid_argument, "truncate({}): the key/value cache has {} positions; give 0 to that many", length, length_);
  }
  length_ = length;
}

void KvCache::require_room(int64_t tokens) const {
  if (tokens < 0) fail(ErrorCode::invalid_argument, "key/value cache: {} more tokens: the number must not be negative", tokens);
  if (tokens <= capacity_ - length_) return;
  fail(ErrorCode::context_full,
       "context full: {} tokens are in it and {} more are to come, but it holds {}; shorten the prompt or ask for a larger "
       "context",
       length_, tokens, capacity_);
}

size_t KvCache::checked(int64_t layer) const {
  if (layer < 0 || layer >= sizes_.layers) {
    fail(ErrorCode::index_out_of_range, "key/value cache: layer {} of {}; give 0 to {}", layer, sizes_.layers, sizes_.layers - 1);
  }
  return static_cast<size_t>(layer);
}

}  // namespace wick
