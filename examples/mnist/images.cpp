#include "mnist/images.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <memory>

#include "wick/base/fail.h"

namespace wick::mnist {
namespace {

// A gzip file of big-endian numbers and bytes.
class GzipFile {
 public:
  explicit GzipFile(const std::filesystem::path& path) : name_(path.string()), file_(gzopen(name_.c_str(), "rb"), gzclose) {
    if (file_ == nullptr) fail(ErrorCode::not_found, "{}: cannot be opened; name the folder that holds it with --data", name_);
  }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  uint32_t number() {
    uint8_t bytes[4];
    read(bytes);
    return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
  }
  void read(std::span<uint8_t> target) {
    const int count = gzread(file_.get(), target.data(), static_cast<unsigned>(target.size()));
    if (count != static_cast<int>(target.size())) {
      fail(ErrorCode::corrupt_file, "{}: ends, or is damaged, where {} more bytes were expected", name_, target.size());
    }
  }

 private:
  std::string name_;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
};

// The sizes behind the magic number of an IDX file (yann.lecun.com/exdb/mnist).
uint32_t count_of(GzipFile& file, uint32_t magic, std::span<const uint32_t> sizes) {
  constexpr uint32_t kMost = 1000000;
  if (const uint32_t found = file.number(); found != magic)
    fail(ErrorCode::corrupt_file, "{}: begins with {:#x}, not {:#x}", file.name(), found, magic);
  const uint32_t count = file.number();
  if (count > kMost) fail(ErrorCode::corrupt_file, "{}: says that it holds {} images", file.name(), count);
  for (const uint32_t size : sizes) {
    if (const uint32_t found = file.number(); found != size)
      fail(ErrorCode::corrupt_file, "{}: images have an extent of {}, not {}", file.name(), found, size);
  }
  return count;
}

}  // namespace

void Images::add(const Images& other, int64_t index) {
  const std::span<const uint8_t> image = other.image(index);
  pixels.insert(pixels.end(), image.begin(), image.end());
  labels.push_back(other.labels[static_cast<size_t>(index)]);
}

void Images::keep(int64_t count) {
  const auto kept = static_cast<size_t>(std::min(count, size()));
  labels.resize(kept);
  pixels.resize(kept * static_cast<size_t>(kPixels));
}

Images load_test_images(const std::filesystem::path& folder) {
  GzipFile pixels(folder / "t10k-images-idx3-ubyte.gz");
  GzipFile labels(folder / "t10k-labels-idx1-ubyte.gz");
  constexpr uint32_t kSides[] = {kSide, kSide};
  const uint32_t count = count_of(pixels, 0x803, kSides);
  if (const uint32_t other = count_of(labels, 0x801, {}); other != count)
    fail(ErrorCode::corrupt_file, "{}: {} labels for {} images", labels.name(), other, count);
  Images images{std::vector<uint8_t>(size_t{count} * static_cast<size_t>(kPixels)), std::vector<uint8_t>(count)};
  pixels.read(images.pixels);
  labels.read(images.labels);
  if (const auto wrong = std::ranges::find_if(images.labels, [](uint8_t label) { return label >= kClasses; }); wrong != images.labels.end())
    fail(ErrorCode::corrupt_file, "{}: {} is no digit", labels.name(), int{*wrong});
  return images;
}

Tensor batch_of(const Images& images, std::span<const int64_t> indices, std::span<const Shift> shifts, const Device& device) {
  constexpr float kBlack = -kMean / kDeviation;
  std::vector<float> values(indices.size() * static_cast<size_t>(kPixels), kBlack);
  for (size_t i = 0; i < indices.size(); ++i) {
    const std::span<const uint8_t> image = images.image(indices[i]);
    const Shift shift = i < shifts.size() ? shifts[i] : Shift{};
    float* target = values.data() + i * static_cast<size_t>(kPixels);
    for (int64_t y = std::max(0, shift.down); y < kSide + std::min(0, shift.down); ++y) {
      for (int64_t x = std::max(0, shift.right); x < kSide + std::min(0, shift.right); ++x) {
        const uint8_t pixel = image[static_cast<size_t>((y - shift.down) * kSide + x - shift.right)];
        target[y * kSide + x] = (static_cast<float>(pixel) / 255.0F - kMean) / kDeviation;
      }
    }
  }
  return Tensor::from_owned(std::move(values), {static_cast<int64_t>(indices.size()), 1, kSide, kSide}, device);
}

Tensor labels_of(const Images& images, std::span<const int64_t> indices, const Device& device) {
  std::vector<uint32_t> values;
  for (const int64_t index : indices) values.push_back(images.labels[static_cast<size_t>(index)]);
  return Tensor::from_owned(std::move(values), {static_cast<int64_t>(indices.size())}, device);
}

}  // namespace wick::mnist
