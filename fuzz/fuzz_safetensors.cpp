// Reads any bytes as a safetensors file, and as the index of a sharded one; only wick::Error may come of it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "outcome.h"
#include "wick/base/error.h"
#include "wick/formats/safetensors.h"
#include "wick/formats/safetensors_dtype.h"
#include "wick/formats/sharded_safetensors.h"

namespace {

// What was read goes here, so that no read is optimized away.
volatile uint64_t sink = 0;

void consume(uint64_t value) { sink = sink + value; }

void require(bool promise) {
  if (!promise) std::abort();
}

void walk(const wick::SafetensorsFile& file) {
  for (const auto& [key, value] : file.metadata()) consume(key.size() + value.size());
  for (const wick::SafetensorsTensor& tensor : file.tensors()) {
    require(file.find(tensor.name) == &tensor);
    require(wick::safetensors_name(tensor.dtype).has_value());
    require(tensor.data.size() == static_cast<size_t>(wick::storage_bytes(tensor.dtype, tensor.shape.elements())));
    if (!tensor.data.empty()) consume(std::to_integer<uint64_t>(tensor.data.front()) + std::to_integer<uint64_t>(tensor.data.back()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  bool accepted = false;
  try {
    walk(wick::SafetensorsFile::parse(bytes, "input"));
    accepted = true;
  } catch (const wick::Error& error) {
    consume(std::string_view(error.what()).size());
  }
  try {
    for (const auto& [tensor, shard] : wick::parse_safetensors_index(bytes, "input")) {
      require(!shard.empty() && shard.find('/') == std::string::npos && shard != "..");
      consume(tensor.size());
    }
    accepted = true;
  } catch (const wick::Error& error) {
    consume(std::string_view(error.what()).size());
  }
  ++(accepted ? wick::fuzz::outcome.accepted : wick::fuzz::outcome.refused);
  return 0;
}
