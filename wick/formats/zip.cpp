#include "wick/formats/zip.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/fail_with.h"
#include "wick/base/process.h"
#include "wick/formats/printable.h"

namespace wick {
namespace {

constexpr const char* kZipRemedy = "the file is truncated or corrupt: download it again";
constexpr uint32_t kLocalSignature = 0x04034b50;
constexpr uint32_t kCentralSignature = 0x02014b50;
constexpr uint32_t kEndSignature = 0x06054b50;
constexpr uint32_t kEnd64Signature = 0x06064b50;
constexpr uint32_t kEnd64LocatorSignature = 0x07064b50;
constexpr uint16_t kZip64Extra = 1;
constexpr size_t kLocalBytes = 30;
constexpr size_t kCentralBytes = 46;
constexpr size_t kEndBytes = 22;
constexpr size_t kEnd64Bytes = 56;
constexpr size_t kEnd64LocatorBytes = 20;
constexpr size_t kMaxComment = 0xffff;
constexpr uint16_t kEncryptedFlags = 0x2041;  // encrypted, strongly encrypted, masked header
// A bit of deflated data makes at most 258 bytes from 2 bits: 1032 bytes a byte (zlib's technical details).
constexpr uint64_t kMaxInflation = 1032;

// Little-endian numbers of a record whose bytes the caller has checked to be there.
template <class T>
T number(std::span<const std::byte> bytes, size_t at) {
  T value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

const char* method_name(uint16_t method) {
  switch (method) {
    case 1: return "shrink";
    case 6: return "implode";
    case 9: return "deflate64";
    case 12: return "bzip2";
    case 14: return "LZMA";
    case 93: return "Zstandard";
    case 95: return "XZ";
    case 99: return "AES encryption";
    default: return "unknown";
  }
}

class DirectoryReader {
 public:
  DirectoryReader(std::span<const std::byte> bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  struct Placed {
    uint64_t local;  // where the local header begins
    uint64_t end;    // where the data end
    ZipEntry entry;
  };

  std::vector<Placed> read() {
    find_directory();
    std::vector<Placed> found;
    uint64_t at = begin_;
    for (uint64_t index = 0; index < count_; ++index) {
      Placed placed = read_entry(at);
      if (!placed.entry.name.ends_with('/')) found.push_back(std::move(placed));
    }
    if (at != end_) fail_at(at, "the central directory does not end with its last entry");
    return found;
  }

 private:
  [[noreturn]] void fail_at(uint64_t at, const char* what) const {
    fail(ErrorCode::corrupt_file, "{}: zip archive at byte {}: {}; {}", name_, at, what, kZipRemedy);
  }
  [[noreturn]] void fail_entry(std::string_view entry, uint64_t at, const char* what) const {
    fail(ErrorCode::corrupt_file, "{}: zip entry {} at byte {}: {}; {}", name_, printable(entry), at, what, kZipRemedy);
  }
  // A record that must lie between `at` and `limit`.
  std::span<const std::byte> record(uint64_t at, uint64_t size, uint64_t limit, const char* what) const {
    if (at > limit || limit - at < size) fail_at(at, what);
    return bytes_.subspan(at, size);
  }

  // The end record is the last thing in the file but for a comment.
  uint64_t find_end_record() const {
    if (bytes_.size() >= kEndBytes) {
      const uint64_t last = bytes_.size() - kEndBytes;
      const uint64_t first = last > kMaxComment ? last - kMaxComment : 0;
      for (uint64_t at = last + 1; at-- > first;) {
        if (number<uint32_t>(bytes_, at) != kEndSignature) continue;
        if (number<uint16_t>(bytes_, at + 20) == bytes_.size() - at - kEndBytes) return at;
      }
    }
    fail(ErrorCode::corrupt_file, "{}: zip archive: no end record in the last {} bytes; the file is no zip archive, or truncated", name_,
         std::min<size_t>(bytes_.size(), kMaxComment + kEndBytes));
  }

  void find_directory() {
    const uint64_t end_record = find_end_record();
    const auto end = bytes_.subspan(end_record, kEndBytes);
    uint64_t disks = number<uint16_t>(end, 4) | number<uint16_t>(end, 6);
    count_ = number<uint16_t>(end, 10);
    uint64_t size = number<uint32_t>(end, 12);
    begin_ = number<uint32_t>(end, 16);
    uint64_t limit = end_record;
    const bool is_zip64 = count_ == 0xffff || size == 0xffffffff || begin_ == 0xffffffff;
    if (is_zip64 && end_record >= kEnd64LocatorBytes &&
        number<uint32_t>(bytes_, end_record - kEnd64LocatorBytes) == kEnd64LocatorSignature) {
      const uint64_t locator = end_record - kEnd64LocatorBytes;
      const auto at = number<uint64_t>(bytes_, locator + 8);
      const auto end64 = record(at, kEnd64Bytes, locator, "the zip64 end record does not lie before its locator");
      if (number<uint32_t>(end64, 0) != kEnd64Signature) fail_at(at, "no zip64 end record");
      disks = number<uint32_t>(end64, 16) | number<uint32_t>(end64, 20);
      count_ = number<uint64_t>(end64, 32);
      size = number<uint64_t>(end64, 40);
      begin_ = number<uint64_t>(end64, 48);
      limit = at;
    }
    if (disks != 0)
      fail(ErrorCode::unsupported, "{}: zip archive at byte {}: it spans several disks; write it as one file", name_, end_record);
    static_cast<void>(record(begin_, size, limit, "the central directory does not lie before the end record"));
    end_ = begin_ + size;
    if (count_ > size / kCentralBytes) fail_at(begin_, "the central directory is too small for its entries");
  }

  // Replaces the fields that are all ones by those of the zip64 extra field, which has only these, in this order.
  void apply_zip64(std::string_view entry, uint64_t at, std::span<const std::byte> extra, std::span<uint64_t* const> fields) const {
    while (extra.size() >= 4) {
      const auto tag = number<uint16_t>(extra, 0);
      const auto size = number<uint16_t>(extra, 2);
      if (size > extra.size() - 4) fail_entry(entry, at, "an extra field is longer than the entry");
      auto content = extra.subspan(4, size);
      extra = extra.subspan(4 + size_t{size});
      if (tag != kZip64Extra) continue;
      for (uint64_t* field : fields) {
        if (*field != 0xffffffff) continue;
        if (content.size() < 8) fail_entry(entry, at, "the zip64 field is too short");
        *field = number<uint64_t>(content, 0);
        content = content.subspan(8);
      }
      return;
    }
  }

  // Reads the central header at `at` and moves it behind.
  Placed read_entry(uint64_t& at) {
    const auto central = record(at, kCentralBytes, end_, "an entry of the central directory is cut off");
    if (number<uint32_t>(central, 0) != kCentralSignature) fail_at(at, "no entry of the central directory");
    const size_t name_bytes = number<uint16_t>(central, 28);
    const size_t extra_bytes = number<uint16_t>(central, 30);
    const size_t comment_bytes = number<uint16_t>(central, 32);
    const auto tail =
        record(at + kCentralBytes, name_bytes + extra_bytes + comment_bytes, end_, "a name of the central directory is cut off");
    Placed placed;
    placed.entry.name.assign(reinterpret_cast<const char*>(tail.data()), name_bytes);
    const std::string& name = placed.entry.name;
    const auto method = number<uint16_t>(central, 10);
    if ((number<uint16_t>(central, 8) & kEncryptedFlags) != 0) {
      fail(ErrorCode::unsupported, "{}: zip entry {} at byte {}: it is encrypted; write the archive without a password", name_,
           printable(name), at);
    }
    if (method != static_cast<uint16_t>(ZipMethod::stored) && method != static_cast<uint16_t>(ZipMethod::deflated)) {
      fail(ErrorCode::unsupported, "{}: zip entry {} at byte {}: method {} ({}) is not supported; store or deflate it", name_,
           printable(name), at, method, method_name(method));
    }
    uint64_t packed_size = number<uint32_t>(central, 20);
    placed.entry.size = number<uint32_t>(central, 24);
    placed.local = number<uint32_t>(central, 42);
    uint64_t* const fields[] = {&placed.entry.size, &packed_size, &placed.local};
    apply_zip64(name, at, tail.subspan(name_bytes, extra_bytes), fields);
    placed.entry.method = static_cast<ZipMethod>(method);
    placed.entry.crc = number<uint32_t>(central, 16);
    if (name.find('\0') != std::string::npos || name.empty()) fail_entry(name, at, "its name is empty or holds a zero byte");
    find_data(placed, packed_size);
    at += kCentralBytes + tail.size();
    return placed;
  }

  // The data lie behind the local header, whose name and extra field may be longer than the central ones.
  void find_data(Placed& placed, uint64_t packed_size) const {
    ZipEntry& entry = placed.entry;
    const auto local = record(placed.local, kLocalBytes, begin_, "a local header does not lie before the central directory");
    if (number<uint32_t>(local, 0) != kLocalSignature) fail_entry(entry.name, placed.local, "no local header");
    const size_t name_bytes = number<uint16_t>(local, 26);
    const uint64_t head = kLocalBytes + name_bytes + number<uint16_t>(local, 28);
    const auto whole = record(placed.local, head, begin_, "a local header is cut off");
    const std::string_view local_name(reinterpret_cast<const char*>(whole.data() + kLocalBytes), name_bytes);
    if (local_name != entry.name) fail_entry(entry.name, placed.local, "its local header has another name");
    if (number<uint16_t>(local, 8) != static_cast<uint16_t>(entry.method)) {
      fail_entry(entry.name, placed.local, "its local header has another method");
    }
    entry.packed = record(placed.local + head, packed_size, begin_, "an entry's data do not lie before the central directory");
    placed.end = placed.local + head + packed_size;
    if (entry.method == ZipMethod::stored && entry.size != packed_size)
      fail_entry(entry.name, placed.local, "it is stored, but its two sizes differ");
    if (entry.method == ZipMethod::deflated && entry.size / kMaxInflation > packed_size) {
      fail_entry(entry.name, placed.local, "its size is more than its data can unpack to");
    }
  }

  std::span<const std::byte> bytes_;
  const std::string& name_;
  uint64_t begin_ = 0;  // of the central directory
  uint64_t end_ = 0;
  uint64_t count_ = 0;
};

uint32_t crc_of(std::span<const std::byte> bytes, uint32_t crc = 0) {
  return static_cast<uint32_t>(::crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// A zlib stream of raw deflate data, without zlib's own header; Finish is inflateEnd or deflateEnd.
struct Stream {
  explicit Stream(int (*finish)(z_stream*)) : finish_(finish) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { finish_(&state); }

  z_stream state{};

 private:
  int (*finish_)(z_stream*);
};

constexpr int kRawDeflate = -15;  // windowBits: negative means raw

// zlib counts in unsigned int: at most this much at once.
uInt chunk(uint64_t bytes) { return static_cast<uInt>(std::min<uint64_t>(bytes, 1u << 30)); }

// Fills `output` from `packed`; true if the data end exactly with it and all of them were used.
bool inflate_into(std::span<const std::byte> packed, std::span<std::byte> output) {
  Stream stream(&::inflateEnd);
  if (::inflateInit2(&stream.state, kRawDeflate) != Z_OK)
    fail_with({{"free memory"}}, ErrorCode::out_of_memory, "zlib: no memory to inflate");
  const std::byte* input = packed.data();
  uint64_t input_left = packed.size();
  uint64_t output_left = output.size();
  std::byte overflow{};  // zlib wants room for output, even where none should come
  int status = Z_OK;
  while (status == Z_OK) {
    if (stream.state.avail_in == 0 && input_left > 0) {
      stream.state.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(input));
      stream.state.avail_in = chunk(input_left);
      input += stream.state.avail_in;
      input_left -= stream.state.avail_in;
    }
    const bool full = output_left == 0;
    stream.state.next_out = reinterpret_cast<Bytef*>(full ? &overflow : output.data() + (output.size() - output_left));
    stream.state.avail_out = full ? 1 : chunk(output_left);
    const uInt room = stream.state.avail_out;
    status = ::inflate(&stream.state, Z_NO_FLUSH);
    const uInt made = room - stream.state.avail_out;
    if (full && made > 0) return false;
    output_left -= made;
  }
  return status == Z_STREAM_END && output_left == 0 && input_left == 0 && stream.state.avail_in == 0;
}

}  // namespace

ZipFile ZipFile::open(const std::filesystem::path& path) {
  std::shared_ptr<MappedFile> mapping = MappedFile::open(path);
  ZipFile file = parse(mapping->bytes(), path.string());
  file.file_ = std::move(mapping);
  return file;
}

ZipFile ZipFile::parse(std::span<const std::byte> bytes, const std::string& name) {
  std::vector<DirectoryReader::Placed> placed = DirectoryReader(bytes, name).read();
  // Entries that share data can unpack to far more than the file justifies.
  std::vector<const DirectoryReader::Placed*> by_place;
  for (const auto& entry : placed) by_place.push_back(&entry);
  std::sort(by_place.begin(), by_place.end(), [](const auto* lhs, const auto* rhs) { return lhs->local < rhs->local; });
  for (size_t index = 1; index < by_place.size(); ++index) {
    if (by_place[index]->local < by_place[index - 1]->end) {
      fail(ErrorCode::corrupt_file, "{}: zip entry {} at byte {}: it overlaps entry {}; {}", name, printable(by_place[index]->entry.name),
           by_place[index]->local, printable(by_place[index - 1]->entry.name), kZipRemedy);
    }
  }
  ZipFile file;
  file.name_ = name;
  for (auto& [local, end, entry] : placed) {
    if (!file.index_.emplace(entry.name, file.entries_.size()).second) {
      fail(ErrorCode::corrupt_file, "{}: zip entry {} at byte {}: it is there twice; {}", name, printable(entry.name), local, kZipRemedy);
    }
    file.entries_.push_back(std::move(entry));
  }
  return file;
}

const ZipEntry* ZipFile::find(std::string_view entry) const noexcept {
  const auto found = index_.find(entry);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

std::vector<std::byte> ZipFile::read(const ZipEntry& entry) const {
  std::vector<std::byte> content;
  if (entry.method == ZipMethod::stored) {
    content.assign(entry.packed.begin(), entry.packed.end());
  } else {
    const uint64_t available = available_memory_bytes();
    if (available != 0 && entry.size > available) {
      fail(ErrorCode::out_of_memory, "{}: zip entry {}: {} bytes when unpacked, {} bytes of memory are available", name_,
           printable(entry.name), entry.size, available);
    }
    content.resize(entry.size);
    if (!inflate_into(entry.packed, content)) {
      fail(ErrorCode::corrupt_file, "{}: zip entry {}: its data do not unpack to its {} bytes; {}", name_, printable(entry.name),
           entry.size, kZipRemedy);
    }
  }
  if (const uint32_t crc = crc_of(content); crc != entry.crc) {
    fail(ErrorCode::corrupt_file, "{}: zip entry {}: the CRC of its content is {:08x}, not {:08x}; {}", name_, printable(entry.name), crc,
         entry.crc, kZipRemedy);
  }
  return content;
}

std::vector<std::byte> ZipFile::read_prefix(const ZipEntry& entry, size_t limit) const {
  if (entry.size <= limit) return read(entry);
  if (entry.method == ZipMethod::stored) return {entry.packed.begin(), entry.packed.begin() + static_cast<ptrdiff_t>(limit)};
  std::vector<std::byte> content(limit);
  Stream stream(&::inflateEnd);
  if (::inflateInit2(&stream.state, kRawDeflate) != Z_OK)
    fail_with({{"free memory"}}, ErrorCode::out_of_memory, "zlib: no memory to inflate");
  stream.state.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(entry.packed.data()));
  stream.state.avail_in = chunk(entry.packed.size());
  stream.state.next_out = reinterpret_cast<Bytef*>(content.data());
  stream.state.avail_out = chunk(limit);
  int status = Z_OK;
  while (status == Z_OK && stream.state.avail_out > 0 && stream.state.avail_in > 0) status = ::inflate(&stream.state, Z_NO_FLUSH);
  if (stream.state.avail_out > 0) {
    fail(ErrorCode::corrupt_file, "{}: zip entry {}: its data do not unpack to its {} bytes; {}", name_, printable(entry.name), entry.size,
         kZipRemedy);
  }
  return content;
}

}  // namespace wick
