// A GgufWriter collects metadata and tensors and writes them as a GGUF file, version 3. Tensor bytes are requested one tensor after
// another while the file is written, so they never need to be in memory together.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "wick/base/atomic_file.h"
#include "wick/base/hash.h"
#include "wick/formats/gguf.h"
#include "wick/layout/dtype.h"
#include "wick/layout/shape.h"

namespace wick {

class GgufWriter {
 public:
  // Takes the next bytes of a tensor.
  using Sink = std::function<void(std::span<const std::byte>)>;
  // Hands all bytes of a tensor to the sink, in order and in pieces of any size.
  using Producer = std::function<void(const Sink& sink)>;

  // Appends a metadata entry; the value is copied. `general.alignment` sets the file's alignment as well.
  // Errors: invalid_argument for a key that is empty, too long or there already, for a bad alignment, and for an array whose members
  // disagree (its size with its elements).
  void add(std::string_view key, const GgufValue& value);

  void add_uint(std::string_view key, uint32_t value) { add(key, {value}); }
  void add_float(std::string_view key, float value) { add(key, {value}); }
  void add_bool(std::string_view key, bool value) { add(key, {value}); }
  void add_string(std::string_view key, std::string_view value) { add(key, {value}); }
  void add_strings(std::string_view key, std::span<const std::string> values);
  // T: any number type of GgufType.
  template <class T>
  void add_array(std::string_view key, std::span<const T> values);

  // Appends a tensor; shape: outermost first. The span must stay alive until write() returns.
  // Errors: invalid_argument (an empty name, one beyond 63 bytes or there already, rows that are no multiple of the block, a rank
  // above 4), unsupported (a dtype that GGUF files cannot hold).
  void add_tensor(std::string_view name, DType dtype, const Shape& shape, Producer producer);
  void add_tensor(std::string_view name, DType dtype, const Shape& shape, std::span<const std::byte> data);

  // The file without its tensors.
  [[nodiscard]] std::vector<std::byte> metadata_file() const;

  // Writes the file; on an error the target is as it was before. Errors: not_found, io; invalid_argument if a producer hands out too
  // few or too many bytes; whatever a producer throws.
  void write(const std::filesystem::path& path) const;
  // The same into a file that the caller commits.
  void write(AtomicFile& file) const;

 private:
  struct Tensor {
    std::string name;
    DType dtype;
    Shape shape;
    Producer producer;
  };

  // The header and the metadata.
  [[nodiscard]] std::vector<std::byte> begin(uint64_t tensors) const;

  std::vector<std::byte> metadata_;  // as written to the file
  uint64_t metadata_count_ = 0;
  uint64_t alignment_ = 32;
  std::unordered_set<std::string, KeyedHash> keys_;
  std::unordered_set<std::string, KeyedHash> tensor_names_;
  std::vector<Tensor> tensors_;
};

}  // namespace wick
