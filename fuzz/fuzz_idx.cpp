// Reads any bytes as an IDX file, plain or compressed; only wick::Error may come of it.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "outcome.h"
#include "wick/base/error.h"
#include "wick/formats/idx.h"

namespace {

// A file in memory with these bytes, by a path of its own.
class MemoryFile {
 public:
  MemoryFile(const uint8_t* data, size_t size) : descriptor_(::memfd_create("input", 0)) {
    if (descriptor_ < 0 || ::write(descriptor_, data, size) != static_cast<ssize_t>(size)) std::abort();
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(descriptor_); }

  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const MemoryFile file(data, size);
  try {
    const wick::IdxArray array = wick::read_idx(file.path());
    int64_t elements = 1;
    for (const int64_t extent : array.dims) elements *= extent;
    if (array.dims.empty() || array.values.size() != static_cast<size_t>(elements)) std::abort();
    ++wick::fuzz::outcome.accepted;
  } catch (const wick::Error&) {
    ++wick::fuzz::outcome.refused;
  }
  return 0;
}
