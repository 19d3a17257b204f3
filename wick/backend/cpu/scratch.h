// Scratch is the working memory of one thread; ops borrow it by frames, like a stack, so that nothing is allocated
// after the first calls.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "wick/backend/cpu/cpu_memory.h"

namespace wick::cpu {

class Scratch {
 public:
  // Gives its memory back; not while a frame is open.
  void release_all() noexcept;

 private:
  friend class ScratchFrame;

  // The end of what is in use: everything before is a frame's.
  struct Top {
    size_t block = 0;
    size_t bytes = 0;  // of that block
  };

  [[nodiscard]] std::byte* take(size_t bytes);
  void release(const Top& top);

  std::shared_ptr<MemoryPool> memory_ = std::make_shared<MemoryPool>();
  std::vector<std::unique_ptr<Buffer>> blocks_;
  size_t wanted_ = 0;  // by all blocks together, when there were several: the next one is as large
  Top top_;
};

// Memory taken from a thread's scratch until the end of a scope. Frames of one thread nest, and only the innermost one allocates: code that
// is called meanwhile may open its own. A frame stays with the thread that opened it; its memory may be read and written by any.
class ScratchFrame {
 public:
  explicit ScratchFrame(Scratch& scratch) : scratch_(scratch), begin_(scratch.top_) {}
  ScratchFrame(const ScratchFrame&) = delete;
  ScratchFrame& operator=(const ScratchFrame&) = delete;
  ~ScratchFrame() { scratch_.release(begin_); }

  // `count` uninitialised elements, aligned to 64 bytes. Errors: out_of_memory.
  template <class T>
  [[nodiscard]] T* take(size_t count) {
    return reinterpret_cast<T*>(scratch_.take(count * sizeof(T)));
  }

 private:
  Scratch& scratch_;
  Scratch::Top begin_;
};

}  // namespace wick::cpu
