// JSON of an untrusted file, parsed with a bound on its depth and without keys that stand there twice.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "wick/base/json.h"

namespace wick {

// Where the text comes from, for messages: "FILE: PART at byte N: …; REMEDY".
struct JsonSource {
  const std::string& file;
  const char* part;
  size_t first_byte;  // of the text in the file
  const char* remedy;
};

// Errors: corrupt_file for text that is no JSON, is nested more than max_depth deep, or has a key twice in one object.
[[nodiscard]] nlohmann::json parse_strict_json(std::span<const std::byte> text, int max_depth, const JsonSource& source);

}  // namespace wick
