#include "wick/formats/pytorch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "wick/base/fail.h"
#include "wick/formats/pickle.h"
#include "wick/formats/printable.h"
#include "wick/formats/pytorch_structure.h"
#include "wick/formats/zip.h"

namespace wick {
namespace {

constexpr const char* kPytorchRemedy = "the file is truncated or corrupt: download it again";
constexpr std::string_view kPickleName = "data.pkl";
// torch.serialization's MAGIC_NUMBER 0x1950a86a20f9469cfc6c, as a pickle has it, and PROTOCOL_VERSION.
constexpr std::string_view kLegacyMagic("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10);
constexpr int64_t kLegacyProtocol = 1001;
constexpr size_t kTarMagicOffset = 257;
// A tensor that repeats its storage (strides 0) is read up to this many times the storage's size, and always up to a megabyte.
constexpr uint64_t kMaxRepeats = 64;
// Values (and bytes) of a pickle that a file of any size may have.
constexpr uint64_t kFewValues = uint64_t{1} << 16;
constexpr uint64_t kMaxPickleRatio = 64;
constexpr uint64_t kFewUnpackedBytes = uint64_t{16} << 20;
constexpr uint64_t kMaxPickleBytes = uint64_t{256} << 20;

bool starts_with(std::span<const std::byte> bytes, size_t at, std::string_view text) {
  return bytes.size() >= at + text.size() && std::memcmp(bytes.data() + at, text.data(), text.size()) == 0;
}

std::string_view trimmed(std::span<const std::byte> bytes) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return text;
}

// The folder in the archive that has the pickle: "archive/" or the file's first name.
std::string find_prefix(const ZipFile& zip) {
  for (const ZipEntry& entry : zip.entries()) {
    if (!entry.name.ends_with(kPickleName)) continue;
    const std::string prefix = entry.name.substr(0, entry.name.size() - kPickleName.size());
    if (prefix.empty() || prefix.find('/') == prefix.size() - 1) return prefix;
  }
  fail(ErrorCode::unsupported, "{}: no entry 'data.pkl' in the zip archive; name a file that torch.save wrote", zip.name());
}

void check_byte_order(const ZipFile& zip, const std::string& prefix) {
  const ZipEntry* entry = zip.find(prefix + "byteorder");
  if (entry == nullptr) return;  // before PyTorch 2.1
  const std::vector<std::byte> content = zip.read(*entry);
  if (trimmed(content) == "little") return;
  fail(ErrorCode::unsupported, "{}: zip entry {}: byte order {}; save it on a little-endian machine", zip.name(), printable(entry->name),
       printable(trimmed(content)));
}

// Packed storages are unpacked when the file is opened, all of them: to no more than weights can be packed (zeros can be, to a thousandth).
void check_unpacked_size(const std::string& name, uint64_t unpacked, uint64_t file_bytes) {
  const uint64_t most = kFewUnpackedBytes + kMaxPickleRatio * file_bytes;
  if (unpacked <= most) return;
  fail(ErrorCode::unsupported, "{}: its storages unpack to {} bytes and more, {} are allowed for a file of {}; save them unpacked", name,
       unpacked, most, file_bytes);
}

// PyTorch stores the pickle as it is. One that is packed may unpack to what a file of this size justifies, no more.
void check_pickle(const ZipFile& zip, const ZipEntry& entry, uint64_t file_bytes) {
  const uint64_t most = std::min(kFewValues + kMaxPickleRatio * file_bytes, kMaxPickleBytes);
  if (entry.size <= most) return;
  fail(ErrorCode::unsupported, "{}: zip entry {}: {} bytes when unpacked, {} are allowed for a file of {}; save only the tensors",
       zip.name(), printable(entry.name), entry.size, most, file_bytes);
}

// Reads what follows the pickles of a legacy file: a list of keys, and for each its number of elements and its bytes.
class LegacyReader {
 public:
  LegacyReader(std::span<const std::byte> bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  Pickle structure() {
    const Pickle magic = next();
    const PickleValue& number = magic[magic.root()];
    if (number.kind != PickleKind::large_integer || number.text != kLegacyMagic) {
      fail(ErrorCode::unsupported, "{}: a pickle that holds {}, not a file of torch.save; save the state_dict with torch.save", name_,
           magic.describe(magic.root()));
    }
    const Pickle protocol = next();
    if (protocol[protocol.root()].kind != PickleKind::integer || protocol[protocol.root()].integer != kLegacyProtocol) {
      fail(ErrorCode::unsupported, "{}: protocol {} of PyTorch is unknown; save it with a newer version", name_,
           protocol.describe(protocol.root()));
    }
    check_system(next());
    return next();
  }

  std::map<std::string, std::span<const std::byte>> storages(const Pickle& structure) {
    const auto element_bytes = pytorch_storage_elements(structure, name_);
    const Pickle keys = next();
    std::map<std::string, std::span<const std::byte>> found;
    if (keys[keys.root()].kind != PickleKind::list) fail_here("no list of the storages");
    for (const PickleId key : keys[keys.root()].items) {
      const auto known = keys[key].kind == PickleKind::text ? element_bytes.find(keys[key].text) : element_bytes.end();
      if (known == element_bytes.end()) fail_here("a storage that the structure does not refer to");
      const auto elements = read_count();
      if (elements > (bytes_.size() - position_) / static_cast<uint64_t>(known->second)) fail_here("a storage is cut off");
      const uint64_t size = elements * static_cast<uint64_t>(known->second);
      if (!found.emplace(known->first, bytes_.subspan(position_, size)).second) fail_here("a storage is there twice");
      position_ += size;
    }
    return found;
  }

 private:
  [[noreturn]] void fail_here(const char* what) const {
    fail(ErrorCode::corrupt_file, "{}: legacy PyTorch file at byte {}: {}; {}", name_, position_, what, kPytorchRemedy);
  }
  Pickle next() {
    Pickle pickle = Pickle::parse(bytes_.subspan(position_), name_, position_);
    position_ += pickle.stream_bytes();
    return pickle;
  }
  uint64_t read_count() {
    uint64_t count = 0;
    if (bytes_.size() - position_ < sizeof(count)) fail_here("a storage is cut off");
    std::memcpy(&count, bytes_.data() + position_, sizeof(count));
    position_ += sizeof(count);
    return count;
  }
  // {'protocol_version': 1001, 'little_endian': True, 'type_sizes': …}
  void check_system(const Pickle& system) const {
    const PickleValue& dict = system[system.root()];
    for (size_t index = 0; dict.kind == PickleKind::dict && index + 1 < dict.items.size(); index += 2) {
      const PickleValue& key = system[dict.items[index]];
      if (key.kind != PickleKind::text || key.text != "little_endian") continue;
      if (system[dict.items[index + 1]].kind == PickleKind::boolean && system[dict.items[index + 1]].integer != 0) return;
      fail(ErrorCode::unsupported, "{}: the file is big-endian; save it on a little-endian machine", name_);
    }
    fail_here("the byte order is absent");
  }

  std::span<const std::byte> bytes_;
  const std::string& name_;
  size_t position_ = 0;
};

}  // namespace

// Where the bytes of storages come from.
struct PytorchFile::Source {
  std::function<PytorchStorage(std::string_view key)> find;
};

PytorchFile PytorchFile::open(const std::filesystem::path& path, std::string_view key, MapAccess access) {
  const std::shared_ptr<const MappedFile> mapping = MappedFile::open(path, access);
  PytorchFile file = parse(mapping->bytes(), path.string(), key);
  for (PytorchStorage& storage : file.storages_) {
    if (storage.owner == nullptr) storage.owner = mapping;
  }
  return file;
}

PytorchFile PytorchFile::parse(std::span<const std::byte> bytes, const std::string& name, std::string_view key) {
  PytorchFile file;
  file.name_ = name;
  if (starts_with(bytes, 0, "PK\x03\x04")) {
    file.container_ = "zip";
    const ZipFile zip = ZipFile::parse(bytes, name);
    const std::string prefix = find_prefix(zip);
    check_byte_order(zip, prefix);
    const std::string pickle_name = prefix + std::string(kPickleName);
    const ZipEntry& pickle = *zip.find(pickle_name);
    check_pickle(zip, pickle, bytes.size());
    const std::vector<std::byte> stream = zip.read(pickle);
    uint64_t unpacked = 0;
    const Source source{.find = [&](std::string_view storage) {
      const std::string entry_name = fmt::format("{}data/{}", prefix, storage);
      const ZipEntry* entry = zip.find(entry_name);
      if (entry == nullptr) fail(ErrorCode::corrupt_file, "{}: zip entry {} is missing; {}", name, printable(entry_name), kPytorchRemedy);
      PytorchStorage found{.key = std::string(storage), .data = entry->packed, .owner = nullptr};
      if (entry->method != ZipMethod::stored) {
        unpacked += entry->size;
        check_unpacked_size(name, unpacked, bytes.size());
        const auto content = std::make_shared<const std::vector<std::byte>>(zip.read(*entry));
        found.data = *content;
        found.owner = content;
      }
      return found;
    }};
    const std::string stream_name = fmt::format("{}: zip entry {}", name, printable(pickle_name));
    file.collect(Pickle::parse(stream, stream_name, 0, kFewValues + bytes.size()), source, key);
    return file;
  }
  if (starts_with(bytes, kTarMagicOffset, "ustar")) {
    fail(ErrorCode::unsupported, "{}: a tar file of PyTorch before 0.1.10; load it with PyTorch and save it again", name);
  }
  if (!starts_with(bytes, 0, "\x80")) {
    fail(ErrorCode::corrupt_file, "{}: it begins with {}, neither a zip archive nor a pickle; name a file that torch.save wrote", name,
         printable(bytes.first(std::min<size_t>(bytes.size(), 8))));
  }
  file.container_ = "legacy";
  LegacyReader reader(bytes, name);
  const Pickle structure = reader.structure();
  const auto storages = reader.storages(structure);
  const Source source{.find = [&](std::string_view storage) {
    const auto found = storages.find(std::string(storage));
    if (found == storages.end()) fail(ErrorCode::corrupt_file, "{}: storage {} is missing; {}", name, printable(storage), kPytorchRemedy);
    return PytorchStorage{.key = found->first, .data = found->second, .owner = nullptr};
  }};
  file.collect(structure, source, key);
  return file;
}

void PytorchFile::collect(const Pickle& pickle, const Source& source, std::string_view key) {
  PytorchStructure structure = read_pytorch_structure(pickle, name_);
  // The names below the key, without it; without a key all are.
  const std::string prefix = key.empty() ? "" : std::string(key) + '.';
  std::set<std::string> outside;
  const auto is_wanted = [&](std::string& name) {
    if (!name.starts_with(prefix)) return false;
    name.erase(0, prefix.size());
    return true;
  };
  std::map<std::string, size_t, std::less<>> storage_index;
  for (PytorchStructure::Tensor& tensor : structure.tensors) {
    if (!is_wanted(tensor.name)) {
      if (outside.size() < 8) outside.insert(tensor.name.substr(0, tensor.name.find('.')));
      continue;
    }
    if (!index_.emplace(tensor.name, tensors_.size()).second) {
      fail(ErrorCode::unsupported, "{}: two tensors are called {}; save them under other keys", name_, printable(tensor.name));
    }
    const auto [place, is_new] = storage_index.try_emplace(std::string(tensor.storage.key), storages_.size());
    if (is_new) storages_.push_back(source.find(tensor.storage.key));
    const PytorchStorage& storage = storages_[place->second];
    if (static_cast<uint64_t>(tensor.storage.elements) > storage.data.size() / static_cast<uint64_t>(tensor.storage.element_bytes)) {
      fail(ErrorCode::corrupt_file, "{}: tensor {}: its storage {} should have {} elements of {} bytes, but has {} bytes; {}", name_,
           printable(tensor.name), printable(storage.key), tensor.storage.elements, tensor.storage.element_bytes, storage.data.size(),
           kPytorchRemedy);
    }
    tensors_.push_back({.name = std::move(tensor.name), .dtype = tensor.dtype, .layout = tensor.layout, .storage = place->second});
  }
  for (LeftOut& refused : structure.refused) {
    if (is_wanted(refused.name)) refused_.push_back(std::move(refused));
  }
  for (LeftOut& opaque : structure.opaque) {
    if (is_wanted(opaque.name)) opaque_.push_back(std::move(opaque));
  }
  if (key.empty() || !tensors_.empty() || !refused_.empty()) return;
  std::string known;
  for (const std::string& name : outside) known += (known.empty() ? "" : ", ") + printable(name);
  fail(ErrorCode::not_found, "{}: no tensor below the key {}; the file's keys with tensors are: {}", name_, printable(key),
       known.empty() ? "none" : known);
}

const PytorchTensor* PytorchFile::find(std::string_view tensor) const noexcept {
  const auto found = index_.find(tensor);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

const PytorchTensor& PytorchFile::get(std::string_view tensor) const {
  if (const PytorchTensor* found = find(tensor)) return *found;
  for (const LeftOut& refused : refused_) {
    if (refused.name == tensor) fail(ErrorCode::unsupported, "{}: tensor {}: {}; convert it", name_, printable(tensor), refused.what);
  }
  fail(ErrorCode::not_found, "{}: no tensor {}; check the name", name_, printable(tensor));
}

void PytorchFile::require_all() const {
  if (refused_.empty()) return;
  fail(ErrorCode::unsupported, "{}: tensor {}: {}, which is not supported; convert it or take it out of the file", name_,
       printable(refused_.front().name), refused_.front().what);
}

std::vector<std::byte> PytorchFile::read(const PytorchTensor& tensor) const {
  const std::span<const std::byte> data = storages_[tensor.storage].data;
  const auto element_bytes = static_cast<size_t>(info(tensor.dtype).block_bytes);
  const auto elements = static_cast<uint64_t>(tensor.layout.elements());
  const uint64_t limit = std::max<uint64_t>(data.size() * kMaxRepeats, uint64_t{1} << 20);
  if (elements > limit / element_bytes) {
    fail(ErrorCode::unsupported, "{}: tensor {}: its {} elements repeat a storage of {} bytes; save it before it is expanded", name_,
         printable(tensor.name), elements, data.size());
  }
  std::vector<std::byte> row_major(elements * element_bytes);
  if (elements == 0) return row_major;
  if (tensor.layout.is_contiguous()) {
    std::memcpy(row_major.data(), data.data() + static_cast<size_t>(tensor.layout.offset()) * element_bytes, row_major.size());
    return row_major;
  }
  std::byte* target = row_major.data();
  for_each_offset(tensor.layout, [&](int64_t element) {
    std::memcpy(target, data.data() + static_cast<size_t>(element) * element_bytes, element_bytes);
    target += element_bytes;
  });
  return row_major;
}

}  // namespace wick
