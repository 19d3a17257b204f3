// Information about this build, filled in by CMake.
#pragma once

#include <string>
#include <string_view>

namespace wick {

struct BuildInfo {
  std::string_view version;   // "0.1.0"
  std::string_view commit;    // of the checkout that CMake was run in; "unknown" without one
  std::string_view compiler;  // "GNU 12.2.0"
  std::string_view build_type;
  std::string_view date;  // of the commit, or of the build without one: "2026-11-23"
};

[[nodiscard]] const BuildInfo& build_info() noexcept;
// With the linked backends, and the code paths of each that are compiled and chosen, as JSON.
[[nodiscard]] std::string build_info_json();

}  // namespace wick
