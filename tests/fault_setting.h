// What a test asks of a fake library, by an environment variable: "shared=64,after=5".
#pragma once

#include <cstdlib>
#include <string>

namespace wick {

// The number of that name in the variable, or `otherwise`.
inline long fault_setting(const char* variable, const std::string& name, long otherwise) {
  const char* const text = std::getenv(variable);
  const std::string all = "," + std::string(text == nullptr ? "" : text);
  const size_t at = all.find("," + name + "=");
  return at == std::string::npos ? otherwise : std::atol(all.c_str() + at + name.size() + 2);
}

}  // namespace wick
