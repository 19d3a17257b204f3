#include "wick/backend/cpu/page_arena.h"

#include <algorithm>

#include "wick/base/process.h"

namespace wick::cpu {
namespace {

// Address space, not memory.
constexpr size_t kMappingBytes = size_t{1} << 30;
constexpr size_t kAlignment = 64;

size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

PageArena::~PageArena() {
  for (const Mapping& mapping : mappings_) unmap_pages(mapping.data, mapping.capacity);
}

std::byte* PageArena::take(size_t bytes) {
  const size_t size = round_up(std::max<size_t>(bytes, 1), kAlignment);
  if (mappings_.empty() || mappings_.back().capacity - mappings_.back().used < size) {
    const size_t least = round_up(size, kHugePageBytes);
    size_t capacity = std::max(kMappingBytes, least);
    void* data = map_zeroed_pages(capacity);
    if (data == nullptr) data = map_zeroed_pages(capacity = least);  // where address space is limited (ulimit -v)
    if (data == nullptr) return nullptr;
    mappings_.push_back({static_cast<std::byte*>(data), capacity, 0, 0});
  }
  Mapping& mapping = mappings_.back();
  std::byte* const block = mapping.data + mapping.used;
  mapping.used += size;
  ++mapping.live;
  return block;
}

void PageArena::give_back(std::byte* data, size_t bytes) noexcept {
  const auto owner = std::find_if(mappings_.begin(), mappings_.end(), [data](const Mapping& mapping) {
    return data >= mapping.data && data < mapping.data + mapping.capacity;
  });
  if (--owner->live > 0) return release_pages(data, bytes);
  unmap_pages(owner->data, owner->capacity);
  mappings_.erase(owner);
}

}  // namespace wick::cpu
