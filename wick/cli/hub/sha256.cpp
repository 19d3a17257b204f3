#include "wick/cli/hub/sha256.h"

#include <fmt/format.h>
#include <nettle/sha2.h>

#include <array>

namespace wick {

struct Sha256::State {
  sha256_ctx context;
};

Sha256::Sha256() : state_(std::make_unique<State>()) { sha256_init(&state_->context); }

Sha256::~Sha256() = default;

void Sha256::add(std::span<const std::byte> bytes) {
  sha256_update(&state_->context, bytes.size(), reinterpret_cast<const uint8_t*>(bytes.data()));
}

std::string Sha256::finish() {
  std::array<uint8_t, SHA256_DIGEST_SIZE> digest{};
  sha256_digest(&state_->context, digest.size(), digest.data());
  std::string text;
  for (const uint8_t byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

bool is_sha256(std::string_view text) noexcept {
  return text.size() == 2 * SHA256_DIGEST_SIZE && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string sha256_of(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.finish();
}

std::string sha256_of(std::string_view text) { return sha256_of(std::as_bytes(std::span(text))); }

}  // namespace wick
