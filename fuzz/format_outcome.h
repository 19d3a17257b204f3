// What the fuzz targets of formats do with one: compile it, draw texts, and read them again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>

#include "outcome.h"
#include "wick/base/error.h"
#include "wick/text/grammar/format_matcher.h"

namespace wick::fuzz {

inline std::string text_of(const uint8_t* data, size_t size) { return {reinterpret_cast<const char*>(data), size}; }

inline void use_format(const OutputFormat& format) {
  try {
    FormatMatcher matcher(format);
    std::mt19937_64 random(1);
    for (int count = 0; count < 4; ++count) {
      const std::optional<std::string> text = matcher.sample(random, 300);
      if (text && matcher.mismatch(*text)) std::abort();
    }
    ++outcome.accepted;
  } catch (const Error&) {
    ++outcome.refused;
  }
}

}  // namespace wick::fuzz
