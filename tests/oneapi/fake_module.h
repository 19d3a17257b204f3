// The fake compiler's output, which the fake loader takes: a SPIR-V header, then the OpenCL C source. Real tools refuse it.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

inline constexpr uint32_t kFakeDeviceId = 0x56a0;
inline constexpr std::string_view kFakeNative = "fake native code\n";
// Magic number, version 1.2, generator, bound, schema.
inline constexpr std::array<uint32_t, 5> kSpirvHeader{0x07230203, 0x00010200, 0, 1, 0};

inline std::string fake_module(std::string_view text) {
  std::string module(sizeof(kSpirvHeader), '\0');
  std::memcpy(module.data(), kSpirvHeader.data(), sizeof(kSpirvHeader));
  return module.append(text);
}

// Empty for what is no such module.
inline std::string fake_module_text(std::string_view module) {
  if (module.size() < sizeof(kSpirvHeader) || std::memcmp(module.data(), kSpirvHeader.data(), sizeof(kSpirvHeader)) != 0) return {};
  return std::string(module.substr(sizeof(kSpirvHeader)));
}
