// IDX files, as MNIST comes in: an array of bytes with its extents, plain or compressed by gzip.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace wick {

struct IdxArray {
  std::vector<int64_t> dims;
  std::vector<uint8_t> values;  // row-major
};

// Format: yann.lecun.com/exdb/mnist. Errors: not_found; unsupported for elements that are not bytes; corrupt_file for another magic number,
// more than 4 dimensions, a file that ends early or has bytes left, and one of more than 1 GiB.
[[nodiscard]] IdxArray read_idx(const std::filesystem::path& path);

}  // namespace wick
