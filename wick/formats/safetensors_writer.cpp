#include "wick/formats/safetensors_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "wick/base/atomic_file.h"
#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/base/utf8.h"
#include "wick/formats/printable.h"
#include "wick/formats/safetensors_dtype.h"

namespace wick {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr size_t kMaxWrittenHeaderBytes = 100'000'000;  // the reference implementation's limit
constexpr size_t kAlignment = 8;                        // of the data's beginning

uint64_t size_of(DType dtype, const Shape& shape) { return static_cast<uint64_t>(storage_bytes(dtype, shape.elements())); }

// JSON holds nothing else.
void check_utf8(std::string_view text) {
  if (!is_valid_utf8(text)) fail(ErrorCode::invalid_argument, "safetensors: {}: not UTF-8; name it otherwise", printable(text));
}

}  // namespace

void SafetensorsWriter::add_metadata(std::string_view key, std::string_view value) {
  check_utf8(key);
  check_utf8(value);
  if (!metadata_.emplace(key, value).second) {
    fail(ErrorCode::invalid_argument, "safetensors: metadata {} is there already; add it once", printable(key));
  }
}

void SafetensorsWriter::add_tensor(std::string_view name, DType dtype, const Shape& shape, Producer producer) {
  check_utf8(name);
  if (name == "__metadata__") fail(ErrorCode::invalid_argument, "safetensors: no tensor can be called '__metadata__'; name it otherwise");
  if (!safetensors_name(dtype)) {
    fail(ErrorCode::unsupported, "safetensors: tensor {}: the format has no dtype {}; convert it to f32 or write a GGUF file",
         printable(name), to_string(dtype));
  }
  if (!names_.emplace(name).second) {
    fail(ErrorCode::invalid_argument, "safetensors: tensor {} is there already; add it once", printable(name));
  }
  tensors_.push_back({.name = std::string(name), .dtype = dtype, .shape = shape, .producer = std::move(producer)});
}

void SafetensorsWriter::add_tensor(std::string_view name, DType dtype, const Shape& shape, std::span<const std::byte> data) {
  if (safetensors_name(dtype) && data.size() != size_of(dtype, shape)) {
    fail(ErrorCode::invalid_argument, "safetensors: tensor {}: {} bytes given for shape {} as {}", printable(name), data.size(),
         shape.to_string(), to_string(dtype));
  }
  add_tensor(name, dtype, shape, [data](const Sink& sink) { sink(data); });
}

void SafetensorsWriter::write(const std::filesystem::path& path) const {
  std::vector<const Tensor*> all;
  for (const Tensor& tensor : tensors_) all.push_back(&tensor);
  write_tensors(path, all);
}

void SafetensorsWriter::write_tensors(const std::filesystem::path& path, std::span<const Tensor* const> tensors) const {
  std::vector<const Tensor*> ordered(tensors.begin(), tensors.end());
  std::sort(ordered.begin(), ordered.end(), [](const Tensor* lhs, const Tensor* rhs) {
    return std::tuple(-safetensors_rank(lhs->dtype), std::string_view(lhs->name)) <
           std::tuple(-safetensors_rank(rhs->dtype), std::string_view(rhs->name));
  });

  std::string header = "{";
  if (!metadata_.empty()) header += "\"__metadata__\":" + json_text(OrderedJson(metadata_)) + ',';
  uint64_t begin = 0;
  for (const Tensor* tensor : ordered) {
    const uint64_t end = begin + size_of(tensor->dtype, tensor->shape);
    header += fmt::format(R"({}:{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}},)", json_text(OrderedJson(tensor->name)),
                          *safetensors_name(tensor->dtype),
                          json_text(OrderedJson(std::vector(tensor->shape.dims().begin(), tensor->shape.dims().end()))), begin, end);
    begin = end;
  }
  if (header.back() == ',') header.pop_back();
  header += '}';
  header.append((kAlignment - header.size() % kAlignment) % kAlignment, ' ');
  if (header.size() > kMaxWrittenHeaderBytes) {
    fail(ErrorCode::unsupported, "{}: the header would take {} bytes, {} are allowed; write fewer tensors into a file", path.string(),
         header.size(), kMaxWrittenHeaderBytes);
  }

  AtomicFile file(path);
  const uint64_t header_bytes = header.size();
  file.write(std::as_bytes(std::span(&header_bytes, 1)));  // little-endian
  file.write(std::as_bytes(std::span(header)));
  for (const Tensor* tensor : ordered) {
    uint64_t missing = size_of(tensor->dtype, tensor->shape);
    tensor->producer([&](std::span<const std::byte> bytes) {
      if (bytes.size() > missing) {
        fail(ErrorCode::invalid_argument, "{}: tensor {}: {} bytes given, only {} are missing", path.string(), printable(tensor->name),
             bytes.size(), missing);
      }
      file.write(bytes);
      missing -= bytes.size();
    });
    if (missing != 0) {
      fail(ErrorCode::invalid_argument, "{}: tensor {}: {} bytes were not given", path.string(), printable(tensor->name), missing);
    }
  }
  file.commit();
}

std::filesystem::path SafetensorsWriter::write_sharded(const std::filesystem::path& folder, uint64_t max_shard_bytes,
                                                       std::string_view stem) const {
  std::vector<std::vector<const Tensor*>> shards(1);
  uint64_t shard_bytes = 0;
  uint64_t total_bytes = 0;
  for (const Tensor& tensor : tensors_) {
    const uint64_t bytes = size_of(tensor.dtype, tensor.shape);
    if (!shards.back().empty() && (bytes > max_shard_bytes || shard_bytes > max_shard_bytes - bytes)) {
      shards.emplace_back();
      shard_bytes = 0;
    }
    shards.back().push_back(&tensor);
    shard_bytes += bytes;
    total_bytes += bytes;
  }
  if (shards.size() == 1) {
    std::filesystem::path path = folder / fmt::format("{}.safetensors", stem);
    write_tensors(path, shards.front());
    return path;
  }
  std::map<std::string, std::string> weight_map;
  for (size_t index = 0; index < shards.size(); ++index) {
    const std::string name = fmt::format("{}-{:05}-of-{:05}.safetensors", stem, index + 1, shards.size());
    write_tensors(folder / name, shards[index]);
    for (const Tensor* tensor : shards[index]) weight_map.emplace(tensor->name, name);
  }
  // Last, so that an index never names a shard that is not there.
  std::filesystem::path path = folder / fmt::format("{}.safetensors.index.json", stem);
  const std::string text = json_text(OrderedJson({{"metadata", {{"total_size", total_bytes}}}, {"weight_map", weight_map}}), 2) + '\n';
  AtomicFile index(path);
  index.write(std::as_bytes(std::span(text)));
  index.commit();
  return path;
}

}  // namespace wick
