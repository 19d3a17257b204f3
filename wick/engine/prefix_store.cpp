// A file of the folder, <hash>.kept:
//   "WICKKEP1", fingerprint of the pool u64, identity u64, count u64, tokens i32 [count], then a sequence as KvPool::save writes it.
#include "wick/engine/prefix_store.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <utility>

#include "wick/base/atomic_file.h"
#include "wick/base/error.h"
#include "wick/base/fail.h"
#include "wick/base/hash.h"
#include "wick/base/mapped_file.h"

namespace wick {
namespace {

constexpr std::array<char, 8> kMagic = {'W', 'I', 'C', 'K', 'K', 'E', 'P', '1'};
constexpr size_t kHeaderBytes = kMagic.size() + 3 * sizeof(uint64_t);

struct Header {
  uint64_t fingerprint = 0, identity = 0, count = 0;
};

// None for a file that is something else, or not whole.
std::optional<Header> read_header(std::span<const std::byte> bytes) {
  Header header;
  if (bytes.size() < kHeaderBytes || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) return std::nullopt;
  std::memcpy(&header, bytes.data() + kMagic.size(), sizeof(header));
  if (header.count > (bytes.size() - kHeaderBytes) / sizeof(TokenId)) return std::nullopt;
  return header;
}

}  // namespace

int64_t common_length(std::span<const TokenId> left, std::span<const TokenId> right) {
  return std::mismatch(left.begin(), left.end(), right.begin(), right.end()).first - left.begin();
}

PrefixStore::PrefixStore(PrefixStoreOptions options) : options_(std::move(options)) {
  if (!options_.folder.empty()) find_files();
}

void PrefixStore::find_files() {
  std::error_code error;
  std::filesystem::create_directories(options_.folder, error);
  if (error) fail(ErrorCode::io, "{}: cannot be made a folder for kept prompts: {}", options_.folder.string(), error.message());
  std::vector<std::pair<std::filesystem::file_time_type, std::filesystem::path>> files;
  for (const auto& entry : std::filesystem::directory_iterator(options_.folder, error)) {
    if (entry.path().extension() == ".kept") files.emplace_back(entry.last_write_time(error), entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const auto& [time, path] : files) {
    try {
      const auto mapped = MappedFile::open(path);
      const std::optional<Header> header = read_header(mapped->bytes());
      if (!header || header->fingerprint != options_.fingerprint) continue;
      Entry entry{.identity = header->identity, .tokens = {}, .bytes = {}, .file = path, .file_bytes = std::ssize(mapped->bytes())};
      entry.tokens.resize(header->count);
      std::memcpy(entry.tokens.data(), mapped->bytes().data() + kHeaderBytes, header->count * sizeof(TokenId));
      folder_used_ += entry.file_bytes;
      entries_.push_front(std::move(entry));
    } catch (const Error&) {
      // Somebody else's, or gone: what is kept is no more than a cache.
    }
  }
  limit_folder();
}

PrefixStore::Entries::const_iterator PrefixStore::best(uint64_t identity, std::span<const TokenId> tokens) const {
  auto found = entries_.end();
  int64_t longest = 0;
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (entry->identity != identity) continue;
    const int64_t common = common_length(entry->tokens, tokens);
    if (common > longest) {
      longest = common;
      found = entry;
    }
  }
  return found;
}

int64_t PrefixStore::longest(uint64_t identity, std::span<const TokenId> tokens) const {
  const auto entry = best(identity, tokens);
  return entry == entries_.end() ? 0 : common_length(entry->tokens, tokens);
}

std::optional<std::vector<std::byte>> PrefixStore::load(uint64_t identity, std::span<const TokenId> tokens) {
  const auto entry = best(identity, tokens);
  if (entry == entries_.end()) return std::nullopt;
  entries_.splice(entries_.begin(), entries_, entry);
  if (!entry->bytes.empty()) return entry->bytes;
  try {
    const auto mapped = MappedFile::open(entry->file);
    const std::span<const std::byte> bytes = mapped->bytes();
    const size_t begin = kHeaderBytes + entry->tokens.size() * sizeof(TokenId);
    if (const auto header = read_header(bytes); header && header->count == entry->tokens.size()) {
      return std::vector<std::byte>(bytes.begin() + static_cast<std::ptrdiff_t>(begin), bytes.end());
    }
  } catch (const Error&) {
    // Below.
  }
  erase(entry);
  return std::nullopt;
}

bool PrefixStore::wants(uint64_t identity, std::span<const TokenId> tokens) const {
  return enabled() && longest(identity, tokens) < std::ssize(tokens);
}

void PrefixStore::put(uint64_t identity, std::span<const TokenId> tokens, std::vector<std::byte> bytes) {
  if (!wants(identity, tokens)) return;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    const bool is_part = entry->identity == identity && common_length(entry->tokens, tokens) == std::ssize(entry->tokens);
    if (is_part) erase(entry);
    entry = next;
  }
  Entry entry{.identity = identity, .tokens = {tokens.begin(), tokens.end()}, .bytes = std::move(bytes), .file = {}, .file_bytes = 0};
  memory_used_ += std::ssize(entry.bytes);
  entries_.push_front(std::move(entry));
  limit_memory();
}

void PrefixStore::limit_memory() {
  for (auto entry = entries_.end(); entry != entries_.begin() && memory_used_ > options_.memory_bytes;) {
    --entry;
    if (entry->bytes.empty()) continue;
    if (write(*entry)) {
      drop_bytes(*entry);
    } else {
      const auto next = std::next(entry);
      erase(entry);
      entry = next;
    }
  }
  limit_folder();
}

void PrefixStore::limit_folder() {
  for (auto entry = entries_.end(); entry != entries_.begin() && folder_used_ > options_.folder_bytes;) {
    --entry;
    if (entry->file.empty()) continue;
    const auto next = std::next(entry);
    erase(entry);
    entry = next;
  }
}

bool PrefixStore::write(Entry& entry) {
  if (options_.folder.empty()) return false;
  if (!entry.file.empty()) return true;
  const Header header{options_.fingerprint, entry.identity, entry.tokens.size()};
  const auto tokens = std::as_bytes(std::span(entry.tokens));
  const uint64_t name = split_mix(fnv1a(fnv1a(fnv1a(kFnvBasis, tokens), header.identity), header.fingerprint));
  const std::filesystem::path path = options_.folder / fmt::format("{:016x}.kept", name);
  try {
    AtomicFile file(path);
    file.write(std::as_bytes(std::span(kMagic)));
    file.write(std::as_bytes(std::span(&header, 1)));
    file.write(tokens);
    file.write(entry.bytes);
    file.commit();
    entry.file = path;
    entry.file_bytes = static_cast<int64_t>(file.size());
    folder_used_ += entry.file_bytes;
    return true;
  } catch (const Error&) {
    // The hook of base/error.h has told it; a cache that cannot be written is no reason to end a request.
    return false;
  }
}

void PrefixStore::drop_bytes(Entry& entry) {
  memory_used_ -= std::ssize(entry.bytes);
  entry.bytes = {};
}

void PrefixStore::erase(Entries::const_iterator entry) {
  memory_used_ -= std::ssize(entry->bytes);
  if (!entry->file.empty()) {
    std::error_code error;
    folder_used_ -= entry->file_bytes;
    std::filesystem::remove(entry->file, error);
  }
  entries_.erase(entry);
}

void PrefixStore::flush() {
  for (Entry& entry : entries_) {
    if (!entry.bytes.empty()) (void)write(entry);
  }
  limit_folder();
}

void PrefixStore::clear() {
  while (!entries_.empty()) erase(entries_.begin());
}

}  // namespace wick
