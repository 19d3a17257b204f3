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
  // Errors: not_found, io, corrupt_file, unsupported (a dtype that Wick has not; BOOL reads as u8); each names path, field and, where there
  // is one, byte.
  [[nodiscard]] static SafetensorsFile open(const std::filesystem::path& path, MapAccess access = MapAccess::read_only);
  // Parses bytes that the caller keeps alive; `name` stands for the path in errors.
  [[nodiscard]] static SafetensorsFile parse(std::span<const std::byte> bytes, const std::string& name);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  // In the order of their data.
  [[nodiscard]] std::span<const SafetensorsTensor> tensors() const noexcept { return tensors_; }
  // nullptr if absent.
  [[nodiscard]] const SafetensorsTensor* find(std::string_view tensor) const noexcept;
  // Errors: not_found, naming file and tensor.
  [[nodiscard]] const SafetensorsTensor& get(std::string_view tensor) const;
  // The strings of "__metadata__".
  [[nodiscard]] const std::map<std::string, std::string>& metadata() const noexcept { return metadata_; }

 private:
  std::string name_;
  std::vector<SafetensorsTensor> tensors_;
  std::map<std::string, size_t, std::less<>> index_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace wick
