// Reads any bytes as an importance matrix, in either form, and writes and reads it again; only wick::Error may come of it.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "outcome.h"
#include "wick/base/error.h"
#include "wick/formats/importance_matrix.h"

namespace {

volatile double sink = 0;

// A file of this process, removed at its end.
const std::filesystem::path& file_named(const char* ending) {
  static const std::filesystem::path gguf = std::filesystem::temp_directory_path() / ("wick-fuzz-" + std::to_string(::getpid()) + ".gguf");
  static const std::filesystem::path dat = std::filesystem::path(gguf).replace_extension(".dat");
  static const int at_exit = std::atexit([] {
    std::error_code ignored;
    std::filesystem::remove(gguf, ignored);
    std::filesystem::remove(dat, ignored);
  });
  (void)at_exit;
  return *ending == 'g' ? gguf : dat;
}

void use(const wick::ImportanceMatrix& matrix) {
  for (const auto& [name, entry] : matrix.entries) {
    if (matrix.find(name) != &entry) std::abort();
    for (const float mean : entry.means()) sink = sink + mean;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::filesystem::path& path = file_named("gguf");
  {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  }
  try {
    const wick::ImportanceMatrix matrix = wick::ImportanceMatrix::read(path);
    use(matrix);
    for (const char* ending : {"gguf", "dat"}) {
      matrix.write(file_named(ending));
      use(wick::ImportanceMatrix::read(file_named(ending)));
    }
    ++wick::fuzz::outcome.accepted;
  } catch (const wick::Error&) {
    ++wick::fuzz::outcome.refused;
  }
  return 0;
}
