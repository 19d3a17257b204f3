// Finds the data beside the checkout, not in it: goldens, vocabularies, fixtures. A test that needs it skips without it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "source_root.h"

namespace wick {

// For GTEST_SKIP() << kSharedDataMissing.
inline constexpr std::string_view kSharedDataMissing =
    "needs the shared data: put it in ../shared beside the checkout or name its folder in WICK_SHARED";

// A file of the repository, such as "models/novelist-20m-q8_0.gguf".
[[nodiscard]] inline std::filesystem::path source_file(std::string_view relative) { return source_root() / relative; }

// A file or folder of the shared data, such as "data/models/stories260k-f32.gguf": in the folder that the environment variable
// WICK_SHARED names, else in ../shared beside the checkout. None if it is not there.
[[nodiscard]] inline std::optional<std::filesystem::path> shared_data(std::string_view relative) {
  const char* folder = std::getenv("WICK_SHARED");
  const std::filesystem::path root = folder != nullptr ? std::filesystem::path(folder) : source_file("../shared");
  std::filesystem::path path = root / relative;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  return path;
}

}  // namespace wick
