#include "wick/device/program_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include "wick/base/atomic_file.h"
#include "wick/base/error.h"
#include "wick/base/file_lock.h"
#include "wick/base/hash.h"
#include "wick/base/log.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".program";
constexpr uint64_t kMagic = 0x31'50'4b'43'49'57;  // "WICKP1", the first letter lowest

// What an entry begins with; its key and its binary follow.
struct Header {
  uint64_t magic = kMagic;
  uint64_t key_bytes = 0;
  uint64_t binary_bytes = 0;
  uint64_t checksum = 0;  // of key and binary
};

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

uint64_t checksum_of(std::string_view key, std::span<const std::byte> binary) { return fnv1a(fnv1a(kFnvBasis, bytes_of(key)), binary); }

// The whole file; nothing if it is not there or cannot be read.
std::vector<std::byte> read_file(const fs::path& path) {
  // A folder of that name has no size, and a FIFO would wait for a writer.
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return {};
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : 0;
  std::vector<std::byte> bytes(static_cast<size_t>(std::max<std::streamoff>(size, 0)));
  file.seekg(0);
  if (!file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()))) return {};
  return bytes;
}

}  // namespace

std::optional<std::span<const std::byte>> binary_of_entry(std::span<const std::byte> entry, std::string_view key) {
  Header header;
  if (entry.size() < sizeof(header)) return std::nullopt;
  std::memcpy(&header, entry.data(), sizeof(header));
  const std::span<const std::byte> rest = entry.subspan(sizeof(header));
  const bool whole = header.magic == kMagic && header.key_bytes == key.size() && header.key_bytes <= rest.size() &&
                     header.binary_bytes == rest.size() - header.key_bytes;
  if (!whole || std::memcmp(rest.data(), key.data(), key.size()) != 0) return std::nullopt;
  const std::span<const std::byte> binary = rest.subspan(key.size());
  return checksum_of(key, binary) == header.checksum ? std::optional(binary) : std::nullopt;
}

ProgramCache::ProgramCache(fs::path folder, uint64_t max_bytes) : folder_(std::move(folder)), max_bytes_(max_bytes) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) give_up(error.message());
}

// The name is two hashes of the key, so that different keys hardly ever take turns at one file.
fs::path ProgramCache::path_of(std::string_view key) const {
  const uint64_t first = fnv1a(kFnvBasis, bytes_of(key)), second = fnv1a(first ^ key.size(), bytes_of(key));
  return folder_ / fmt::format("{:016x}{:016x}{}", first, second, kSuffix);
}

void ProgramCache::give_up(std::string_view what) {
  if (!std::exchange(writable_, false)) return;
  log_warning("programs are not kept in {}: {}", folder_.string(), what);
}

std::optional<std::vector<std::byte>> ProgramCache::find(std::string_view key) {
  const std::lock_guard lock(mutex_);
  const fs::path path = path_of(key);
  const std::vector<std::byte> bytes = read_file(path);
  const std::optional<std::span<const std::byte>> binary = binary_of_entry(bytes, key);
  if (!binary) return std::nullopt;
  std::error_code ignored;
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);  // it was used now
  return std::vector<std::byte>(binary->begin(), binary->end());
}

void ProgramCache::store(std::string_view key, std::span<const std::byte> binary) {
  const std::lock_guard lock(mutex_);
  if (!writable_ || sizeof(Header) + key.size() + binary.size() > max_bytes_) return;
  const Header header{.key_bytes = key.size(), .binary_bytes = binary.size(), .checksum = checksum_of(key, binary)};
  try {
    AtomicFile file(path_of(key));
    file.write(std::as_bytes(std::span(&header, 1)));
    file.write(bytes_of(key));
    file.write(binary);
    file.commit();
    shrink();
  } catch (const Error& error) {
    give_up(error.what());
  }
}

void ProgramCache::erase(std::string_view key) {
  const std::lock_guard lock(mutex_);
  std::error_code ignored;
  fs::remove(path_of(key), ignored);
}

void ProgramCache::shrink() {
  struct Entry {
    fs::path path;
    fs::file_time_type used;
    uint64_t bytes;
  };
  const auto list = [&] {
    std::vector<Entry> entries;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_, error)) {
      if (entry.path().extension() != kSuffix) continue;
      std::error_code gone;  // another process may have removed it meanwhile
      const uint64_t bytes = entry.file_size(gone);
      const fs::file_time_type used = entry.last_write_time(gone);
      if (!gone) entries.push_back({entry.path(), used, bytes});
    }
    return entries;
  };
  const auto total = [](const std::vector<Entry>& entries) {
    uint64_t bytes = 0;
    for (const Entry& entry : entries) bytes += entry.bytes;
    return bytes;
  };
  if (total(list()) <= max_bytes_) return;
  const FileLock lock(folder_ / "lock");
  std::vector<Entry> entries = list();
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  // Down to three quarters, so that it is not done again at once.
  uint64_t bytes = total(entries);
  for (const Entry& entry : entries) {
    if (bytes <= max_bytes_ / 4 * 3) break;
    std::error_code ignored;
    fs::remove(entry.path, ignored);
    bytes -= entry.bytes;
  }
}

}  // namespace wick
