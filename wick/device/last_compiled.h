// For drivers whose interface has no binaries of programs: what they give as a program's binary is the text that the compiler took, and
// what the compiler made of it goes from compile() to the load() behind it.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wick {

// Any thread may call.
template <class Pipeline>
class LastCompiled {
 public:
  // Keeps it in place of the one before. Returns the text's bytes.
  std::vector<std::byte> keep(const std::string& text, Pipeline pipeline) {
    const std::lock_guard lock(mutex_);
    last_ = {text, std::move(pipeline)};
    const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
  }
  // Gives away what was made of this text; none where another text came last, or it was taken.
  [[nodiscard]] std::optional<Pipeline> take(std::string_view text) {
    const std::lock_guard lock(mutex_);
    if (!last_ || last_->first != text) return std::nullopt;
    std::optional<Pipeline> pipeline(std::move(last_->second));
    last_.reset();
    return pipeline;
  }

 private:
  std::mutex mutex_;
  std::optional<std::pair<std::string, Pipeline>> last_;
};

}  // namespace wick
