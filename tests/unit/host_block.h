// The memory of devices that tests make up: the host's.
#pragma once

#include <cstddef>
#include <vector>

#include "wick/device/buffer.h"

namespace wick {

class HostBlock final : public Buffer {
 public:
  explicit HostBlock(size_t bytes) : bytes_(bytes) {}
  [[nodiscard]] size_t bytes() const noexcept override { return bytes_.size(); }
  [[nodiscard]] std::byte* host_data() noexcept override { return bytes_.data(); }

 private:
  std::vector<std::byte> bytes_;
};

[[nodiscard]] inline std::byte* address(const Buffer& buffer, size_t offset) {
  const auto [block, first] = buffer.place();
  return block->host_data() + first + offset;
}

}  // namespace wick
