// A ZipFile is the table of contents of a zip archive, checked against the archive, and gives its entries' bytes. Definition: PKWARE
// APPNOTE 6.3. Read are stored and deflated entries, with and without zip64.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wick/base/atomic_file.h"
#include "wick/base/mapped_file.h"

namespace wick {

enum class ZipMethod : uint16_t { stored = 0, deflated = 8 };

struct ZipEntry {
  std::string name;
  ZipMethod method = ZipMethod::stored;
  uint32_t crc = 0;                   // CRC-32 of the content
  uint64_t size = 0;                  // of the content, in bytes
  std::span<const std::byte> packed;  // as stored in the archive: the content itself if it is not compressed
};

class ZipFile {
 public:
  // Folders are left out. Errors: not_found, io, corrupt_file (also for a name that is there twice and for entries that overlap),
  // unsupported (encryption, several disks, another method than stored and deflated, by its name); each names path, entry and byte.
  [[nodiscard]] static ZipFile open(const std::filesystem::path& path);
  // Parses bytes that the caller keeps alive; `name` is used as the path in errors.
  [[nodiscard]] static ZipFile parse(std::span<const std::byte> bytes, const std::string& name);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  // In the order of the central directory.
  [[nodiscard]] std::span<const ZipEntry> entries() const noexcept { return entries_; }
  // nullptr if absent.
  [[nodiscard]] const ZipEntry* find(std::string_view entry) const noexcept;
  // The mapping that entries point into; nullptr where they were parsed from memory.
  [[nodiscard]] const std::shared_ptr<const MappedFile>& file() const noexcept { return file_; }

  // The content. Errors: corrupt_file if it does not unpack, or not to its size and CRC.
  [[nodiscard]] std::vector<std::byte> read(const ZipEntry& entry) const;
  // The first bytes of the content, at most `limit`; the CRC, which is that of the whole, is not checked.
  [[nodiscard]] std::vector<std::byte> read_prefix(const ZipEntry& entry, size_t limit) const;

 private:
  std::string name_;
  std::vector<ZipEntry> entries_;
  std::map<std::string, size_t, std::less<>> index_;
  std::shared_ptr<const MappedFile> file_;
};

// A ZipWriter writes an archive entry after entry; the file appears when finish() returns. The same entries give the same bytes.
class ZipWriter {
 public:
  // Sizes and offsets from `zip64_from` on are written as zip64 (the format needs it from 4 GiB - 1 on). Errors: not_found, io.
  explicit ZipWriter(const std::filesystem::path& path, uint64_t zip64_from = 0xffffffff);

  // The pieces, one behind the other, are the content. Errors: io; invalid_argument for a name that is empty, beyond 65535 bytes or
  // there already.
  void add(std::string_view name, std::span<const std::span<const std::byte>> pieces, ZipMethod method);
  // Writes the central directory. Errors: io.
  void finish();

 private:
  struct Record {
    std::string name;
    ZipMethod method;
    uint32_t crc;
    uint64_t packed_size;
    uint64_t size;
    uint64_t offset;
  };

  [[nodiscard]] std::vector<std::byte> zip64_extra(std::span<const uint64_t> fields) const;
  void write_local_header(const Record& record);
  void write_central_header(const Record& record);

  std::string shown_;
  uint64_t zip64_from_;
  std::map<std::string, size_t, std::less<>> names_;
  std::vector<Record> records_;
  AtomicFile file_;
};

}  // namespace wick
