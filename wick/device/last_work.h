// LastWork is what a queue was given last, for the error of work that fails long after: the kernel, and the op that it is part of.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "wick/device/op_call.h"
#include "wick/layout/shape.h"

namespace wick {

// The op that the calling thread carries out, while this lives.
class OpScope {
 public:
  explicit OpScope(const OpCall& call) noexcept : outer_(innermost) { innermost = &call; }
  ~OpScope() { innermost = outer_; }
  OpScope(const OpScope&) = delete;
  OpScope& operator=(const OpScope&) = delete;

  // nullptr: none.
  [[nodiscard]] static const OpCall* current() noexcept { return innermost; }

 private:
  static thread_local const OpCall* innermost;
  const OpCall* outer_;
};

class LastWork {
 public:
  // A kernel is queued, for OpScope::current() if there is one.
  void note(std::string_view kernel);
  // "softmax_f32 (softmax of f32 [4, 32])"; empty: nothing yet.
  [[nodiscard]] std::string text() const;

 private:
  struct Kept {
    DType dtype{};
    Shape shape;
  };
  std::string kernel_;
  OpId op_{};
  int kind_ = 0;
  std::array<Kept, 4> inputs_;  // of an op with more, the first
  size_t count_ = 0;
  bool has_op_ = false;
};

}  // namespace wick
