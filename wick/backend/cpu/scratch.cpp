#include "wick/backend/cpu/scratch.h"

#include <algorithm>

namespace wick::cpu {
namespace {

constexpr size_t kScratchAlignment = 64;
constexpr size_t kMinScratchBlock = size_t{64} << 10;

}  // namespace

std::byte* Scratch::take(size_t bytes) {
  const size_t size = (std::max<size_t>(bytes, 1) + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
  if (top_.block < blocks_.size() && blocks_[top_.block]->bytes() - top_.bytes < size) top_ = {top_.block + 1, 0};
  if (top_.block >= blocks_.size() || blocks_[top_.block]->bytes() < size) {
    blocks_.resize(top_.block);  // those behind the top are nobody's
    blocks_.push_back(memory_->allocate(std::max({size, wanted_, kMinScratchBlock}), Lifetime::transient));
  }
  std::byte* const data = blocks_[top_.block]->host_data() + top_.bytes;
  top_.bytes += size;
  return data;
}

void Scratch::release_all() noexcept {
  if (blocks_.empty()) return;
  blocks_.clear();
  memory_->release_kept(0);
}

void Scratch::release(const Top& top) {
  top_ = top;
  const bool is_empty = top.block == 0 && top.bytes == 0;
  if (!is_empty || blocks_.size() <= 1) return;
  // One block for all of it, the next time.
  size_t total = 0;
  for (const std::unique_ptr<Buffer>& block : blocks_) total += block->bytes();
  wanted_ = total;
  blocks_.clear();
}

}  // namespace wick::cpu
