// How modules of SPIR-V are told from texts.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace wick {

// In the byte order of this machine.
[[nodiscard]] inline bool is_spirv(std::string_view bytes) noexcept {
  constexpr uint32_t kMagic = 0x07230203;
  uint32_t magic = 0;
  if (bytes.size() >= sizeof magic) std::memcpy(&magic, bytes.data(), sizeof magic);
  return magic == kMagic;
}

}  // namespace wick
