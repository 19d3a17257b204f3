// A Budget bounds what a template may cost: steps, memory and depth, so that a hostile one ends with an error instead of the machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace wick::jinja {

// An exception as in Python. The renderer adds the line.
struct Raised {
  std::string type;  // "UndefinedError", "TypeError" …; "LimitError" is ours
  std::string message;
};

struct Limits {
  int64_t steps = 20'000'000;              // expressions, statements, items; and one for each 64 bytes that are copied
  size_t output_bytes = size_t{64} << 20;  // of the result, and of any one string
  size_t live_bytes = size_t{512} << 20;   // of all strings and items that are alive
  int depth = 1500;                        // expressions and statements inside each other, and values inside each other
};

class Budget {
 public:
  explicit Budget(const Limits& limits) : limits_(limits) {}

  [[nodiscard]] const Limits& limits() const noexcept { return limits_; }
  void step(int64_t count = 1) {
    steps_ += count;
    if (steps_ > limits_.steps) stop("it takes too many steps (more than " + std::to_string(limits_.steps) + ")");
  }
  // A string or container of so many bytes begins to live. release() is the end of it.
  void take(size_t bytes) {
    if (bytes > limits_.output_bytes) stop("a value grows beyond " + std::to_string(limits_.output_bytes >> 20) + " MiB");
    step(static_cast<int64_t>(bytes / 64));
    if (live_ + bytes > limits_.live_bytes) stop("its values need more than " + std::to_string(limits_.live_bytes >> 20) + " MiB");
    live_ += bytes;
  }
  // Refuses a size before anything of it is made.
  void check_size(size_t count, size_t each) const {
    if (each != 0 && count > limits_.output_bytes / each) {
      stop("a value grows beyond " + std::to_string(limits_.output_bytes >> 20) + " MiB");
    }
  }
  void release(size_t bytes) noexcept { live_ -= bytes; }
  void check_depth(int depth) const {
    if (depth > limits_.depth) throw Raised{"RecursionError", "maximum recursion depth exceeded"};
  }

 private:
  [[noreturn]] static void stop(const std::string& what) { throw Raised{"LimitError", what}; }

  Limits limits_;
  int64_t steps_ = 0;
  size_t live_ = 0;
};

}  // namespace wick::jinja
