// Arithmetic of int64_t that remembers whether a result was too large, for numbers that callers and files choose.
#pragma once

#include <cstdint>
#include <optional>

namespace [[gnu::visibility("default")]] wick {

// Checked(a) * b + c is the number or, if any step left the range of int64_t, nothing.
class Checked {
 public:
  constexpr Checked(int64_t value) noexcept : value_(value) {}  // NOLINT: numbers mix with it

  [[nodiscard]] constexpr bool fits() const noexcept { return fits_; }
  [[nodiscard]] constexpr std::optional<int64_t> value() const noexcept { return fits_ ? std::optional(value_) : std::nullopt; }
  [[nodiscard]] constexpr int64_t value_or(int64_t other) const noexcept { return fits_ ? value_ : other; }

  friend constexpr Checked operator+(Checked lhs, Checked rhs) noexcept {
    return joined(lhs, rhs, [](int64_t a, int64_t b, int64_t* out) { return __builtin_add_overflow(a, b, out); });
  }
  friend constexpr Checked operator-(Checked lhs, Checked rhs) noexcept {
    return joined(lhs, rhs, [](int64_t a, int64_t b, int64_t* out) { return __builtin_sub_overflow(a, b, out); });
  }
  friend constexpr Checked operator*(Checked lhs, Checked rhs) noexcept {
    return joined(lhs, rhs, [](int64_t a, int64_t b, int64_t* out) { return __builtin_mul_overflow(a, b, out); });
  }

 private:
  template <class Operation>
  static constexpr Checked joined(Checked lhs, Checked rhs, Operation operation) noexcept {
    Checked result(0);
    const bool overflows = operation(lhs.value_, rhs.value_, &result.value_);
    result.fits_ = lhs.fits_ && rhs.fits_ && !overflows;
    return result;
  }

  int64_t value_;
  bool fits_ = true;
};

}  // namespace wick
