#include "wick/formats/npy.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "wick/base/fail.h"
#include "wick/base/mapped_file.h"
#include "wick/formats/npy_header.h"
#include "wick/layout/layout.h"

namespace wick {
namespace {

void swap_bytes(std::span<std::byte> elements, size_t element_bytes) {
  for (; !elements.empty(); elements = elements.subspan(element_bytes)) {
    std::reverse(elements.begin(), elements.begin() + static_cast<ptrdiff_t>(element_bytes));
  }
}

// From the first index moving fastest to the last one.
std::vector<std::byte> to_row_major(std::span<const std::byte> data, const Shape& shape, size_t element_bytes) {
  std::array<int64_t, kMaxRank> strides{};
  int64_t stride = 1;
  for (int dim = 0; dim < shape.rank(); ++dim) {
    strides[static_cast<size_t>(dim)] = stride;
    stride *= shape[dim];
  }
  std::vector<std::byte> row_major(data.size());
  std::byte* target = row_major.data();
  const Layout layout(shape, std::span(strides).first(static_cast<size_t>(shape.rank())), 0);
  for_each_offset(layout, [&](int64_t element) {
    std::memcpy(target, data.data() + static_cast<size_t>(element) * element_bytes, element_bytes);
    target += element_bytes;
  });
  return row_major;
}

}  // namespace

NpyArray read_npy_array(const std::filesystem::path& path) { return parse_npy(MappedFile::open(path)->bytes(), path.string()); }

NpyArray parse_npy(std::span<const std::byte> bytes, const std::string& name) {
  const NpyHeader header = parse_npy_header(bytes, name);
  NpyArray array{.dtype = header.dtype, .shape = header.shape, .data = {}};
  const std::span<const std::byte> data = bytes.subspan(header.data_offset);
  const auto element_bytes = static_cast<size_t>(info(array.dtype).block_bytes);
  check_npy_size(header, data.size(), name);
  if (header.fortran_order) {
    array.data = to_row_major(data, array.shape, element_bytes);
  } else {
    array.data.assign(data.begin(), data.end());
  }
  if (header.big_endian) swap_bytes(array.data, element_bytes);
  return array;
}

NpyWriter::NpyWriter(const std::filesystem::path& path, DType dtype, const Shape& shape) : name_(path.string()), file_(path) {
  const std::string header = npy_header_text(dtype, shape, name_);
  missing_ = static_cast<uint64_t>(storage_bytes(dtype, shape.elements()));
  file_.write(std::as_bytes(std::span(header)));
}

void NpyWriter::append(std::span<const std::byte> bytes) {
  if (bytes.size() > missing_) fail(ErrorCode::invalid_argument, "{}: {} bytes given, only {} are missing", name_, bytes.size(), missing_);
  file_.write(bytes);
  missing_ -= bytes.size();
}

void NpyWriter::finish() {
  if (missing_ != 0) fail(ErrorCode::invalid_argument, "{}: {} bytes of the array were not given", name_, missing_);
  file_.commit();
}

void write_npy(const std::filesystem::path& path, DType dtype, const Shape& shape, std::span<const std::byte> data) {
  NpyWriter writer(path, dtype, shape);
  writer.append(data);
  writer.finish();
}

}  // namespace wick
