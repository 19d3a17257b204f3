// Images of PNG and JPEG files as bytes: rows of pixels, each with its channels together.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace wick {

struct Image {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;         // 1 (gray) or 3 (red, green, blue)
  std::vector<uint8_t> pixels;  // [height, width, channels]
};

// Whatever the file holds becomes gray or RGB of 8 bits; transparent pixels are shown on black. channels: 1 or 3.
// Errors: corrupt_file; unsupported for what is neither PNG nor JPEG, for more than 2^26 pixels, and for 2^29 in all scans of
// a JPEG file. `name` is used as the path in errors.
[[nodiscard]] Image decode_image(std::span<const std::byte> bytes, const std::string& name, int64_t channels);
// Errors: not_found, io; and decode_image's.
[[nodiscard]] Image read_image(const std::filesystem::path& path, int64_t channels);
// Whether the name ends as a PNG or JPEG file's does, in any case.
[[nodiscard]] bool has_image_extension(const std::filesystem::path& path);

}  // namespace wick
