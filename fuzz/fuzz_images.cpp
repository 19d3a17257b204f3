// Reads any bytes as a PNG or JPEG image; only wick::Error may come of it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "outcome.h"
#include "wick/base/error.h"
#include "wick/formats/image.h"

namespace {

bool accepted(std::span<const std::byte> bytes, int64_t channels) {
  try {
    const wick::Image image = wick::decode_image(bytes, "input", channels);
    if (image.height < 1 || image.width < 1 || image.channels != channels) std::abort();
    if (image.pixels.size() != static_cast<size_t>(image.height * image.width * channels)) std::abort();
    return true;
  } catch (const wick::Error&) {
    return false;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const bool colour = accepted(bytes, 3);
  const bool gray = accepted(bytes, 1);
  ++(colour || gray ? wick::fuzz::outcome.accepted : wick::fuzz::outcome.refused);
  return 0;
}
