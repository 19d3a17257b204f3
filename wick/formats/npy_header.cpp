#include "wick/formats/npy_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <string_view>

#include "wick/base/fail.h"
#include "wick/formats/printable.h"

namespace wick {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr const char* kNpyRemedy = "the file is truncated or corrupt: write it again";
constexpr size_t kHeaderAlignment = 64;

// NumPy's kind and size, without the byte order. The first row of a dtype is the one that is written.
struct Descriptor {
  std::string_view code;
  DType dtype;
};
constexpr std::array kDescriptors = {
    Descriptor{"u1", DType::u8},  Descriptor{"u4", DType::u32}, Descriptor{"i1", DType::i8},  Descriptor{"i2", DType::i16},
    Descriptor{"i4", DType::i32}, Descriptor{"i8", DType::i64}, Descriptor{"f2", DType::f16}, Descriptor{"f4", DType::f32},
    Descriptor{"f8", DType::f64}, Descriptor{"b1", DType::u8},
};

// What NumPy means by a code that Wick has no dtype for, and what to do about it.
struct Refusal {
  std::string_view code;  // its beginning
  const char* what;
  const char* remedy;
};
constexpr std::array kRefusals = {
    Refusal{"u2", "16-bit unsigned integers", "save a.astype('<i4')"},
    Refusal{"u8", "64-bit unsigned integers", "save a.astype('<i8')"},
    Refusal{"f16", "128-bit floating point", "save a.astype('<f8')"},
    Refusal{"f12", "96-bit floating point", "save a.astype('<f8')"},
    Refusal{"c", "complex numbers", "save the real and the imaginary part"},
    Refusal{"V", "raw or structured elements", "save each field as an array of numbers"},
    Refusal{"O", "Python objects", "they are pickles, which are never run; save an array of numbers"},
    Refusal{"S", "byte strings", "save an array of numbers"},
    Refusal{"a", "byte strings", "save an array of numbers"},
    Refusal{"U", "text", "save an array of numbers"},
    Refusal{"M", "dates", "save a.astype('<i8')"},
    Refusal{"m", "time spans", "save a.astype('<i8')"},
};

// The header is a Python dictionary literal with exactly the keys 'descr', 'fortran_order' and 'shape'.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, size_t begin, const std::string& name) : text_(text), begin_(begin), name_(name) {}

  NpyHeader read() {
    bool seen_descriptor = false;
    bool seen_order = false;
    bool seen_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr" && !seen_descriptor) {
        read_descriptor();
        seen_descriptor = true;
      } else if (key == "fortran_order" && !seen_order) {
        read_order();
        seen_order = true;
      } else if (key == "shape" && !seen_shape) {
        header_.shape = read_shape();
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
    return header_;
  }

 private:
  [[noreturn]] void fail_here(const char* what) const {
    fail(ErrorCode::corrupt_file, "{}: header at byte {}: {}; {}", name_, begin_ + position_, what, kNpyRemedy);
  }
  void skip_space() {
    // What Python takes for space within a literal.
    while (position_ < text_.size() && std::string_view(" \t\n\r\f").find(text_[position_]) != std::string_view::npos) ++position_;
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

  [[noreturn]] void refuse_descriptor(std::string_view descriptor, const char* what, const char* remedy) const {
    fail(ErrorCode::unsupported, "{}: header at byte {}: descr {}: {} are not supported; {}", name_, begin_ + position_,
         printable(descriptor), what, remedy);
  }

  // "<f4": byte order (little, big, '=' of the machine, '|' without), kind, bytes an element.
  void read_descriptor() {
    skip_space();
    if (position_ < text_.size() && text_[position_] == '[') {
      refuse_descriptor(text_.substr(position_, text_.find(']', position_) - position_ + 1), "structured elements",
                        "save each field as an array of its own");
    }
    const std::string_view text = quoted();
    const bool has_order = !text.empty() && std::string_view("<>=|").find(text.front()) != std::string_view::npos;
    const std::string_view code = has_order ? text.substr(1) : text;
    header_.big_endian = text.starts_with('>');
    for (const Descriptor& known : kDescriptors) {
      if (known.code != code) continue;
      header_.dtype = known.dtype;
      return;
    }
    for (const Refusal& known : kRefusals) {
      if (code.starts_with(known.code)) refuse_descriptor(text, known.what, known.remedy);
    }
    refuse_descriptor(text, "elements of that kind", "save an array of numbers");
  }

  void read_order() {
    header_.fortran_order = accept_word("True");
    if (!header_.fortran_order && !accept_word("False")) fail_here("fortran_order is neither True nor False");
  }

  Shape read_shape() {
    std::array<int64_t, kMaxRank> dims{};
    size_t rank = 0;
    int64_t elements = 1;
    expect('(');
    while (!accept(')')) {
      skip_space();
      if (rank == kMaxRank) {
        fail(ErrorCode::unsupported, "{}: header at byte {}: arrays of more than {} dimensions are not supported; reshape it", name_,
             begin_ + position_, kMaxRank);
      }
      const char* first = text_.data() + position_;
      const auto [end, error] = std::from_chars(first, text_.data() + text_.size(), dims[rank]);
      if (error != std::errc() || dims[rank] < 0) fail_here("an extent of the shape is no number");
      if (__builtin_mul_overflow(elements, std::max<int64_t>(dims[rank], 1), &elements)) fail_here("the shape's product exceeds 2^63 - 1");
      position_ += static_cast<size_t>(end - first);
      accept_word("L");  // Python 2 wrote its long integers so
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
  NpyHeader header_;
};

std::string_view code_of(DType dtype, const std::string& name) {
  for (const Descriptor& known : kDescriptors) {
    if (known.dtype == dtype) return known.code;
  }
  fail(ErrorCode::unsupported, "{}: npy files cannot hold {}; convert it to f32", name, to_string(dtype));
}

}  // namespace

NpyHeader parse_npy_header(std::span<const std::byte> bytes, const std::string& name) {
  const auto require = [&](size_t needed, const char* field, size_t at) {
    if (bytes.size() >= at && bytes.size() - at >= needed) return;
    fail(ErrorCode::corrupt_file, "{}: {} at byte {}: {} bytes needed, {} left; {}", name, field, at, needed,
         bytes.size() >= at ? bytes.size() - at : 0, kNpyRemedy);
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
  NpyHeader header = HeaderReader(text, begin, name).read();
  header.data_offset = begin + header_bytes;
  if (header.shape.elements() > std::numeric_limits<int64_t>::max() / info(header.dtype).block_bytes) {
    fail(ErrorCode::corrupt_file, "{}: header at byte {}: shape {} as {} has more than 2^63 - 1 bytes; {}", name, begin,
         header.shape.to_string(), to_string(header.dtype), kNpyRemedy);
  }
  return header;
}

void check_npy_size(const NpyHeader& header, uint64_t data_bytes, const std::string& name) {
  const auto element_bytes = static_cast<uint64_t>(info(header.dtype).block_bytes);
  const auto elements = static_cast<uint64_t>(header.shape.elements());
  if (data_bytes % element_bytes == 0 && data_bytes / element_bytes == elements) return;
  fail(ErrorCode::corrupt_file, "{}: data at byte {}: {} bytes, which is not shape {} as {}; {}", name, header.data_offset, data_bytes,
       header.shape.to_string(), to_string(header.dtype), kNpyRemedy);
}

std::string npy_header_text(DType dtype, const Shape& shape, const std::string& name) {
  const std::string_view code = code_of(dtype, name);
  const char order = info(dtype).block_bytes == 1 ? '|' : '<';
  const char* comma = shape.rank() == 1 ? "," : "";
  std::string text =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}", order, code, fmt::join(shape.dims(), ", "), comma);
  // Magic, version and length take 10 bytes; the data then start at a multiple of 64. Eight dimensions stay far below 64 KiB.
  const size_t unpadded = 10 + text.size() + 1;
  text.append((kHeaderAlignment - unpadded % kHeaderAlignment) % kHeaderAlignment, ' ');
  text += '\n';
  std::string header(kMagic);
  header += {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return header + text;
}

}  // namespace wick
