#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/fail_with.h"
#include "wick/base/utf8.h"
#include "wick/formats/printable.h"
#include "wick/formats/zip.h"

namespace wick {
namespace {

constexpr uint16_t kUtf8Name = 0x0800;
constexpr uint16_t kDate = 0x0021;  // 1 January 1980, the format's first day: the same entries give the same bytes
constexpr size_t kChunkBytes = 1 << 18;

// Appends numbers and text, little-endian, one behind the other.
class RecordBytes {
 public:
  template <class T>
  RecordBytes& put(T value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  RecordBytes& put_bytes(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

std::vector<std::byte> deflated(std::span<const std::span<const std::byte>> pieces) {
  z_stream stream{};
  if (::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    fail_with({{"free memory"}}, ErrorCode::out_of_memory, "zlib: no memory to deflate");
  }
  std::vector<std::byte> packed;
  std::vector<std::byte> chunk(kChunkBytes);
  const auto run = [&](std::span<const std::byte> input, int flush) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(input.data()));
    stream.avail_in = static_cast<uInt>(input.size());
    do {
      stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
      stream.avail_out = static_cast<uInt>(chunk.size());
      ::deflate(&stream, flush);
      packed.insert(packed.end(), chunk.begin(), chunk.end() - static_cast<ptrdiff_t>(stream.avail_out));
    } while (stream.avail_out == 0);
  };
  for (std::span<const std::byte> piece : pieces) {
    while (!piece.empty()) {
      const size_t bytes = std::min(piece.size(), size_t{1} << 30);  // zlib counts in unsigned int
      run(piece.first(bytes), Z_NO_FLUSH);
      piece = piece.subspan(bytes);
    }
  }
  run({}, Z_FINISH);
  ::deflateEnd(&stream);
  return packed;
}

}  // namespace

ZipWriter::ZipWriter(const std::filesystem::path& path, uint64_t zip64_from) : shown_(path.string()), zip64_from_(zip64_from), file_(path) {
  WICK_ASSERT(zip64_from <= 0xffffffff);
}

// The extra field that holds the numbers which do not fit their 32 bits; empty if all do.
std::vector<std::byte> ZipWriter::zip64_extra(std::span<const uint64_t> fields) const {
  RecordBytes content;
  for (const uint64_t field : fields) {
    if (field >= zip64_from_) content.put(field);
  }
  if (content.bytes().empty()) return {};
  RecordBytes extra;
  extra.put(uint16_t{1}).put(static_cast<uint16_t>(content.bytes().size())).put_bytes(content.bytes());
  return {extra.bytes().begin(), extra.bytes().end()};
}

void ZipWriter::write_local_header(const Record& record) {
  // Here the extra field must have both sizes if it has one.
  const bool is_large = record.size >= zip64_from_ || record.packed_size >= zip64_from_;
  RecordBytes extra;
  if (is_large) extra.put(uint16_t{1}).put(uint16_t{16}).put(record.size).put(record.packed_size);
  RecordBytes header;
  header.put(uint32_t{0x04034b50}).put(static_cast<uint16_t>(is_large ? 45 : 20));
  header.put(static_cast<uint16_t>(is_ascii(record.name) ? 0 : kUtf8Name)).put(static_cast<uint16_t>(record.method));
  header.put(uint16_t{0}).put(kDate).put(record.crc);
  header.put(static_cast<uint32_t>(is_large ? 0xffffffff : record.packed_size));
  header.put(static_cast<uint32_t>(is_large ? 0xffffffff : record.size));
  header.put(static_cast<uint16_t>(record.name.size())).put(static_cast<uint16_t>(extra.bytes().size()));
  header.put_bytes(std::as_bytes(std::span(record.name))).put_bytes(extra.bytes());
  file_.write(header.bytes());
}

void ZipWriter::write_central_header(const Record& record) {
  const uint64_t fields[] = {record.size, record.packed_size, record.offset};
  const std::vector<std::byte> extra = zip64_extra(fields);
  const auto narrow = [&](uint64_t value) { return static_cast<uint32_t>(value >= zip64_from_ ? 0xffffffff : value); };
  const auto version = static_cast<uint16_t>(extra.empty() ? 20 : 45);
  RecordBytes header;
  header.put(uint32_t{0x02014b50}).put(static_cast<uint16_t>(version | 3u << 8)).put(version);  // made by: Unix
  header.put(static_cast<uint16_t>(is_ascii(record.name) ? 0 : kUtf8Name)).put(static_cast<uint16_t>(record.method));
  header.put(uint16_t{0}).put(kDate).put(record.crc).put(narrow(record.packed_size)).put(narrow(record.size));
  header.put(static_cast<uint16_t>(record.name.size())).put(static_cast<uint16_t>(extra.size()));
  header.put(uint16_t{0}).put(uint16_t{0}).put(uint16_t{0});        // comment, disk, internal attributes
  header.put(uint32_t{0100600u << 16}).put(narrow(record.offset));  // a plain file that its owner reads and writes
  header.put_bytes(std::as_bytes(std::span(record.name))).put_bytes(extra);
  file_.write(header.bytes());
}

void ZipWriter::add(std::string_view name, std::span<const std::span<const std::byte>> pieces, ZipMethod method) {
  if (name.empty() || name.size() > 0xffff) {
    fail(ErrorCode::invalid_argument, "{}: zip entry {}: its name has {} bytes, 1 to 65535 are allowed", shown_, printable(name),
         name.size());
  }
  if (!names_.emplace(name, records_.size()).second) {
    fail(ErrorCode::invalid_argument, "{}: zip entry {} is there already; add it once", shown_, printable(name));
  }
  Record record{.name = std::string(name), .method = method, .crc = 0, .packed_size = 0, .size = 0, .offset = file_.size()};
  for (const auto piece : pieces) {
    record.crc = static_cast<uint32_t>(::crc32_z(record.crc, reinterpret_cast<const Bytef*>(piece.data()), piece.size()));
    record.size += piece.size();
  }
  if (method == ZipMethod::stored) {
    record.packed_size = record.size;
    write_local_header(record);
    for (const auto piece : pieces) file_.write(piece);
  } else {
    const std::vector<std::byte> packed = deflated(pieces);
    record.packed_size = packed.size();
    write_local_header(record);
    file_.write(packed);
  }
  records_.push_back(std::move(record));
}

void ZipWriter::finish() {
  const uint64_t begin = file_.size();
  for (const Record& record : records_) write_central_header(record);
  const uint64_t end = file_.size();
  const uint64_t size = end - begin;
  const uint64_t count = records_.size();
  const bool is_large = count >= 0xffff || begin >= zip64_from_ || size >= zip64_from_;
  RecordBytes tail;
  if (is_large) {
    tail.put(uint32_t{0x06064b50}).put(uint64_t{44}).put(uint16_t{45}).put(uint16_t{45}).put(uint32_t{0}).put(uint32_t{0});
    tail.put(count).put(count).put(size).put(begin);
    tail.put(uint32_t{0x07064b50}).put(uint32_t{0}).put(end).put(uint32_t{1});
  }
  const auto short_count = static_cast<uint16_t>(is_large ? 0xffff : count);
  tail.put(uint32_t{0x06054b50}).put(uint16_t{0}).put(uint16_t{0}).put(short_count).put(short_count);
  tail.put(static_cast<uint32_t>(is_large ? 0xffffffff : size)).put(static_cast<uint32_t>(is_large ? 0xffffffff : begin));
  tail.put(uint16_t{0});
  file_.write(tail.bytes());
  file_.commit();
}

}  // namespace wick
