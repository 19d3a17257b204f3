// SHA-256 of files and texts, by nettle, which uses the processor's own instructions for it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace wick {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void add(std::span<const std::byte> bytes);
  // Hash of all bytes added, as 64 hexadecimal digits; resets the state.
  [[nodiscard]] std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Whether a text is a hash as finish() writes it.
[[nodiscard]] bool is_sha256(std::string_view text) noexcept;
[[nodiscard]] std::string sha256_of(std::span<const std::byte> bytes);
[[nodiscard]] std::string sha256_of(std::string_view text);

}  // namespace wick
