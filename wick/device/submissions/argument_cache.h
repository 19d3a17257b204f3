// An ArgumentCache keeps what a driver makes of the buffers of a launch, for the next launch that is given the same ones: bind groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "wick/device/program.h"
#include "wick/device/submissions/block_span.h"

namespace wick {

// Block: the Buffer that the driver makes. One thread at a time.
template <class Block, class Made>
class ArgumentCache {
 public:
  using Span = BlockSpan<Block>;

  // The cached result of make(spans) for these buffers and this layout; each span has at least 16 bytes.
  template <class Make>
  [[nodiscard]] const Made& get(const void* layout, std::span<const BufferArgument> buffers, const Make& make) {
    key_.clear();
    spans_.clear();
    key_.push_back(reinterpret_cast<uintptr_t>(layout));
    for (const BufferArgument& argument : buffers) {
      const size_t bytes = argument.size() < 16 ? 16 : argument.size();
      const Span bound = spans_.emplace_back(Span::of(*argument.buffer, argument.offset, bytes));
      key_.insert(key_.end(), {reinterpret_cast<uintptr_t>(bound.block), bound.offset, bytes});
    }
    if (const auto found = kept_.find(key_); found != kept_.end()) return found->second;
    if (kept_.size() >= kMax) kept_.clear();
    return kept_.emplace(key_, make(std::span<const Span>(spans_))).first->second;
  }
  // A block that goes.
  void forget(const Block& block) {
    const auto address = reinterpret_cast<uintptr_t>(&block);
    std::erase_if(kept_, [&](const auto& entry) {
      for (size_t i = 1; i < entry.first.size(); i += 3) {
        if (entry.first[i] == address) return true;
      }
      return false;
    });
  }

 private:
  static constexpr size_t kMax = 8192;
  // A layout, then block, offset and size of each buffer.
  using Key = std::vector<uint64_t>;
  struct KeyHash {
    [[nodiscard]] size_t operator()(const Key& key) const noexcept {
      size_t hash = key.size();
      for (const uint64_t part : key) hash = (hash ^ part) * 0x9e3779b97f4a7c15U ^ hash >> 29;
      return hash;
    }
  };

  std::unordered_map<Key, Made, KeyHash> kept_;
  // The key of the current launch.
  Key key_;
  std::vector<Span> spans_;
};

}  // namespace wick
