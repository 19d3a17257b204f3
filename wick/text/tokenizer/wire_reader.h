// A WireReader walks the fields of one protocol-buffer message, checking every length against the bytes that are there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "wick/base/fail.h"

namespace wick {

struct WireField {
  uint32_t number = 0;
  uint64_t value = 0;           // varint, fixed32 or fixed64
  std::string_view bytes = {};  // length-delimited
};

class WireReader {
 public:
  // `name` is the file's, for errors; both must outlive the reader.
  WireReader(std::string_view message, const std::string& name) : message_(message), name_(name) {}

  // The next field; none at the end. Errors: corrupt_file.
  [[nodiscard]] std::optional<WireField> next() {
    if (offset_ == message_.size()) return std::nullopt;
    const uint64_t key = read_varint();
    WireField field{.number = static_cast<uint32_t>(key >> 3)};
    if (key >> 3 == 0 || key >> 3 > kHighestNumber) broken("a field number out of range");
    switch (key & 7) {
      case 0: field.value = read_varint(); break;
      case 1: field.value = read_fixed(8); break;
      case 2: field.bytes = read_bytes(read_varint()); break;
      case 5: field.value = read_fixed(4); break;
      default: broken("a wire type that protocol buffers do not have");
    }
    return field;
  }

 private:
  static constexpr uint64_t kHighestNumber = (uint64_t{1} << 29) - 1;

  [[noreturn]] void broken(const char* what) const {
    fail(ErrorCode::corrupt_file, "{}: {} at offset {} of a message of {} bytes; the file is damaged or no SentencePiece model", name_,
         what, offset_, message_.size());
  }

  uint64_t read_varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (offset_ == message_.size()) broken("a number that is cut off");
      const auto byte = static_cast<unsigned char>(message_[offset_++]);
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    broken("a number of more than 64 bits");
  }

  std::string_view read_bytes(uint64_t length) {
    if (length > message_.size() - offset_) broken("a field that is longer than what is left");
    const std::string_view bytes = message_.substr(offset_, static_cast<size_t>(length));
    offset_ += static_cast<size_t>(length);
    return bytes;
  }

  uint64_t read_fixed(size_t width) {
    const std::string_view bytes = read_bytes(width);
    uint64_t value = 0;
    for (size_t index = width; index-- > 0;) value = (value << 8) | static_cast<unsigned char>(bytes[index]);
    return value;
  }

  std::string_view message_;
  const std::string& name_;
  size_t offset_ = 0;
};

}  // namespace wick
