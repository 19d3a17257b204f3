#include "wick/formats/image.h"

#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <memory>
#include <type_traits>

#include "wick/base/ascii.h"
#include "wick/base/fail.h"
#include "wick/base/mapped_file.h"

namespace wick {
namespace {

constexpr int64_t kMaxPixels = int64_t{1} << 26;
// Each scan of a progressive JPEG file passes over all pixels, however few bytes it has: pixels times scans are limited, too.
constexpr int64_t kMaxScannedPixels = int64_t{1} << 29;

Image blank(int64_t height, int64_t width, int64_t channels, const std::string& name) {
  if (height < 1 || width < 1) fail(ErrorCode::corrupt_file, "{}: not a readable image: {} x {} pixels", name, width, height);
  if (height * width > kMaxPixels) {
    fail(ErrorCode::unsupported, "{}: {} x {} pixels; at most {} are read", name, width, height, kMaxPixels);
  }
  return {height, width, channels, std::vector<uint8_t>(static_cast<size_t>(height * width * channels))};
}

Image decode_png(std::span<const std::byte> bytes, const std::string& name, int64_t channels) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, decltype(&png_image_free)> owner(&png, png_image_free);
  if (png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()) == 0) {
    fail(ErrorCode::corrupt_file, "{}: not a readable PNG file: {}", name, png.message);
  }
  png.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  Image image = blank(png.height, png.width, channels, name);
  const png_color black{0, 0, 0};
  if (png_image_finish_read(&png, &black, image.pixels.data(), 0, nullptr) == 0) {
    fail(ErrorCode::corrupt_file, "{}: not a readable PNG file: {}", name, png.message);
  }
  return image;
}

// Of JPEG: a byte 0xff within data is followed by a 0, so this counts segments of that kind, and those of a picture in a picture.
int64_t count_markers(std::span<const std::byte> bytes, uint8_t kind) {
  int64_t count = 0;
  for (size_t at = 1; at < bytes.size(); ++at) count += bytes[at - 1] == std::byte{0xff} && bytes[at] == std::byte{kind} ? 1 : 0;
  return count;
}

Image decode_jpeg(std::span<const std::byte> bytes, const std::string& name, int64_t channels) {
  const std::unique_ptr<std::remove_pointer_t<tjhandle>, decltype(&tjDestroy)> decoder(tjInitDecompress(), tjDestroy);
  const auto refuse = [&] { fail(ErrorCode::corrupt_file, "{}: not a readable JPEG file: {}", name, tjGetErrorStr2(decoder.get())); };
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  int width = 0, height = 0, subsampling = 0, colours = 0;
  if (tjDecompressHeader3(decoder.get(), data, bytes.size(), &width, &height, &subsampling, &colours) != 0) refuse();
  Image image = blank(height, width, channels, name);
  const int64_t scans = count_markers(bytes, 0xda);
  if (scans * height * width > kMaxScannedPixels) {
    fail(ErrorCode::unsupported, "{}: {} scans of {} x {} pixels; at most {} pixels in all scans are read", name, scans, width, height,
         kMaxScannedPixels);
  }
  // A warning, such as bytes that are left over, still gives an image.
  const int format = channels == 1 ? TJPF_GRAY : TJPF_RGB;
  const int status = tjDecompress2(decoder.get(), data, bytes.size(), image.pixels.data(), width, 0, height, format, 0);
  if (status != 0 && tjGetErrorCode(decoder.get()) == TJERR_FATAL) refuse();
  return image;
}

bool starts_with(std::span<const std::byte> bytes, std::initializer_list<uint8_t> magic) {
  return bytes.size() >= magic.size() &&
         std::equal(magic.begin(), magic.end(), bytes.begin(), [](uint8_t a, std::byte b) { return a == std::to_integer<uint8_t>(b); });
}

}  // namespace

Image decode_image(std::span<const std::byte> bytes, const std::string& name, int64_t channels) {
  if (channels != 1 && channels != 3)
    fail(ErrorCode::invalid_argument, "{}: {} channels; an image has 1 (gray) or 3 (RGB)", name, channels);
  if (starts_with(bytes, {0x89, 'P', 'N', 'G'})) return decode_png(bytes, name, channels);
  if (starts_with(bytes, {0xff, 0xd8, 0xff})) return decode_jpeg(bytes, name, channels);
  fail(ErrorCode::unsupported, "{}: neither a PNG nor a JPEG file", name);
}

Image read_image(const std::filesystem::path& path, int64_t channels) {
  const auto file = MappedFile::open(path);
  return decode_image(file->bytes(), path.string(), channels);
}

bool has_image_extension(const std::filesystem::path& path) {
  const std::string extension = ascii_lowercase(path.extension().string());
  return extension == ".png" || extension == ".jpg" || extension == ".jpeg";
}

}  // namespace wick
