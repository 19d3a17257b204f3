#include "wick/formats/gguf_writer.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

#include "wick/base/atomic_file.h"
#include "wick/base/fail.h"
#include "wick/formats/gguf_type.h"
#include "wick/formats/printable.h"

namespace wick {
namespace {

constexpr uint32_t kVersion = 3;
constexpr size_t kMaxWrittenKeyBytes = 65535;
constexpr size_t kMaxNameBytes = 63;  // ggml keeps names in 64 bytes, with a zero at the end
constexpr int kMaxTensorRank = 4;     // ggml's

class ByteWriter {
 public:
  explicit ByteWriter(std::vector<std::byte>& bytes) : bytes_(bytes) {}

  template <class T>
  void number(T value) {
    append(std::as_bytes(std::span(&value, 1)));
  }
  void append(std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    const size_t end = bytes_.size();
    bytes_.resize(end + bytes.size());
    std::memcpy(bytes_.data() + end, bytes.data(), bytes.size());
  }
  void string(std::string_view text) {
    number<uint64_t>(text.size());
    append(std::as_bytes(std::span(text)));
  }
  void array(const GgufArray& array, std::string_view key);
  void value(const GgufValue& value, std::string_view key);

 private:
  std::vector<std::byte>& bytes_;
};

void ByteWriter::array(const GgufArray& array, std::string_view key) {
  number(static_cast<uint32_t>(array.element_type));
  number(array.size);
  const auto check = [&](uint64_t held, uint64_t needed) {
    if (held == needed) return;
    fail(ErrorCode::invalid_argument, "GGUF writer: metadata {}: an array of size {} holds {}, not {}", printable(key), array.size, held,
         needed);
  };
  if (array.element_type == GgufType::string) {
    check(array.strings.size(), array.size);
    for (const std::string_view text : array.strings) string(text);
  } else if (array.element_type == GgufType::array) {
    check(array.arrays.size(), array.size);
    for (const GgufArray& inner : array.arrays) this->array(inner, key);
  } else {
    check(array.packed.size(), array.size * packed_bytes(array.element_type));
    append(array.packed);
  }
}

void ByteWriter::value(const GgufValue& value, std::string_view key) {
  number(static_cast<uint32_t>(value.type()));
  std::visit(
      [&](const auto& held) {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::string_view>)
          string(held);
        else if constexpr (std::is_same_v<Held, GgufArray>)
          array(held, key);
        else if constexpr (std::is_same_v<Held, bool>)
          number<uint8_t>(held ? 1 : 0);
        else
          number(held);
      },
      value.value);
}

uint64_t align_up(uint64_t size, uint64_t alignment) { return (size + alignment - 1) / alignment * alignment; }

void pad(AtomicFile& file, uint64_t alignment) {
  static constexpr std::byte kZeros[4096] = {};
  uint64_t missing = align_up(file.size(), alignment) - file.size();
  while (missing > 0) {
    const size_t piece = std::min<uint64_t>(missing, sizeof(kZeros));
    file.write(std::span(kZeros).first(piece));
    missing -= piece;
  }
}

uint64_t data_bytes(DType dtype, const Shape& shape) { return static_cast<uint64_t>(tensor_bytes(dtype, shape.elements())); }

template <class T>
constexpr GgufType number_type() {
  return GgufValue{T{}}.type();
}

}  // namespace

void GgufWriter::add(std::string_view key, const GgufValue& value) {
  if (key.empty() || key.size() > kMaxWrittenKeyBytes) {
    fail(ErrorCode::invalid_argument, "GGUF writer: metadata key {}: {} bytes, 1 to {} are allowed", printable(key), key.size(),
         kMaxWrittenKeyBytes);
  }
  if (keys_.contains(std::string(key))) fail(ErrorCode::invalid_argument, "GGUF writer: metadata {} is there already", printable(key));
  uint64_t alignment = alignment_;
  if (key == "general.alignment") {
    const auto* number = std::get_if<uint32_t>(&value.value);
    if (number == nullptr || !std::has_single_bit(*number) || *number < 8 || *number > (1u << 24)) {
      fail(ErrorCode::invalid_argument, "GGUF writer: metadata 'general.alignment' must be a u32 that is a power of two from 8 to 2^24");
    }
    alignment = *number;
  }
  std::vector<std::byte> entry;
  ByteWriter entry_writer(entry);
  entry_writer.string(key);
  entry_writer.value(value, key);
  ByteWriter(metadata_).append(entry);
  ++metadata_count_;
  keys_.emplace(key);
  alignment_ = alignment;
}

void GgufWriter::add_strings(std::string_view key, std::span<const std::string> values) {
  GgufArray array{.element_type = GgufType::string, .size = values.size(), .packed = {}, .strings = {}, .arrays = {}};
  array.strings.assign(values.begin(), values.end());
  add(key, {std::move(array)});
}

template <class T>
void GgufWriter::add_array(std::string_view key, std::span<const T> values) {
  add(key,
      {GgufArray{.element_type = number_type<T>(), .size = values.size(), .packed = std::as_bytes(values), .strings = {}, .arrays = {}}});
}

template void GgufWriter::add_array<uint8_t>(std::string_view, std::span<const uint8_t>);
template void GgufWriter::add_array<int8_t>(std::string_view, std::span<const int8_t>);
template void GgufWriter::add_array<uint16_t>(std::string_view, std::span<const uint16_t>);
template void GgufWriter::add_array<int16_t>(std::string_view, std::span<const int16_t>);
template void GgufWriter::add_array<uint32_t>(std::string_view, std::span<const uint32_t>);
template void GgufWriter::add_array<int32_t>(std::string_view, std::span<const int32_t>);
template void GgufWriter::add_array<uint64_t>(std::string_view, std::span<const uint64_t>);
template void GgufWriter::add_array<int64_t>(std::string_view, std::span<const int64_t>);
template void GgufWriter::add_array<float>(std::string_view, std::span<const float>);
template void GgufWriter::add_array<double>(std::string_view, std::span<const double>);
template void GgufWriter::add_array<bool>(std::string_view, std::span<const bool>);

void GgufWriter::add_tensor(std::string_view name, DType dtype, const Shape& shape, Producer producer) {
  if (name.empty() || name.size() > kMaxNameBytes) {
    fail(ErrorCode::invalid_argument, "GGUF writer: tensor name {}: {} bytes, 1 to {} are allowed", printable(name), name.size(),
         kMaxNameBytes);
  }
  if (!ggml_id(dtype)) fail(ErrorCode::unsupported, "GGUF writer: tensor {}: GGUF files cannot hold {}", printable(name), to_string(dtype));
  if (shape.rank() > kMaxTensorRank) {
    fail(ErrorCode::invalid_argument, "GGUF writer: tensor {}: shape {} has rank {}, at most {} is allowed", printable(name),
         shape.to_string(), shape.rank(), kMaxTensorRank);
  }
  if (shape.last() % info(dtype).block_elements != 0) {
    fail(ErrorCode::invalid_argument, "GGUF writer: tensor {}: rows of {} elements are no multiple of {}'s block of {}", printable(name),
         shape.last(), to_string(dtype), info(dtype).block_elements);
  }
  if (!tensor_names_.emplace(name).second) fail(ErrorCode::invalid_argument, "GGUF writer: tensor {} is there already", printable(name));
  tensors_.push_back({.name = std::string(name), .dtype = dtype, .shape = shape, .producer = std::move(producer)});
}

void GgufWriter::add_tensor(std::string_view name, DType dtype, const Shape& shape, std::span<const std::byte> data) {
  add_tensor(name, dtype, shape, [data](const Sink& sink) { sink(data); });
}

std::vector<std::byte> GgufWriter::begin(uint64_t tensors) const {
  std::vector<std::byte> header;
  ByteWriter writer(header);
  writer.append(std::as_bytes(std::span(std::string_view("GGUF"))));
  writer.number(kVersion);
  writer.number(tensors);
  writer.number(metadata_count_);
  writer.append(metadata_);
  return header;
}

std::vector<std::byte> GgufWriter::metadata_file() const { return begin(0); }

void GgufWriter::write(const std::filesystem::path& path) const {
  AtomicFile file(path);
  write(file);
  file.commit();
}

void GgufWriter::write(AtomicFile& file) const {
  std::vector<std::byte> header = begin(tensors_.size());
  ByteWriter writer(header);
  uint64_t offset = 0;
  for (const Tensor& tensor : tensors_) {
    writer.string(tensor.name);
    writer.number(static_cast<uint32_t>(tensor.shape.rank()));
    for (int dim = tensor.shape.rank() - 1; dim >= 0; --dim) writer.number(static_cast<uint64_t>(tensor.shape[dim]));
    writer.number(*ggml_id(tensor.dtype));
    writer.number(offset);
    offset += align_up(data_bytes(tensor.dtype, tensor.shape), alignment_);
  }

  file.write(header);
  if (!tensors_.empty()) pad(file, alignment_);
  for (const Tensor& tensor : tensors_) {
    const uint64_t begin = file.size();
    const uint64_t size = data_bytes(tensor.dtype, tensor.shape);
    const auto check = [&](uint64_t produced, bool complete) {
      if (complete ? produced == size : produced <= size) return;
      fail(ErrorCode::invalid_argument, "{}: tensor {} at byte {}: {} {} bytes of data were given, but shape {} as {} takes {}",
           file.name(), printable(tensor.name), begin, complete ? "only" : "at least", produced, tensor.shape.to_string(),
           to_string(tensor.dtype), size);
    };
    tensor.producer([&](std::span<const std::byte> bytes) {
      check(file.size() - begin + bytes.size(), false);
      file.write(bytes);
    });
    check(file.size() - begin, true);
    pad(file, alignment_);
  }
}

}  // namespace wick
