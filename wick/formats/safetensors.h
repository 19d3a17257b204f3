// safetensors files: named tensors in one mapped file, behind a JSON header. Definition: huggingface/safetensors, README "Format".
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wick/base/mapped_file.h"
#include "wick/formats/left_out.h"
#include "wick/layout/dtype.h"
#include "wick/layout/shape.h"

namespace wick {

struct SafetensorsTensor {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::span<const std::byte> data;         // in the mapping, at any alignment
  std::shared_ptr<const MappedFile> file;  // keeps the data alive; nullptr where they were parsed from memory
};

class SafetensorsFile {
 public:
  // Errors: not_found, io, corrupt_file; each names path, field and, where there is one, byte. A tensor that Wick has no dtype for, or
  // that has more than 8 dimensions, is one of refused(). BOOL reads as u8.
  [[nodiscard]] static SafetensorsFile open(const std::filesystem::path& path, MapAccess access = MapAccess::read_only);
  // Parses bytes that the caller keeps alive; `name` is used as the path in errors.
  [[nodiscard]] static SafetensorsFile parse(std::span<const std::byte> bytes, const std::string& name);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  // In the order of their data.
  [[nodiscard]] std::span<const SafetensorsTensor> tensors() const noexcept { return tensors_; }
  // Tensors that Wick cannot hold, and why.
  [[nodiscard]] std::span<const LeftOut> refused() const noexcept { return refused_; }
  // Errors: unsupported if any tensor was refused, naming the first: for who needs all of them.
  void require_all() const;
  // nullptr if absent or refused.
  [[nodiscard]] const SafetensorsTensor* find(std::string_view tensor) const noexcept;
  // Errors: not_found, naming file and tensor; unsupported for one of refused(), with the reason.
  [[nodiscard]] const SafetensorsTensor& get(std::string_view tensor) const;
  // The strings of "__metadata__".
  [[nodiscard]] const std::map<std::string, std::string>& metadata() const noexcept { return metadata_; }

 private:
  std::string name_;
  std::vector<SafetensorsTensor> tensors_;
  std::map<std::string, size_t, std::less<>> index_;
  std::map<std::string, std::string> metadata_;
  std::vector<LeftOut> refused_;
};

}  // namespace wick
