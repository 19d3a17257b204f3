#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "wick/base/fail.h"
#include "wick/formats/gguf.h"
#include "wick/formats/gguf_type.h"
#include "wick/formats/printable.h"

namespace wick {
namespace {

constexpr const char* kGgufRemedy = "the file is truncated or corrupt: download it again";
constexpr int kMaxArrayDepth = 8;
constexpr uint64_t kMaxKeyBytes = 65535;        // gguf.md: keys have at most 2^16 - 1 bytes
constexpr uint64_t kMaxAlignment = 1ull << 24;  // far beyond any page; a larger one is a corrupt number
// The fewest bytes that an entry can take, to check a count before anything is reserved for it.
constexpr uint64_t kMinMetadataBytes = 8 + 1 + 4 + 1;    // key length, key, type, value
constexpr uint64_t kMinTensorBytes = 8 + 1 + 4 + 4 + 8;  // name length, name, rank 0, type, offset
constexpr uint64_t kMinStringBytes = 8;
constexpr uint64_t kMinArrayBytes = 4 + 8;

bool starts_with(std::span<const std::byte> bytes, std::string_view prefix) {
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()).starts_with(prefix);
}

// What a file that is not GGUF looks like, with what to do about it.
std::string describe_stranger(std::span<const std::byte> bytes) {
  struct Signature {
    std::string_view prefix;
    const char* meaning;
  };
  static constexpr std::array kSignatures = {
      Signature{"PK\x03\x04", "a zip archive such as a PyTorch checkpoint; convert the model to GGUF"},
      Signature{"\x80\x02", "a Python pickle such as an old PyTorch checkpoint; convert the model to GGUF"},
      Signature{"\x93NUMPY", "a NumPy array; name a GGUF file"},
      Signature{"version https://git-lfs", "a Git LFS pointer, not the model itself; fetch it with `git lfs pull`"},
      Signature{"FUGG", "a GGUF magic written backwards; convert the model again"},
      Signature{"lmgg", "a ggml file from before GGUF; convert the model to GGUF"},
      Signature{"fmgg", "a ggml file from before GGUF; convert the model to GGUF"},
      Signature{"tjgg", "a ggml file from before GGUF; convert the model to GGUF"},
      Signature{"<!", "a web page; download the model again"},
      Signature{"<html", "a web page; download the model again"},
      Signature{"{", "JSON text; name a GGUF file"},
  };
  for (const Signature& signature : kSignatures) {
    if (starts_with(bytes, signature.prefix)) return std::string(": it looks like ") + signature.meaning;
  }
  if (bytes.size() > 8 && bytes[8] == std::byte{'{'}) return ": it looks like a safetensors file; convert the model to GGUF";
  return "; name a GGUF file or download it again";
}

}  // namespace

class GgufParser {
 public:
  GgufParser(std::span<const std::byte> bytes, const std::string& name) : bytes_(bytes) {
    file_.name_ = name;
    file_.base_ = bytes.data();
    file_.file_bytes_ = bytes.size();
  }

  GgufFile parse() {
    read_header();
    read_metadata();
    read_alignment();
    read_tensors();
    place_tensors();
    return std::move(file_);
  }

 private:
  // A tensor as the file lists it, before its place is checked.
  struct Entry {
    uint64_t offset = 0;  // from the start of the data section
    uint64_t size = 0;
    uint64_t listed_at = 0;
  };

  [[nodiscard]] uint64_t remaining() const { return bytes_.size() - position_; }
  [[nodiscard]] const std::string& name() const { return file_.name_; }

  void require(uint64_t needed, const char* field, std::string_view owner) const {
    if (needed <= remaining()) return;
    fail(ErrorCode::corrupt_file, "{}: {}{} at byte {}: {} bytes needed, {} left; {}", name(), field, of(owner), position_, needed,
         remaining(), kGgufRemedy);
  }

  // A count of entries that take at least min_bytes each.
  void require_entries(uint64_t count, uint64_t min_bytes, uint64_t read_at, const char* field, std::string_view owner) const {
    if (count <= remaining() / min_bytes) return;
    fail(ErrorCode::corrupt_file, "{}: {}{} at byte {}: {} entries of at least {} bytes do not fit into the {} bytes left; {}", name(),
         field, of(owner), read_at, count, min_bytes, remaining(), kGgufRemedy);
  }

  static std::string of(std::string_view owner) { return owner.empty() ? std::string() : " of " + printable(owner); }

  template <class T>
  T read(const char* field, std::string_view owner = {}) {
    require(sizeof(T), field, owner);
    T value;
    std::memcpy(&value, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return value;
  }

  std::string_view read_string(const char* field, std::string_view owner = {}) {
    const uint64_t at = position_;
    const auto length = read<uint64_t>(field, owner);
    if (length > remaining()) {
      fail(ErrorCode::corrupt_file, "{}: {}{} at byte {}: a string of {} bytes, {} left; {}", name(), field, of(owner), at, length,
           remaining(), kGgufRemedy);
    }
    const std::string_view text(reinterpret_cast<const char*>(bytes_.data() + position_), length);
    position_ += length;
    return text;
  }

  GgufType read_type(const char* field, std::string_view owner) {
    const uint64_t at = position_;
    const auto id = read<uint32_t>(field, owner);
    if (id > static_cast<uint32_t>(GgufType::f64)) {
      fail(ErrorCode::corrupt_file, "{}: {}{} at byte {}: metadata type {} is unknown (0 to 12 exist); {}", name(), field, of(owner), at,
           id, kGgufRemedy);
    }
    return static_cast<GgufType>(id);
  }

  bool read_bool(std::string_view key) {
    const uint64_t at = position_;
    const auto value = read<uint8_t>("value", key);
    if (value > 1) {
      fail(ErrorCode::corrupt_file, "{}: value{} at byte {}: a boolean is 0 or 1, not {}; {}", name(), of(key), at, value, kGgufRemedy);
    }
    return value == 1;
  }

  void read_header();
  void read_metadata();
  void read_alignment();
  void read_tensors();
  void place_tensors();
  void check_overlaps(std::span<const Entry> entries) const;
  GgufValue read_value(GgufType type, std::string_view key);
  GgufArray read_array(std::string_view key, int depth);
  GgufTensor read_tensor(Entry& entry);
  Shape read_shape(std::string_view tensor);
  DType read_tensor_type(std::string_view tensor);

  std::span<const std::byte> bytes_;
  uint64_t position_ = 0;
  uint64_t tensor_count_ = 0;
  uint64_t metadata_count_ = 0;
  std::vector<Entry> entries_;
  GgufFile file_;
};

void GgufParser::read_header() {
  if (!starts_with(bytes_, "GGUF")) {
    const auto first = bytes_.first(std::min<size_t>(bytes_.size(), 4));
    if (starts_with(bytes_, std::string_view("GGUF").substr(0, first.size()))) {
      fail(ErrorCode::corrupt_file, "{}: magic at byte 0: 4 bytes needed, {} left; {}", name(), first.size(), kGgufRemedy);
    }
    fail(ErrorCode::corrupt_file, "{}: not a GGUF file: magic at byte 0: it starts with {}, not 'GGUF'{}", name(), printable(first),
         describe_stranger(bytes_));
  }
  position_ = 4;
  const auto version = read<uint32_t>("version");
  if (version != 0 && (version & 0xffffu) == 0) {
    fail(ErrorCode::unsupported, "{}: version at byte 4: {:#010x} is big-endian; convert the model for little-endian machines", name(),
         version);
  }
  if (version == 1) {
    fail(ErrorCode::unsupported, "{}: version at byte 4: GGUF version 1 is not supported (2 and 3 are); convert the model again", name());
  }
  if (version != 2 && version != 3) {
    fail(ErrorCode::unsupported,
         "{}: version at byte 4: GGUF version {} is unknown (2 and 3 are supported); use a newer Wick or convert the model again", name(),
         version);
  }
  file_.version_ = version;
  tensor_count_ = read<uint64_t>("tensor count");
  metadata_count_ = read<uint64_t>("metadata count");
  require_entries(metadata_count_, kMinMetadataBytes, 16, "metadata count", {});
  require_entries(tensor_count_, kMinTensorBytes, 8, "tensor count", {});
}

void GgufParser::read_metadata() {
  for (uint64_t index = 0; index < metadata_count_; ++index) {
    const uint64_t at = position_;
    const std::string_view key = read_string("metadata key");
    if (key.empty()) fail(ErrorCode::corrupt_file, "{}: metadata key {} at byte {}: the key is empty; {}", name(), index, at, kGgufRemedy);
    if (key.size() > kMaxKeyBytes) {
      fail(ErrorCode::corrupt_file, "{}: metadata key {} at byte {}: {} bytes, {} are allowed; {}", name(), index, at, key.size(),
           kMaxKeyBytes, kGgufRemedy);
    }
    if (!file_.metadata_index_.emplace(key, file_.metadata_.size()).second) {
      fail(ErrorCode::corrupt_file, "{}: metadata key {} at byte {}: duplicate key; {}", name(), printable(key), at, kGgufRemedy);
    }
    const GgufType type = read_type("type", key);
    file_.metadata_.emplace_back(key, read_value(type, key));
  }
}

GgufValue GgufParser::read_value(GgufType type, std::string_view key) {
  switch (type) {
    case GgufType::u8: return {read<uint8_t>("value", key)};
    case GgufType::i8: return {read<int8_t>("value", key)};
    case GgufType::u16: return {read<uint16_t>("value", key)};
    case GgufType::i16: return {read<int16_t>("value", key)};
    case GgufType::u32: return {read<uint32_t>("value", key)};
    case GgufType::i32: return {read<int32_t>("value", key)};
    case GgufType::f32: return {read<float>("value", key)};
    case GgufType::boolean: return {read_bool(key)};
    case GgufType::string: return {read_string("value", key)};
    case GgufType::array: return {read_array(key, 1)};
    case GgufType::u64: return {read<uint64_t>("value", key)};
    case GgufType::i64: return {read<int64_t>("value", key)};
    case GgufType::f64: return {read<double>("value", key)};
  }
  WICK_ASSERT(!"read_type() let an unknown type through");
  return {};
}

GgufArray GgufParser::read_array(std::string_view key, int depth) {
  if (depth > kMaxArrayDepth) {
    fail(ErrorCode::corrupt_file, "{}: array{} at byte {}: arrays are nested more than {} deep; {}", name(), of(key), position_,
         kMaxArrayDepth, kGgufRemedy);
  }
  GgufArray array;
  array.element_type = read_type("element type", key);
  const uint64_t count_at = position_;
  array.size = read<uint64_t>("array length", key);
  switch (array.element_type) {
    case GgufType::string:
      require_entries(array.size, kMinStringBytes, count_at, "array length", key);
      array.strings.reserve(array.size);
      for (uint64_t index = 0; index < array.size; ++index) array.strings.push_back(read_string("array element", key));
      return array;
    case GgufType::array:
      require_entries(array.size, kMinArrayBytes, count_at, "array length", key);
      for (uint64_t index = 0; index < array.size; ++index) array.arrays.push_back(read_array(key, depth + 1));
      return array;
    case GgufType::boolean:
      require_entries(array.size, 1, count_at, "array length", key);
      array.packed = bytes_.subspan(position_, array.size);
      for (uint64_t index = 0; index < array.size; ++index) static_cast<void>(read_bool(key));
      return array;
    default: break;
  }
  const uint64_t element_bytes = packed_bytes(array.element_type);
  require_entries(array.size, element_bytes, count_at, "array length", key);
  array.packed = bytes_.subspan(position_, array.size * element_bytes);
  position_ += array.packed.size();
  return array;
}

void GgufParser::read_alignment() {
  const auto alignment = file_.find_uint("general.alignment");
  if (!alignment) return;
  if (!std::has_single_bit(*alignment) || *alignment < 8 || *alignment > kMaxAlignment) {
    const uint64_t at = file_.offset_of(file_.metadata_[file_.metadata_index_.at("general.alignment")].first);
    fail(ErrorCode::corrupt_file, "{}: metadata 'general.alignment' at byte {}: {} is not a power of two from 8 to {}; {}", name(), at,
         *alignment, kMaxAlignment, kGgufRemedy);
  }
  file_.alignment_ = *alignment;
}

void GgufParser::read_tensors() {
  require_entries(tensor_count_, kMinTensorBytes, 8, "tensor count", {});
  for (uint64_t index = 0; index < tensor_count_; ++index) {
    Entry entry;
    GgufTensor tensor = read_tensor(entry);
    if (!file_.tensor_index_.emplace(tensor.name, file_.tensors_.size()).second) {
      fail(ErrorCode::corrupt_file, "{}: tensor {} at byte {}: duplicate name; {}", name(), printable(tensor.name), entry.listed_at,
           kGgufRemedy);
    }
    file_.tensors_.push_back(std::move(tensor));
    entries_.push_back(entry);
  }
}

GgufTensor GgufParser::read_tensor(Entry& entry) {
  GgufTensor tensor;
  entry.listed_at = position_;
  tensor.name = read_string("tensor name");
  if (tensor.name.empty()) {
    fail(ErrorCode::corrupt_file, "{}: tensor {} at byte {}: the name is empty; {}", name(), entries_.size(), entry.listed_at, kGgufRemedy);
  }
  const uint64_t shape_at = position_;
  tensor.shape = read_shape(tensor.name);
  tensor.dtype = read_tensor_type(tensor.name);
  const DTypeInfo& format = info(tensor.dtype);
  if (tensor.shape.last() % format.block_elements != 0) {
    fail(ErrorCode::corrupt_file, "{}: tensor {} at byte {}: rows of {} elements are no multiple of {}'s block of {}; {}", name(),
         printable(tensor.name), shape_at, tensor.shape.last(), ggml_name(tensor.dtype), format.block_elements, kGgufRemedy);
  }
  const auto blocks = static_cast<uint64_t>(tensor.shape.elements() / format.block_elements);
  if (blocks > bytes_.size() / static_cast<uint64_t>(format.block_bytes)) {
    fail(ErrorCode::corrupt_file, "{}: tensor {} at byte {}: shape {} as {} takes more bytes than the file has ({}); {}", name(),
         printable(tensor.name), shape_at, tensor.shape.to_string(), ggml_name(tensor.dtype), bytes_.size(), kGgufRemedy);
  }
  entry.size = static_cast<uint64_t>(tensor_bytes(tensor.dtype, tensor.shape.elements()));
  const uint64_t offset_at = position_;
  entry.offset = read<uint64_t>("offset", tensor.name);
  if (entry.offset % file_.alignment_ != 0) {
    fail(ErrorCode::corrupt_file, "{}: offset of tensor {} at byte {}: {} is no multiple of the alignment {}; {}", name(),
         printable(tensor.name), offset_at, entry.offset, file_.alignment_, kGgufRemedy);
  }
  return tensor;
}

Shape GgufParser::read_shape(std::string_view tensor) {
  const uint64_t rank_at = position_;
  const auto rank = read<uint32_t>("rank", tensor);
  if (rank > kMaxRank) {
    fail(ErrorCode::corrupt_file, "{}: rank of tensor {} at byte {}: {} is above {}; {}", name(), printable(tensor), rank_at, rank,
         kMaxRank, kGgufRemedy);
  }
  std::array<int64_t, kMaxRank> dims{};
  int64_t elements = 1;
  bool empty = false;
  bool overflow = false;
  for (uint32_t dim = 0; dim < rank; ++dim) {
    const uint64_t at = position_;
    const auto extent = read<uint64_t>("dimension", tensor);
    if (extent > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      fail(ErrorCode::corrupt_file, "{}: dimension {} of tensor {} at byte {}: {} is too large; {}", name(), dim, printable(tensor), at,
           extent, kGgufRemedy);
    }
    dims[rank - 1 - dim] = static_cast<int64_t>(extent);
    empty = empty || extent == 0;
    overflow = overflow || (extent != 0 && __builtin_mul_overflow(elements, static_cast<int64_t>(extent), &elements));
  }
  if (overflow && !empty) {
    fail(ErrorCode::corrupt_file, "{}: dimensions of tensor {} at byte {}: their product exceeds 2^63 - 1; {}", name(), printable(tensor),
         rank_at, kGgufRemedy);
  }
  return Shape(std::span<const int64_t>(dims.data(), rank));
}

DType GgufParser::read_tensor_type(std::string_view tensor) {
  const uint64_t at = position_;
  const auto id = read<uint32_t>("type", tensor);
  if (const auto dtype = dtype_from_ggml_id(id)) return *dtype;
  if (const std::string_view known = ggml_name_of_id(id); !known.empty()) {
    fail(ErrorCode::unsupported, "{}: type of tensor {} at byte {}: type {} ({}) is not supported; convert the model to another type",
         name(), printable(tensor), at, id, known);
  }
  fail(ErrorCode::unsupported,
       "{}: type of tensor {} at byte {}: type {} is unknown; use a newer Wick, or download the file again if it is corrupt", name(),
       printable(tensor), at, id);
}

void GgufParser::place_tensors() {
  if (entries_.empty()) return;
  const uint64_t padding = (file_.alignment_ - position_ % file_.alignment_) % file_.alignment_;
  const uint64_t data_begin = position_ + padding;  // both far below 2^63
  for (size_t index = 0; index < entries_.size(); ++index) {
    const Entry& entry = entries_[index];
    const uint64_t data_bytes = bytes_.size() > data_begin ? bytes_.size() - data_begin : 0;
    if (entry.size > data_bytes || entry.offset > data_bytes - entry.size) {
      fail(ErrorCode::corrupt_file,
           "{}: tensor {} listed at byte {}: its {} bytes at offset {} of the data at byte {} end beyond the file's {} bytes; {}", name(),
           printable(file_.tensors_[index].name), entry.listed_at, entry.size, entry.offset, data_begin, bytes_.size(), kGgufRemedy);
    }
    file_.tensors_[index].data = bytes_.subspan(std::min<uint64_t>(data_begin + entry.offset, bytes_.size()), entry.size);
  }
  check_overlaps(entries_);
}

void GgufParser::check_overlaps(std::span<const Entry> entries) const {
  std::vector<size_t> order(entries.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::erase_if(order, [&](size_t index) { return entries[index].size == 0; });
  std::sort(order.begin(), order.end(), [&](size_t lhs, size_t rhs) { return entries[lhs].offset < entries[rhs].offset; });
  for (size_t index = 1; index < order.size(); ++index) {
    const Entry& before = entries[order[index - 1]];
    const Entry& after = entries[order[index]];
    if (after.offset - before.offset >= before.size) continue;
    fail(ErrorCode::corrupt_file, "{}: tensor {} listed at byte {}: its data at offset {} overlaps tensor {} ({} bytes at offset {}); {}",
         name(), printable(file_.tensors_[order[index]].name), after.listed_at, after.offset,
         printable(file_.tensors_[order[index - 1]].name), before.size, before.offset, kGgufRemedy);
  }
}

GgufFile GgufFile::parse(std::span<const std::byte> bytes, const std::string& name) { return GgufParser(bytes, name).parse(); }

}  // namespace wick
