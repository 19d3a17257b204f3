// A SafetensorsWriter collects tensors and writes them as one safetensors file, or as several with an index. The same tensors and
// metadata give the same bytes, those of the reference implementation. Tensor bytes are requested one tensor after another while a
// file is written, so they never need to be in memory together.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "wick/base/hash.h"
#include "wick/layout/dtype.h"
#include "wick/layout/shape.h"

namespace wick {

class SafetensorsWriter {
 public:
  // Takes the next bytes of a tensor.
  using Sink = std::function<void(std::span<const std::byte>)>;
  // Hands all bytes of a tensor, row-major and little-endian, to the sink, in order and in pieces of any size.
  using Producer = std::function<void(const Sink& sink)>;

  // An entry of "__metadata__". Errors: invalid_argument for a key that is there already or text that is not UTF-8.
  void add_metadata(std::string_view key, std::string_view value);

  // Errors: invalid_argument (a name that is there already, is "__metadata__" or not UTF-8; a span of another size than the shape's),
  // unsupported (a quantized dtype). The span must stay alive until the file is written.
  void add_tensor(std::string_view name, DType dtype, const Shape& shape, Producer producer);
  void add_tensor(std::string_view name, DType dtype, const Shape& shape, std::span<const std::byte> data);

  // Writes one file; on an error the target is as it was before. Errors: not_found, io; unsupported for a header beyond 100 MB;
  // invalid_argument if a producer hands out too few or too many bytes; whatever a producer throws.
  void write(const std::filesystem::path& path) const;

  // Writes FOLDER/STEM.safetensors; or, where the tensors take more than max_shard_bytes, the shards
  // FOLDER/STEM-00001-of-0000N.safetensors, filled in the order in which the tensors were added, and then
  // FOLDER/STEM.safetensors.index.json. A larger tensor has a shard to itself. Returns the path to open. Errors: as write().
  std::filesystem::path write_sharded(const std::filesystem::path& folder, uint64_t max_shard_bytes, std::string_view stem = "model") const;

 private:
  struct Tensor {
    std::string name;
    DType dtype;
    Shape shape;
    Producer producer;
  };

  void write_tensors(const std::filesystem::path& path, std::span<const Tensor* const> tensors) const;

  std::map<std::string, std::string> metadata_;
  std::unordered_set<std::string, KeyedHash> names_;
  std::vector<Tensor> tensors_;
};

}  // namespace wick
