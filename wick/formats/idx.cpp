#include "wick/formats/idx.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <span>
#include <string>
#include <system_error>

#include "wick/base/fail.h"

namespace wick {
namespace {

constexpr uint64_t kLargest = uint64_t{1} << 30;
constexpr uint64_t kChunk = uint64_t{1} << 20;
constexpr int kMaxDims = 4;
constexpr uint8_t kUnsignedByte = 0x08;

// gzread reads plain files too.
class GzipFile {
 public:
  explicit GzipFile(const std::filesystem::path& path) : name_(path.string()), file_(gzopen(name_.c_str(), "rb"), gzclose) {
    if (file_ == nullptr) fail(ErrorCode::not_found, "{}: cannot be opened; check the path", name_);
  }

  void read(std::span<uint8_t> target) {
    const size_t count = read_some(target);
    if (count == target.size()) return;
    fail(ErrorCode::corrupt_file, "{}: truncated: {} more bytes were expected", name_, target.size() - count);
  }
  uint32_t read_number() {
    uint8_t bytes[4];
    read(bytes);
    return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
  }
  [[nodiscard]] bool at_end() {
    uint8_t byte = 0;
    return read_some(std::span(&byte, 1)) == 0;
  }

 private:
  // The remaining bytes, if they are fewer than requested.
  size_t read_some(std::span<uint8_t> target) {
    const int count = gzread(file_.get(), target.data(), static_cast<unsigned>(target.size()));
    if (count >= 0) return static_cast<size_t>(count);
    int error = 0;
    const char* message = gzerror(file_.get(), &error);  // begins with the path
    if (error == Z_ERRNO) fail(ErrorCode::io, "{}: cannot be read: {}", name_, std::generic_category().message(errno));
    fail(ErrorCode::corrupt_file, "{}: the compressed file is damaged; download it again", message);
  }

  std::string name_;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
};

}  // namespace

IdxArray read_idx(const std::filesystem::path& path) {
  GzipFile file(path);
  const std::string name = path.string();
  const uint32_t magic = file.read_number();
  const uint32_t type = magic >> 8 & 0xff;
  const uint32_t rank = magic & 0xff;
  if (magic >> 16 != 0 || rank < 1 || rank > kMaxDims)
    fail(ErrorCode::corrupt_file, "{}: not an IDX file (it starts with {:#010x})", name, magic);
  if (type != kUnsignedByte) fail(ErrorCode::unsupported, "{}: elements of IDX type {:#x}; only bytes (0x8) are read", name, type);
  IdxArray array;
  uint64_t bytes = 1;
  for (uint32_t i = 0; i < rank; ++i) {
    const uint32_t extent = file.read_number();
    array.dims.push_back(extent);
    bytes *= extent;  // at most 2^30 before, 2^32 now
    if (bytes > kLargest) fail(ErrorCode::corrupt_file, "{}: says that it has more than 1 GiB of elements", name);
  }
  // By chunks: a file of a few bytes gets no memory for the elements that it only claims.
  for (uint64_t done = 0; done < bytes; done = array.values.size()) {
    array.values.resize(std::min(done + kChunk, bytes));
    file.read(std::span(array.values).subspan(done));
  }
  if (!file.at_end()) fail(ErrorCode::corrupt_file, "{}: has bytes after its {} elements", name, bytes);
  return array;
}

}  // namespace wick
