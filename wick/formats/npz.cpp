#include "wick/formats/npz.h"

#include <array>
#include <utility>

#include "wick/base/fail.h"
#include "wick/formats/printable.h"

namespace wick {
namespace {

constexpr std::string_view kSuffix = ".npy";
// Every header of version 1 fits, and those of versions 2 and 3 that say nothing but a dtype and a shape.
constexpr size_t kHeaderBytes = 10 + 0xffff;

}  // namespace

NpzFile::NpzFile(ZipFile zip) : zip_(std::move(zip)) {
  for (const ZipEntry& entry : zip_.entries()) {
    if (entry.name.ends_with(kSuffix)) names_.push_back(entry.name.substr(0, entry.name.size() - kSuffix.size()));
  }
}

const ZipEntry& NpzFile::require(std::string_view array) const {
  const ZipEntry* entry = entry_of(array);
  if (entry == nullptr) fail(ErrorCode::not_found, "{}: no array {}; check the name", zip_.name(), printable(array));
  return *entry;
}

NpyHeader NpzFile::header(std::string_view array) const {
  const ZipEntry& entry = require(array);
  const std::string name = zip_.name() + ": array " + printable(array);
  const NpyHeader header = parse_npy_header(zip_.read_prefix(entry, kHeaderBytes), name);
  check_npy_size(header, entry.size - header.data_offset, name);
  return header;
}

NpyArray NpzFile::read(std::string_view array) const {
  const ZipEntry& entry = require(array);
  return parse_npy(zip_.read(entry), zip_.name() + ": array " + printable(array));
}

void NpzWriter::add(std::string_view array, DType dtype, const Shape& shape, std::span<const std::byte> data) {
  const std::string header = npy_header_text(dtype, shape, name_ + ": array " + printable(array));
  if (data.size() != static_cast<size_t>(storage_bytes(dtype, shape.elements()))) {
    fail(ErrorCode::invalid_argument, "{}: array {}: {} bytes given for shape {} as {}", name_, printable(array), data.size(),
         shape.to_string(), to_string(dtype));
  }
  const std::span<const std::byte> pieces[] = {std::as_bytes(std::span(header)), data};
  zip_.add(std::string(array) + std::string(kSuffix), pieces, method_);
}

}  // namespace wick
