// A ShardedSafetensors is one model in several safetensors files, seen as one list of tensors. Definition of the index: the file
// "model.safetensors.index.json" of Hugging Face's hub, whose "weight_map" gives each tensor's shard, a file beside it.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wick/formats/safetensors.h"

namespace wick {

// "weight_map": tensor to shard. Errors: corrupt_file; also for a shard that is no plain file name, since an index must not lead out of
// its folder.
[[nodiscard]] std::map<std::string, std::string> parse_safetensors_index(std::span<const std::byte> text, const std::string& name);

class ShardedSafetensors {
 public:
  // An index (a file whose name ends in ".json"), one safetensors file, or a folder with model.safetensors.index.json or
  // model.safetensors. Tensors of the shards that the index does not name are there as well.
  // Errors: those of SafetensorsFile; not_found for a shard that is missing; corrupt_file for a tensor that is in two shards, or not in
  // the one that the index says.
  [[nodiscard]] static ShardedSafetensors open(const std::filesystem::path& path, MapAccess access = MapAccess::read_only);
  // One file that is open. Errors: none.
  [[nodiscard]] static ShardedSafetensors of(SafetensorsFile file);
  // Several files without an index. Errors: as above.
  [[nodiscard]] static ShardedSafetensors open_files(std::span<const std::filesystem::path> paths, MapAccess access = MapAccess::read_only);

  [[nodiscard]] std::span<const SafetensorsFile> files() const noexcept { return files_; }
  // File after file, each in the order of its data. The tensors keep their mappings alive.
  [[nodiscard]] std::span<const SafetensorsTensor> tensors() const noexcept { return tensors_; }
  // Errors: unsupported if any tensor of any shard was refused (SafetensorsFile::refused).
  void require_all() const;
  // nullptr if absent or refused.
  [[nodiscard]] const SafetensorsTensor* find(std::string_view tensor) const noexcept;
  // Errors: not_found, naming file and tensor; unsupported for one that was refused.
  [[nodiscard]] const SafetensorsTensor& get(std::string_view tensor) const;

 private:
  void append(SafetensorsFile file);

  std::string name_;
  std::vector<SafetensorsFile> files_;
  std::vector<SafetensorsTensor> tensors_;
  // Tensor to its place in tensors_ and its file's in files_.
  std::map<std::string, std::pair<size_t, size_t>, std::less<>> index_;
};

}  // namespace wick
