#include "wick/formats/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "wick/base/fail.h"
#include "wick/formats/printable.h"
#include "wick/formats/safetensors_dtype.h"
#include "wick/formats/strict_json.h"

namespace wick {
namespace {

using Json = nlohmann::json;

constexpr const char* kSafetensorsRemedy = "the file is truncated or corrupt: download it again";
constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the reference implementation's limit
constexpr int kMaxDepth = 3;                       // file object, tensor object, list of numbers

struct Range {
  uint64_t begin = 0;
  uint64_t end = 0;
};

struct Entry {
  Range range;
  SafetensorsTensor tensor;
  bool refused = false;
};

// What the entries are checked against, and the name for messages.
struct Context {
  const std::string& file;
  uint64_t data_bytes;
};

const Json& member(const Context& context, const std::string& tensor, const Json& entry, const char* field) {
  const auto found = entry.find(field);
  if (found == entry.end()) {
    fail(ErrorCode::corrupt_file, "{}: tensor {}: field '{}' is absent in the header; {}", context.file, printable(tensor), field,
         kSafetensorsRemedy);
  }
  return *found;
}

// None for a dtype that Wick has not; `reason` says so.
std::optional<DType> read_dtype(const Context& context, const std::string& tensor, const Json& entry, std::string& reason) {
  const Json& value = member(context, tensor, entry, "dtype");
  if (!value.is_string())
    fail(ErrorCode::corrupt_file, "{}: tensor {}: field 'dtype' is no string; {}", context.file, printable(tensor), kSafetensorsRemedy);
  const auto& text = value.get_ref<const std::string&>();
  if (const auto dtype = parse_safetensors_dtype(text)) return dtype;
  reason = fmt::format("dtype {} is not supported", printable(text));
  return std::nullopt;
}

// None for a rank that Wick has not; `reason` says so.
std::optional<Shape> read_shape(const Context& context, const std::string& tensor, const Json& entry, std::string& reason) {
  const Json& value = member(context, tensor, entry, "shape");
  if (!value.is_array()) {
    fail(ErrorCode::corrupt_file, "{}: tensor {}: field 'shape' is no list of numbers; {}", context.file, printable(tensor),
         kSafetensorsRemedy);
  }
  if (value.size() > kMaxRank) {
    reason = fmt::format("rank {} is not supported; at most {} dimensions are", value.size(), kMaxRank);
    return std::nullopt;
  }
  std::array<int64_t, kMaxRank> dims{};
  size_t rank = 0;
  int64_t elements = 1;
  bool empty = false;
  bool overflow = false;
  for (const Json& extent : value) {
    if (!extent.is_number_unsigned() || extent.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      fail(ErrorCode::corrupt_file, "{}: tensor {}: field 'shape' has an entry that is no extent; {}", context.file, printable(tensor),
           kSafetensorsRemedy);
    }
    dims[rank] = extent.get<int64_t>();
    empty = empty || dims[rank] == 0;
    overflow = overflow || (dims[rank] != 0 && __builtin_mul_overflow(elements, dims[rank], &elements));
    ++rank;
  }
  if (overflow && !empty) {
    fail(ErrorCode::corrupt_file, "{}: tensor {}: the product of field 'shape' exceeds 2^63 - 1; {}", context.file, printable(tensor),
         kSafetensorsRemedy);
  }
  return Shape(std::span<const int64_t>(dims.data(), rank));
}

Range read_range(const Context& context, const std::string& tensor, const Json& entry) {
  const Json& value = member(context, tensor, entry, "data_offsets");
  if (!value.is_array() || value.size() != 2 || !value[0].is_number_unsigned() || !value[1].is_number_unsigned()) {
    fail(ErrorCode::corrupt_file, "{}: tensor {}: field 'data_offsets' is no pair of offsets; {}", context.file, printable(tensor),
         kSafetensorsRemedy);
  }
  const Range range{.begin = value[0].get<uint64_t>(), .end = value[1].get<uint64_t>()};
  if (range.begin > range.end || range.end > context.data_bytes) {
    fail(ErrorCode::corrupt_file, "{}: tensor {}: data_offsets [{}, {}] do not lie within the {} bytes of data; {}", context.file,
         printable(tensor), range.begin, range.end, context.data_bytes, kSafetensorsRemedy);
  }
  return range;
}

void check_size(const Context& context, const SafetensorsTensor& tensor, Range range) {
  const auto element_bytes = static_cast<uint64_t>(info(tensor.dtype).block_bytes);
  const auto elements = static_cast<uint64_t>(tensor.shape.elements());
  const uint64_t size = range.end - range.begin;
  if (size % element_bytes == 0 && size / element_bytes == elements) return;
  fail(ErrorCode::corrupt_file, "{}: tensor {}: data_offsets [{}, {}] hold {} bytes, which is not shape {} as {}; {}", context.file,
       printable(tensor.name), range.begin, range.end, size, tensor.shape.to_string(), to_string(tensor.dtype), kSafetensorsRemedy);
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
    fail(ErrorCode::corrupt_file, "{}: header length at byte 0: 8 bytes needed, {} left; {}", name, bytes.size(), kSafetensorsRemedy);
  }
  std::memcpy(&header_bytes, bytes.data(), sizeof(header_bytes));
  if (header_bytes > bytes.size() - sizeof(header_bytes) || header_bytes > kMaxHeaderBytes) {
    fail(ErrorCode::corrupt_file,
         "{}: header length at byte 0: {} bytes, {} left and {} allowed; the file is no safetensors file, or truncated", name, header_bytes,
         bytes.size() - sizeof(header_bytes), kMaxHeaderBytes);
  }
  const Json header = parse_strict_json(bytes.subspan(sizeof(header_bytes), header_bytes), kMaxDepth,
                                        {.file = name, .part = "header", .first_byte = sizeof(header_bytes), .remedy = kSafetensorsRemedy});
  if (!header.is_object()) fail(ErrorCode::corrupt_file, "{}: header at byte 8: not a JSON object; {}", name, kSafetensorsRemedy);
  const std::span<const std::byte> data = bytes.subspan(sizeof(header_bytes) + header_bytes);

  SafetensorsFile file;
  file.name_ = name;
  const Context context{.file = file.name_, .data_bytes = data.size()};
  std::vector<Entry> entries;
  for (const auto& [key, entry] : header.items()) {
    if (!entry.is_object())
      fail(ErrorCode::corrupt_file, "{}: entry {} of the header: not a JSON object; {}", name, printable(key), kSafetensorsRemedy);
    if (key == "__metadata__") {
      for (const auto& [metadata_key, text] : entry.items()) {
        if (!text.is_string())
          fail(ErrorCode::corrupt_file, "{}: __metadata__ {}: not a string; {}", name, printable(metadata_key), kSafetensorsRemedy);
        file.metadata_.emplace(metadata_key, text.get<std::string>());
      }
      continue;
    }
    const Range range = read_range(context, key, entry);
    std::string reason;
    const std::optional<DType> dtype = read_dtype(context, key, entry, reason);
    const std::optional<Shape> shape = read_shape(context, key, entry, reason);
    SafetensorsTensor tensor{.name = key,
                             .dtype = dtype.value_or(DType::u8),
                             .shape = shape.value_or(Shape()),
                             .data = data.subspan(range.begin, range.end - range.begin),
                             .file = nullptr};
    if (!reason.empty()) file.refused_.push_back({.name = key, .what = reason});
    if (reason.empty()) check_size(context, tensor, range);
    entries.push_back({range, std::move(tensor), !reason.empty()});
  }
  // The format allows neither overlaps nor holes.
  std::sort(entries.begin(), entries.end(), [](const auto& lhs, const auto& rhs) {
    return std::pair(lhs.range.begin, lhs.range.end) < std::pair(rhs.range.begin, rhs.range.end);
  });
  uint64_t covered = 0;
  for (auto& [range, tensor, refused] : entries) {
    if (range.begin != covered) {
      fail(ErrorCode::corrupt_file, "{}: tensor {}: its data begin at offset {}, but the tensor before ends at {}; {}", name,
           printable(tensor.name), range.begin, covered, kSafetensorsRemedy);
    }
    covered = range.end;
    if (refused) continue;
    file.index_.emplace(tensor.name, file.tensors_.size());
    file.tensors_.push_back(std::move(tensor));
  }
  if (covered != data.size()) {
    fail(ErrorCode::corrupt_file, "{}: the tensors end at offset {} of {} bytes of data; {}", name, covered, data.size(),
         kSafetensorsRemedy);
  }
  return file;
}

const SafetensorsTensor* SafetensorsFile::find(std::string_view tensor) const noexcept {
  const auto found = index_.find(tensor);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

const SafetensorsTensor& SafetensorsFile::get(std::string_view tensor) const {
  if (const SafetensorsTensor* found = find(tensor)) return *found;
  for (const LeftOut& refused : refused_) {
    if (refused.name == tensor) fail(ErrorCode::unsupported, "{}: tensor {}: {}; convert it", name_, printable(tensor), refused.what);
  }
  fail(ErrorCode::not_found, "{}: no tensor {}; check the name", name_, printable(tensor));
}

void SafetensorsFile::require_all() const {
  if (refused_.empty()) return;
  fail(ErrorCode::unsupported, "{}: tensor {}: {}; convert it, or take it out of the file", name_, printable(refused_.front().name),
       refused_.front().what);
}

}  // namespace wick
