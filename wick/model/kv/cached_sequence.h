// A CachedSequence is a sequence of a KvPool that is freed with it.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "wick/model/kv/kv_pool.h"

namespace wick {

class CachedSequence {
 public:
  // A new sequence of the pool.
  explicit CachedSequence(std::shared_ptr<KvPool> pool) : pool_(std::move(pool)), handle_(pool_->create()) {}
  ~CachedSequence() { pool_->free(handle_); }
  CachedSequence(const CachedSequence&) = delete;
  CachedSequence& operator=(const CachedSequence&) = delete;

  [[nodiscard]] KvPool& pool() const noexcept { return *pool_; }
  [[nodiscard]] SequenceHandle handle() const noexcept { return handle_; }
  [[nodiscard]] int64_t length() const { return pool_->length(handle_); }
  // The most positions that it can have.
  [[nodiscard]] int64_t capacity() const noexcept { return pool_->options().context; }
  // As KvPool::truncate.
  int64_t truncate(int64_t length) { return pool_->truncate(handle_, length); }

 private:
  std::shared_ptr<KvPool> pool_;
  SequenceHandle handle_;
};

}  // namespace wick
