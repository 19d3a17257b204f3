#include "wick/server/request_id.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <random>

namespace wick::server {
namespace {

// Ids are drawn many times a second: the system's source seeds a generator of each thread.
uint64_t random_word() {
  thread_local std::mt19937_64 generator([] {
    std::random_device source;
    std::seed_seq seed{source(), source(), source(), source(), source(), source(), source(), source()};
    return std::mt19937_64(seed);
  }());
  return generator();
}

}  // namespace

std::string random_uuid() {
  const uint64_t high = (random_word() & ~0xF000ULL) | 0x4000ULL;
  const uint64_t low = (random_word() & ~(3ULL << 62U)) | 1ULL << 63U;
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32U, (high >> 16U) & 0xFFFFU, high & 0xFFFFU, low >> 48U,
                     low & 0xFFFFFFFFFFFFULL);
}

std::string random_id(std::string_view prefix) { return fmt::format("{}{:016x}{:016x}", prefix, random_word(), random_word()); }

uint64_t random_number() { return random_word(); }

std::string request_id_of(const HttpRequest& request) {
  constexpr size_t kLongest = 128;
  const std::optional<std::string_view> given = request.headers.find("X-Request-Id");
  const auto is_plain = [](char c) { return c > ' ' && c < 0x7F; };
  if (given && !given->empty() && given->size() <= kLongest && std::ranges::all_of(*given, is_plain)) return std::string(*given);
  return random_uuid();
}

}  // namespace wick::server
