// Reads any bytes as an entry of the cache of compiled programs; it throws nothing.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "outcome.h"
#include "wick/device/program_cache.h"

namespace {

// What was read goes here, so that no read is optimized away.
volatile uint64_t sink = 0;

// The binary, walked over; it must lie in the entry, behind its key.
bool is_entry(std::span<const std::byte> entry, std::string_view key) {
  const std::optional<std::span<const std::byte>> binary = wick::binary_of_entry(entry, key);
  if (!binary) return false;
  if (binary->data() < entry.data() + key.size() || binary->data() + binary->size() != entry.data() + entry.size()) std::abort();
  for (const std::byte byte : *binary) sink = sink + std::to_integer<uint64_t>(byte);
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto entry = std::as_bytes(std::span(data, size));
  // Asked for by the key that the entry claims, so that it is read to its end, and by another.
  uint64_t key_bytes = 0;
  if (size >= 16) std::memcpy(&key_bytes, data + 8, sizeof(key_bytes));
  std::string key;
  if (size >= 32 && key_bytes <= size - 32) key.assign(reinterpret_cast<const char*>(data) + 32, static_cast<size_t>(key_bytes));
  const bool accepted = is_entry(entry, key);
  if (is_entry(entry, key + "x")) std::abort();
  ++(accepted ? wick::fuzz::outcome.accepted : wick::fuzz::outcome.refused);
  return 0;
}
