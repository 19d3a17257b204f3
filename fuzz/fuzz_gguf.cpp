// Reads any bytes as a GGUF file and uses everything that the reader hands out; only wick::Error may come of it.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "outcome.h"
#include "wick/base/error.h"
#include "wick/formats/gguf.h"
#include "wick/formats/gguf_type.h"
#include "wick/quant/block_format.h"

namespace {

// What was read goes here, so that no read is optimized away.
volatile uint64_t sink = 0;

void consume(uint64_t value) { sink = sink + value; }

// An accessor may refuse a value of another kind; nothing else may happen.
template <class Access>
void refusable(Access&& access) {
  try {
    access();
  } catch (const wick::Error& error) {
    consume(std::string_view(error.what()).size());
  }
}

void walk(const wick::GgufArray& array) {
  for (const std::string_view text : array.strings) {
    for (const char byte : text) consume(static_cast<uint8_t>(byte));
  }
  refusable([&] { consume(array.to_vector<int32_t>().size()); });
  refusable([&] { consume(array.to_vector<uint32_t>().size()); });
  refusable([&] { consume(array.to_vector<int64_t>().size()); });
  refusable([&] { consume(array.to_vector<float>().size()); });
  for (const wick::GgufArray& inner : array.arrays) walk(inner);
}

void walk(const wick::GgufFile& file) {
  for (const auto& [key, value] : file.metadata()) {
    consume(to_string(value.type()).size());
    refusable([&, &key = key] { consume(*file.find_uint(key)); });
    refusable([&, &key = key] { consume(*file.find_float(key) > 0 ? 1 : 0); });
    refusable([&, &key = key] { consume(*file.find_bool(key) ? 1 : 0); });
    refusable([&, &key = key] { consume(file.find_string(key)->size()); });
    refusable([&, &key = key] { walk(file.get_array(key)); });
  }
  refusable([&] { consume(file.get_uint("absent")); });
  for (const wick::GgufTensor& tensor : file.tensors()) {
    consume(file.find_tensor(tensor.name) == &tensor ? 1 : 0);
    consume(ggml_name(tensor.dtype).size());
    if (tensor.data.empty()) continue;
    consume(std::to_integer<uint64_t>(tensor.data.front()) + std::to_integer<uint64_t>(tensor.data.back()));
    const wick::BlockFormat* format = wick::find_block_format(tensor.dtype);
    if (format == nullptr) continue;
    std::vector<float> row(static_cast<size_t>(tensor.shape.last()));
    format->unpack(tensor.data.data(), row);
    consume(row.back() > 0 ? 1 : 0);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    walk(wick::GgufFile::parse(std::as_bytes(std::span(data, size)), "input"));
    ++wick::fuzz::outcome.accepted;
  } catch (const wick::Error&) {
    ++wick::fuzz::outcome.refused;
  }
  return 0;
}
