// A PageArena places weights one behind the other in large mappings, so that huge pages cover them all: a mapping for each would begin and
// end in small pages, and a processor that walks small pages reads memory at half its speed.
#pragma once

#include <cstddef>
#include <vector>

namespace wick::cpu {

class PageArena {
 public:
  PageArena() = default;
  PageArena(const PageArena&) = delete;
  PageArena& operator=(const PageArena&) = delete;
  ~PageArena();

  // Uninitialised, aligned to 64 bytes; nullptr where the system has no address space left. Pages cost memory when first written.
  [[nodiscard]] std::byte* take(size_t bytes);
  // Frees a block of take(). Its pages return to the system, except those shared with neighbours, which return with the last of them.
  void give_back(std::byte* data, size_t bytes) noexcept;

 private:
  struct Mapping {
    std::byte* data;
    size_t capacity;
    size_t used;  // bytes from the start that were given out, and are not given out again
    size_t live;  // blocks that are still out
  };

  std::vector<Mapping> mappings_;  // the last one is filled
};

}  // namespace wick::cpu
