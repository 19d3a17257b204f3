#include "wick/formats/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "wick/base/fail.h"
#include "wick/formats/printable.h"
#include "wick/formats/safetensors_dtype.h"
#include "wick/formats/strict_json.h"

namespace wick {
namespace {

using Json = nlohmann::json;

constexpr const char* kRemedy = "the file is truncated or corrupt: download it again";
constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the reference implementation's limit
constexpr int kMaxDepth = 3;                       // file object, tensor object, list of numbers

struct Range {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// What the entries are checked against, and the name for messages.
struct Context {
  const std::string& file;
  uint64_t data_bytes;
};

const Json& member(const Context& context, const std::string& tensor, const Json& entry, const char* field) {
  const auto found = entry.find(field);
  if (found == entry.end()) {
    fail(ErrorCode::corrupt_file, "{}: tensor {}: field '{}' is absent in the header; {}", context.file, printable(tensor), field, kRemedy);
  }
  return *found;
}

DType read_dtype(const Context& context, const std::string& tensor, const Json& entry) {
  const Json& value = member(context, tensor, entry, "dtype");
  if (!value.is_string())
    fail(ErrorCode::corrupt_file, "{}: tensor {}: field 'dtype' is no string; {}", context.file, printable(tensor), kRemedy);
  const auto& text = value.get_ref<const std::string&>();
  if (const auto dtype = parse_safetensors_dtype(text)) return *dtype;
  fail(ErrorCode::unsupported, "{}: tensor {}: dtype {} is not supported; convert the file to another dtype", context.file,
       printable(tensor), printable(text));
}

Shape read_shape(const Context& context, const std::string& tensor, const Json& entry) {
  const Json& value = member(context, tensor, entry, "shape");
  if (!value.is_array() || value.size() > kMaxRank) {
    fail(ErrorCode::corrupt_file, "{}: tensor {}: field 'shape' is no list of at most {} numbers; {}", context.file, printable(tensor),
         kMaxRank, kRemedy);
  }
  std::array<int64_t, kMaxRank> dims{};
  size_t rank = 0;
  int64_t elements = 1;
  bool empty = false;
  bool overflow = false;
  for (const Json& extent : value) {
    if (!extent.is_number_unsigned() || extent.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      fail(ErrorCode::corrupt_file, "{}: tensor {}: field 'shape' has an entry that is no extent; {}", context.file, printable(tensor),
           kRemedy);
    }
    dims[rank] = extent.get<int64_t>();
    empty = empty || dims[rank] == 0;
    overflow = overflow || (dims[rank] != 0 && __builtin_mul_overflow(elements, dims[rank], &elements));
    ++rank;
  }
  if (overflow && !empty) {
    fail(ErrorCode::corrupt_file, "{}: tensor {}: the product of field 'shape' exceeds 2^63 - 1; {}", context.file, printable(tensor),
         kRemedy);
  }
  return Shape(std::span<const int64_t>(dims.data(), rank));
}

Range read_range(const Context& context, const std::string& tensor, const Json& entry) {
  const Json& value = member(context, tensor, entry, "data_offsets");
  if (!value.is_array() || value.size() != 2 || !value[0].is_number_unsigned() || !value[1].is_number_unsigned()) {
    fail(ErrorCode::corrupt_file, "{}: tensor {}: field 'data_offsets' is no pair of offsets; {}", context.file, printable(tensor),
         kRemedy);
  }
  const Range range{.begin = value[0].get<uint64_t>(), .end = value[1].get<uint64_t>()};
  if (range.begin > range.end || range.end > context.data_bytes) {
    fail(ErrorCode::corrupt_file, "{}: tensor {}: data_offsets [{}, {}] do not lie within the {} bytes of data; {}", context.file,
         printable(tensor), range.begin, range.end, context.data_bytes, kRemedy);
  }
  return range;
}

void check_size(const Context& context, const SafetensorsTensor& tensor, Range range) {
  const auto element_bytes = static_cast<uint64_t>(info(tensor.dtype).block_bytes);
  const auto elements = static_cast<uint64_t>(tensor.shape.elements());
  const uint64_t size = range.end - range.begin;
  if (size % element_bytes == 0 && size / element_bytes == elements) return;
  fail(ErrorCode::corrupt_file, "{}: tensor {}: data_offsets [{}, {}] hold {} bytes, which is not shape {} as {}; {}", context.file,
       printable(tensor.name), range.begin, range.end, size, tensor.shape.to_string(), to_string(tensor.dtype), kRemedy);
}

}  // namespace

SafetensorsFile SafetensorsFile::open(const std::filesystem::path& path, MapAccess access) {
  std::shared_ptr<MappedFile> mapping = MappedFile::open(path, access);
  SafetensorsFile file = parse(mapping->bytes(), path.string());
  for (SafetensorsTensor& tensor : file.tensors_) tensor.file = mapping;
  return file;
}

SafetensorsFile SafetensorsFile::parse(std::span<const std::byte> bytes, const std::string& name) {
  uint64_t header_bytes = 0;
  if (bytes.size() < sizeof(header_bytes)) {
    fail(ErrorCode::corrupt_file, "{}: header length at byte 0: 8 bytes needed, {} left; {}", name, bytes.size(), kRemedy);
  }
  std::memcpy(&header_bytes, bytes.data(), sizeof(header_bytes));
  if (header_bytes > bytes.size() - sizeof(header_bytes) || header_bytes > kMaxHeaderBytes) {
    fail(ErrorCode::corrupt_file,
         "{}: header length at byte 0: {} bytes, {} left and {} allowed; the file is no safetensors file, or truncated", name, header_bytes,
         bytes.size() - sizeof(header_bytes), kMaxHeaderBytes);
  }
  const Json header = parse_strict_json(bytes.subspan(sizeof(header_bytes), header_bytes), kMaxDepth,
                                        {.file = name, .part = "header", .first_byte = sizeof(header_bytes), .remedy = kRemedy});
  if (!header.is_object()) fail(ErrorCode::corrupt_file, "{}: header at byte 8: not a JSON object; {}", name, kRemedy);
  const std::span<const std::byte> data = bytes.subspan(sizeof(header_bytes) + header_bytes);

  SafetensorsFile file;
  file.name_ = name;
  const Context context{.file = file.name_, .data_bytes = data.size()};
  std::vector<std::pair<Range, SafetensorsTensor>> entries;
  for (const auto& [key, entry] : header.items()) {
    if (!entry.is_object())
      fail(ErrorCode::corrupt_file, "{}: entry {} of the header: not a JSON object; {}", name, printable(key), kRemedy);
    if (key == "__metadata__") {
      for (const auto& [metadata_key, text] : entry.items()) {
        if (!text.is_string())
          fail(ErrorCode::corrupt_file, "{}: __metadata__ {}: not a string; {}", name, printable(metadata_key), kRemedy);
        file.metadata_.emplace(metadata_key, text.get<std::string>());
      }
      continue;
    }
    const Range range = read_range(context, key, entry);
    SafetensorsTensor tensor{.name = key,
                             .dtype = read_dtype(context, key, entry),
                             .shape = read_shape(context, key, entry),
                             .data = data.subspan(range.begin, range.end - range.begin),
                             .file = nullptr};
    check_size(context, tensor, range);
    entries.emplace_back(range, std::move(tensor));
  }
  // The format allows neither overlaps nor holes.
  std::sort(entries.begin(), entries.end(), [](const auto& lhs, const auto& rhs) {
    return std::pair(lhs.first.begin, lhs.first.end) < std::pair(rhs.first.begin, rhs.first.end);
  });
  uint64_t covered = 0;
  for (auto& [range, tensor] : entries) {
    if (range.begin != covered) {
      fail(ErrorCode::corrupt_file, "{}: tensor {}: its data begin at offset {}, but the tensor before ends at {}; {}", name,
           printable(tensor.name), range.begin, covered, kRemedy);
    }
    covered = range.end;
    file.index_.emplace(tensor.name, file.tensors_.size());
    file.tensors_.push_back(std::move(tensor));
  }
  if (covered != data.size()) {
    fail(ErrorCode::corrupt_file, "{}: the tensors end at offset {} of {} bytes of data; {}", name, covered, data.size(), kRemedy);
  }
  return file;
}

const SafetensorsTensor* SafetensorsFile::find(std::string_view tensor) const noexcept {
  const auto found = index_.find(tensor);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

const SafetensorsTensor& SafetensorsFile::get(std::string_view tensor) const {
  const SafetensorsTensor* found = find(tensor);
  if (found == nullptr) fail(ErrorCode::not_found, "{}: no tensor {}; check the name", name_, printable(tensor));
  return *found;
}

}  // namespace wick
