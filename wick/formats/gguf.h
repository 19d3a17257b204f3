// GGUF files: metadata and tensors of a model, mapped into memory. Every count, length, offset and product is checked against the
// file before it is used. Definition: ggml's docs/gguf.md, versions 2 and 3, little-endian.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "wick/base/hash.h"
#include "wick/base/mapped_file.h"
#include "wick/layout/dtype.h"
#include "wick/layout/shape.h"

namespace wick {

// The type of a metadata value, by its number in the file.
enum class GgufType : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };
[[nodiscard]] std::string_view to_string(GgufType type) noexcept;
// Bytes of a value of that type in the file; 0 for strings and arrays, whose size varies.
[[nodiscard]] uint64_t packed_bytes(GgufType type) noexcept;

struct GgufValue;

// A metadata array: numbers stay in the file and are converted when read; strings point into the file; arrays of arrays are held.
struct GgufArray {
  GgufType element_type = GgufType::u8;
  uint64_t size = 0;
  std::span<const std::byte> packed;      // numbers and booleans: size × element size bytes, unaligned
  std::vector<std::string_view> strings;  // filled if element_type is string
  std::vector<GgufArray> arrays;          // filled if element_type is array

  // The elements as numbers of type T, each converted by value. Errors: dtype_mismatch if they are strings or arrays.
  template <class T>
  [[nodiscard]] std::vector<T> to_vector() const;  // T: int32_t, uint32_t, int64_t, uint64_t, float, double
};

struct GgufValue {
  std::variant<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, float, bool, std::string_view, GgufArray, uint64_t, int64_t, double>
      value;

  [[nodiscard]] GgufType type() const noexcept { return static_cast<GgufType>(value.index()); }
};

// The value as a number; none for another kind, and for a number that the type cannot hold.
[[nodiscard]] std::optional<uint64_t> as_uint(const GgufValue& value);
[[nodiscard]] std::optional<double> as_float(const GgufValue& value);
// A value in words for messages: "the i32 -1", "the string 'x'".
[[nodiscard]] std::string describe_gguf_value(const GgufValue& value);

struct GgufTensor {
  std::string_view name;
  DType dtype = DType::f32;
  Shape shape;                       // outermost first: a weight [out, in] is [in, out] in the file
  std::span<const std::byte> data;   // in the mapping of the file (of its part, for split files)
  std::shared_ptr<MappedFile> file;  // the mapping that holds data
};

class GgufFile {
 public:
  // Opens a file, or all parts of a split one ("x-00001-of-00003.gguf": name the first).
  // Errors: not_found, io, corrupt_file, unsupported; each names path, field, byte offset and what to do.
  [[nodiscard]] static GgufFile open(const std::filesystem::path& path);
  // Parses bytes that the caller keeps alive; `name` is used as the path in errors. For tests and fuzzing.
  [[nodiscard]] static GgufFile parse(std::span<const std::byte> bytes, const std::string& name);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] uint32_t version() const noexcept { return version_; }
  [[nodiscard]] uint64_t alignment() const noexcept { return alignment_; }
  // Size of all parts, in bytes.
  [[nodiscard]] uint64_t file_bytes() const noexcept { return file_bytes_; }
  // In the file's order.
  [[nodiscard]] std::span<const std::pair<std::string_view, GgufValue>> metadata() const noexcept { return metadata_; }
  [[nodiscard]] std::span<const GgufTensor> tensors() const noexcept { return tensors_; }

  // nullptr if absent.
  [[nodiscard]] const GgufValue* find(std::string_view key) const noexcept;
  [[nodiscard]] const GgufTensor* find_tensor(std::string_view name) const noexcept;

  // Typed access. The plain form fails if the key is absent (not_found) or of another kind (corrupt_file), naming file and key;
  // find_… gives none if it is absent and still fails on another kind. Integers of any width are accepted if the value fits.
  [[nodiscard]] uint64_t get_uint(std::string_view key) const;
  [[nodiscard]] double get_float(std::string_view key) const;  // any number
  [[nodiscard]] std::string_view get_string(std::string_view key) const;
  [[nodiscard]] const GgufArray& get_array(std::string_view key) const;
  [[nodiscard]] std::optional<uint64_t> find_uint(std::string_view key) const;
  [[nodiscard]] std::optional<double> find_float(std::string_view key) const;
  [[nodiscard]] std::optional<bool> find_bool(std::string_view key) const;
  [[nodiscard]] std::optional<std::string_view> find_string(std::string_view key) const;
  [[nodiscard]] const GgufArray* find_array(std::string_view key) const;

 private:
  friend class GgufParser;
  [[nodiscard]] static GgufFile open_part(const std::filesystem::path& path);
  void append_part(GgufFile part);
  // The offset of a key in the file (of a split one, in its first part).
  [[nodiscard]] uint64_t offset_of(std::string_view text) const noexcept;
  [[noreturn]] void fail_absent(std::string_view key) const;
  [[noreturn]] void fail_kind(std::string_view key, const char* wanted) const;

  std::string name_;
  const std::byte* base_ = nullptr;  // the first byte of the (first) file
  uint32_t version_ = 0;
  uint64_t alignment_ = 32;
  uint64_t file_bytes_ = 0;
  std::vector<std::pair<std::string_view, GgufValue>> metadata_;
  std::unordered_map<std::string_view, size_t, KeyedHash> metadata_index_;
  std::vector<GgufTensor> tensors_;
  std::unordered_map<std::string_view, size_t, KeyedHash> tensor_index_;
  std::vector<std::shared_ptr<MappedFile>> files_;  // keeps every string_view alive
};

}  // namespace wick
