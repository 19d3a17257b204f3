// A ProgramTable remembers the programs that a device has made, by what they were made for.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <shared_mutex>
#include <string_view>
#include <unordered_map>

#include "wick/device/program.h"

namespace [[gnu::visibility("default")]] wick {

// Names a kernel before it is built: the function that builds it, and what that function is given.
struct ProgramKey {
  static constexpr size_t kMaxNumbers = 12;

  // `kernel` lives as long as the program: a literal.
  ProgramKey(std::string_view kernel, std::initializer_list<uint32_t> values) : name(kernel) {
    std::copy_n(values.begin(), std::min(values.size(), kMaxNumbers), numbers.begin());
    count = static_cast<uint32_t>(values.size());
  }
  friend bool operator==(const ProgramKey&, const ProgramKey&) = default;

  std::string_view name;
  uint32_t count = 0;
  std::array<uint32_t, kMaxNumbers> numbers{};
};

class ProgramTable {
 public:
  using Make = std::function<std::shared_ptr<const Program>()>;
  // The program of that key; made by the first caller that needs it.
  [[nodiscard]] const Program& get(const ProgramKey& key, const Make& make);
  void clear() { programs_.clear(); }

 private:
  struct Hash {
    [[nodiscard]] size_t operator()(const ProgramKey& key) const noexcept;
  };

  std::shared_mutex mutex_;
  std::unordered_map<ProgramKey, std::shared_ptr<const Program>, Hash> programs_;
};

}  // namespace wick
