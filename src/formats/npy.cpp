#include "formats/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/mapped_file.h"
#include "formats/printable.h"

namespace wick {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr const char* kRemedy = "the file is truncated or corrupt: write it again";
constexpr size_t kHeaderAlignment = 64;

struct Descriptor {
  std::string_view name;
  DType dtype;
};

constexpr std::array kDescriptors = {
    Descriptor{"|u1", DType::u8},  Descriptor{"<u4", DType::u32}, Descriptor{"<i2", DType::i16}, Descriptor{"<i4", DType::i32},
    Descriptor{"<i8", DType::i64}, Descriptor{"<f2", DType::f16}, Descriptor{"<f4", DType::f32}, Descriptor{"<f8", DType::f64},
};

std::string_view descriptor(DType dtype, const std::string& name) {
  for (const Descriptor& known : kDescriptors) {
    if (known.dtype == dtype) return known.name;
  }
  fail(ErrorCode::unsupported, "{}: npy files cannot hold {}; convert it to f32", name, to_string(dtype));
}

// The header is a Python dictionary literal with exactly the keys 'descr', 'fortran_order' and 'shape'.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, size_t begin, const std::string& name) : text_(text), begin_(begin), name_(name) {}

  NpyArray read() {
    NpyArray array;
    bool seen_descriptor = false;
    bool seen_order = false;
    bool seen_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr" && !seen_descriptor) {
        array.dtype = read_descriptor();
        seen_descriptor = true;
      } else if (key == "fortran_order" && !seen_order) {
        read_order();
        seen_order = true;
      } else if (key == "shape" && !seen_shape) {
        array.shape = read_shape();
        seen_shape = true;
      } else {
        fail_here("a key is unknown or there twice");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (position_ != text_.size()) fail_here("something follows the dictionary");
    if (!seen_descriptor || !seen_order || !seen_shape) fail_here("one of descr, fortran_order and shape is absent");
    return array;
  }

 private:
  [[noreturn]] void fail_here(const char* what) const {
    fail(ErrorCode::corrupt_file, "{}: header at byte {}: {}; {}", name_, begin_ + position_, what, kRemedy);
  }
  void skip_space() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n')) ++position_;
  }
  bool accept(char wanted) {
    skip_space();
    if (position_ >= text_.size() || text_[position_] != wanted) return false;
    ++position_;
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted)) fail_here("not the dictionary of an npy file");
  }
  bool accept_word(std::string_view word) {
    skip_space();
    if (!text_.substr(position_).starts_with(word)) return false;
    position_ += word.size();
    return true;
  }
  std::string_view quoted() {
    skip_space();
    const char quote = position_ < text_.size() ? text_[position_] : '\0';
    if (quote != '\'' && quote != '"') fail_here("a quoted string is missing");
    const size_t end = text_.find(quote, position_ + 1);
    if (end == std::string_view::npos) fail_here("a string does not end");
    const std::string_view inside = text_.substr(position_ + 1, end - position_ - 1);
    position_ = end + 1;
    return inside;
  }

  DType read_descriptor() {
    const std::string_view text = quoted();
    for (const Descriptor& known : kDescriptors) {
      if (known.name == text) return known.dtype;
    }
    fail(ErrorCode::unsupported, "{}: header at byte {}: descr {} is not supported; save it as little-endian numbers", name_,
         begin_ + position_, printable(text));
  }

  void read_order() {
    if (accept_word("False")) return;
    if (!accept_word("True")) fail_here("fortran_order is neither True nor False");
    fail(ErrorCode::unsupported, "{}: header at byte {}: Fortran order is not supported; save numpy.ascontiguousarray(a)", name_,
         begin_ + position_);
  }

  Shape read_shape() {
    std::array<int64_t, kMaxRank> dims{};
    size_t rank = 0;
    int64_t elements = 1;
    expect('(');
    while (!accept(')')) {
      skip_space();
      if (rank == kMaxRank) fail_here("the shape's rank is above 8");
      const char* first = text_.data() + position_;
      const auto [end, error] = std::from_chars(first, text_.data() + text_.size(), dims[rank]);
      if (error != std::errc() || dims[rank] < 0) fail_here("an extent of the shape is no number");
      if (__builtin_mul_overflow(elements, std::max<int64_t>(dims[rank], 1), &elements)) fail_here("the shape's product exceeds 2^63 - 1");
      position_ += static_cast<size_t>(end - first);
      ++rank;
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return Shape(std::span<const int64_t>(dims.data(), rank));
  }

  std::string_view text_;
  size_t begin_;
  const std::string& name_;
  size_t position_ = 0;
};

std::string header_text(DType dtype, const Shape& shape, const std::string& name) {
  const char* comma = shape.rank() == 1 ? "," : "";
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descriptor(dtype, name),
                                 fmt::join(shape.dims(), ", "), comma);
  // Magic, version and length take 10 bytes; the data then start at a multiple of 64. Eight dimensions stay far below 64 KiB.
  const size_t unpadded = 10 + text.size() + 1;
  text.append((kHeaderAlignment - unpadded % kHeaderAlignment) % kHeaderAlignment, ' ');
  text += '\n';
  return text;
}

}  // namespace

NpyArray read_npy(const std::filesystem::path& path) { return parse_npy(MappedFile::open(path)->bytes(), path.string()); }

NpyArray parse_npy(std::span<const std::byte> bytes, const std::string& name) {
  const auto require = [&](size_t needed, const char* field, size_t at) {
    if (bytes.size() >= at && bytes.size() - at >= needed) return;
    fail(ErrorCode::corrupt_file, "{}: {} at byte {}: {} bytes needed, {} left; {}", name, field, at, needed,
         bytes.size() >= at ? bytes.size() - at : 0, kRemedy);
  };
  require(8, "magic", 0);
  if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    fail(ErrorCode::corrupt_file, "{}: magic at byte 0: the file starts with {}, not an npy file's magic; name an npy file", name,
         printable(bytes.first(kMagic.size())));
  }
  const auto version = std::to_integer<int>(bytes[6]);
  if (version < 1 || version > 3) {
    fail(ErrorCode::unsupported, "{}: version at byte 6: {} is unknown; save it with version 1.0", name, version);
  }
  size_t header_bytes = 0;
  const size_t length_bytes = version == 1 ? 2 : 4;
  require(length_bytes, "header length", 8);
  std::memcpy(&header_bytes, bytes.data() + 8, length_bytes);  // little-endian
  const size_t begin = 8 + length_bytes;
  require(header_bytes, "header", begin);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data() + begin), header_bytes);
  NpyArray array = HeaderReader(text, begin, name).read();
  const std::span<const std::byte> data = bytes.subspan(begin + header_bytes);
  const auto element_bytes = static_cast<size_t>(info(array.dtype).block_bytes);
  const auto elements = static_cast<size_t>(array.shape.elements());
  if (data.size() % element_bytes != 0 || data.size() / element_bytes != elements) {
    fail(ErrorCode::corrupt_file, "{}: data at byte {}: {} bytes, which is not shape {} as {}; {}", name, begin + header_bytes, data.size(),
         array.shape.to_string(), to_string(array.dtype), kRemedy);
  }
  array.data.assign(data.begin(), data.end());
  return array;
}

NpyWriter::NpyWriter(const std::filesystem::path& path, DType dtype, const Shape& shape) : name_(path.string()), missing_(0), file_(path) {
  const std::string text = header_text(dtype, shape, name_);
  missing_ = static_cast<uint64_t>(storage_bytes(dtype, shape.elements()));
  const auto length = static_cast<uint16_t>(text.size());
  const std::array<uint8_t, 4> version_and_length = {1, 0, static_cast<uint8_t>(length & 0xff), static_cast<uint8_t>(length >> 8)};
  file_.write(std::as_bytes(std::span(kMagic)));
  file_.write(std::as_bytes(std::span(version_and_length)));
  file_.write(std::as_bytes(std::span(text)));
}

void NpyWriter::append(std::span<const std::byte> bytes) {
  if (bytes.size() > missing_) fail(ErrorCode::invalid_argument, "{}: {} bytes given, only {} are missing", name_, bytes.size(), missing_);
  file_.write(bytes);
  missing_ -= bytes.size();
}

void NpyWriter::finish() {
  if (missing_ != 0) fail(ErrorCode::invalid_argument, "{}: {} bytes of the array were not given", name_, missing_);
  file_.commit();
}

void write_npy(const std::filesystem::path& path, DType dtype, const Shape& shape, std::span<const std::byte> data) {
  NpyWriter writer(path, dtype, shape);
  writer.append(data);
  writer.finish();
}

}  // namespace wick
