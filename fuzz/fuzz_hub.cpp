// Reads any bytes as a hub's list of files, as the manifest of a model in the cache, and as a package index's answer; only wick::Error may
// come of it, and no path that leaves the folder.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "outcome.h"
#include "wick/base/error.h"
#include "wick/cli/hub/model_hub.h"
#include "wick/cli/hub/package_index.h"

namespace {

void check(const std::vector<wick::HubFile>& files) {
  for (const wick::HubFile& file : files) {
    const std::filesystem::path path = std::filesystem::path("/cache/owner/name") / file.path;
    if (!path.lexically_normal().string().starts_with("/cache/owner/name/")) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  bool accepted = false;
  for (const auto parse : {&wick::parse_hub_list, &wick::parse_hub_manifest}) {
    try {
      check(parse(text, "input"));
      accepted = true;
    } catch (const wick::Error&) {}
  }
  try {
    const wick::PackageWheel wheel = wick::choose_wheel(text, "https://index.example/simple/pack/", "pack", "");
    check({{wheel.file, wheel.bytes, wheel.sha256}});
    if (wheel.version.find('/') != std::string::npos || !wheel.url.starts_with("http")) std::abort();
    accepted = true;
  } catch (const wick::Error&) {}
  ++(accepted ? wick::fuzz::outcome.accepted : wick::fuzz::outcome.refused);
  return 0;
}
