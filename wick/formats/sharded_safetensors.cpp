#include "wick/formats/sharded_safetensors.h"

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/mapped_file.h"
#include "wick/formats/printable.h"
#include "wick/formats/strict_json.h"

namespace wick {
namespace {

using Json = nlohmann::json;

constexpr const char* kIndexRemedy = "download the index again";
constexpr size_t kMaxIndexBytes = 100'000'000;

// A name that can only be a file beside the index: no folder, no parent, no drive, no end of a C string.
bool is_plain_file_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find_first_of(std::string_view("/\\:\0", 4)) == std::string_view::npos;
}

}  // namespace

std::map<std::string, std::string> parse_safetensors_index(std::span<const std::byte> text, const std::string& name) {
  if (text.size() > kMaxIndexBytes) {
    fail(ErrorCode::corrupt_file, "{}: {} bytes, {} are allowed for an index; name the index of a safetensors model", name, text.size(),
         kMaxIndexBytes);
  }
  const Json json = parse_strict_json(text, 8, {.file = name, .part = "index", .first_byte = 0, .remedy = kIndexRemedy});
  const auto found = json.is_object() ? json.find("weight_map") : json.end();
  if (!json.is_object() || found == json.end() || !found->is_object()) {
    fail(ErrorCode::corrupt_file, "{}: no object 'weight_map'; name the index of a safetensors model", name);
  }
  std::map<std::string, std::string> weight_map;
  for (const auto& [tensor, shard] : found->items()) {
    if (!shard.is_string()) {
      fail(ErrorCode::corrupt_file, "{}: weight_map: the shard of tensor {} is no string; {}", name, printable(tensor), kIndexRemedy);
    }
    const auto& file = shard.get_ref<const std::string&>();
    if (!is_plain_file_name(file)) {
      fail(ErrorCode::corrupt_file, "{}: weight_map: the shard {} of tensor {} is no file beside the index; shards must lie in its folder",
           name, printable(file), printable(tensor));
    }
    weight_map.emplace(tensor, file);
  }
  return weight_map;
}

ShardedSafetensors ShardedSafetensors::open(const std::filesystem::path& path, MapAccess access) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    const std::filesystem::path index = path / "model.safetensors.index.json";
    const std::filesystem::path single = path / "model.safetensors";
    if (std::filesystem::exists(index, ignored)) return open(index, access);
    if (std::filesystem::exists(single, ignored)) return open(single, access);
    fail(ErrorCode::not_found, "{}: neither model.safetensors.index.json nor model.safetensors is in the folder; name the file",
         path.string());
  }
  ShardedSafetensors model;
  model.name_ = path.string();
  if (path.extension() != ".json") {
    model.append(SafetensorsFile::open(path, access));
    return model;
  }
  const auto weight_map = parse_safetensors_index(MappedFile::open(path)->bytes(), model.name_);
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : weight_map) shards.insert(shard);
  for (const std::string& shard : shards) {
    const std::filesystem::path file = path.parent_path() / shard;
    if (!std::filesystem::exists(file, ignored)) {
      fail(ErrorCode::not_found, "{}: the shard is missing, which {} names; put it beside the index", file.string(),
           printable(path.filename().string()));
    }
    model.append(SafetensorsFile::open(file, access));
  }
  std::set<std::string_view> refused;
  for (const SafetensorsFile& file : model.files_) {
    for (const LeftOut& tensor : file.refused()) refused.insert(tensor.name);
  }
  for (const auto& [tensor, shard] : weight_map) {
    const auto found = model.index_.find(tensor);
    if (found == model.index_.end() && refused.contains(tensor)) continue;
    if (found == model.index_.end()) {
      fail(ErrorCode::corrupt_file, "{}: weight_map: tensor {} is not in its shard {}; download the files again", model.name_,
           printable(tensor), printable(shard));
    }
    const std::string& holder = model.files_[found->second.second].name();
    if (holder != (path.parent_path() / shard).string()) {
      fail(ErrorCode::corrupt_file, "{}: weight_map: tensor {} is in {}, not in its shard {}; download the files again", model.name_,
           printable(tensor), holder, printable(shard));
    }
  }
  return model;
}

ShardedSafetensors ShardedSafetensors::of(SafetensorsFile file) {
  ShardedSafetensors model;
  model.name_ = file.name();
  model.append(std::move(file));
  return model;
}

ShardedSafetensors ShardedSafetensors::open_files(std::span<const std::filesystem::path> paths, MapAccess access) {
  ShardedSafetensors model;
  for (const std::filesystem::path& path : paths) {
    model.name_ += (model.name_.empty() ? "" : ", ") + path.string();
    model.append(SafetensorsFile::open(path, access));
  }
  return model;
}

void ShardedSafetensors::append(SafetensorsFile file) {
  for (const SafetensorsTensor& tensor : file.tensors()) {
    const auto [entry, is_new] = index_.try_emplace(tensor.name, tensors_.size(), files_.size());
    if (!is_new) {
      fail(ErrorCode::corrupt_file, "{}: tensor {} is in {} as well; remove one of the two", file.name(), printable(tensor.name),
           files_[entry->second.second].name());
    }
    tensors_.push_back(tensor);
  }
  files_.push_back(std::move(file));
}

void ShardedSafetensors::require_all() const {
  for (const SafetensorsFile& file : files_) file.require_all();
}

const SafetensorsTensor* ShardedSafetensors::find(std::string_view tensor) const noexcept {
  const auto found = index_.find(tensor);
  return found == index_.end() ? nullptr : &tensors_[found->second.first];
}

const SafetensorsTensor& ShardedSafetensors::get(std::string_view tensor) const {
  if (const SafetensorsTensor* found = find(tensor)) return *found;
  for (const SafetensorsFile& file : files_) {
    const auto refused = file.refused();
    if (std::any_of(refused.begin(), refused.end(), [&](const LeftOut& left) { return left.name == tensor; })) {
      return file.get(tensor);  // which says why
    }
  }
  fail(ErrorCode::not_found, "{}: no tensor {}; check the name", name_, printable(tensor));
}

}  // namespace wick
