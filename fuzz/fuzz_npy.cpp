// Reads any bytes as an npy file and as an npz archive; only wick::Error may come of it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "outcome.h"
#include "wick/base/error.h"
#include "wick/formats/npy.h"
#include "wick/formats/npz.h"

namespace {

// What was read goes here, so that no read is optimized away.
volatile uint64_t sink = 0;

void consume(uint64_t value) { sink = sink + value; }

// Whether the action went through; an Error is a refusal, and nothing else may be thrown.
template <class Action>
bool accepted(Action&& action) {
  try {
    action();
    return true;
  } catch (const wick::Error& error) {
    consume(std::string_view(error.what()).size());
    return false;
  }
}

void walk(const wick::NpyArray& array) {
  if (array.data.size() != static_cast<size_t>(wick::storage_bytes(array.dtype, array.shape.elements()))) std::abort();
  for (const std::byte byte : array.data) consume(std::to_integer<uint64_t>(byte));
}

void walk(const wick::NpzFile& file) {
  for (const std::string& name : file.names()) {
    if (!file.contains(name)) std::abort();
    const bool has_header = accepted([&] { consume(static_cast<uint64_t>(file.header(name).shape.rank())); });
    const bool has_array = accepted([&] { walk(file.read(name)); });
    // The header alone is read without the CRC, so it may pass where the array does not.
    if (has_array && !has_header) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const bool is_array = accepted([&] { walk(wick::parse_npy(bytes, "input")); });
  const bool is_archive = accepted([&] { walk(wick::NpzFile::parse(bytes, "input")); });
  ++(is_array || is_archive ? wick::fuzz::outcome.accepted : wick::fuzz::outcome.refused);
  return 0;
}
