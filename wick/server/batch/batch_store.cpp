#include "wick/server/batch/batch_store.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <span>
#include <system_error>
#include <tuple>
#include <utility>

#include "wick/base/atomic_file.h"
#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/server/request_id.h"
#include "wick/server/worker.h"

namespace wick::server {
namespace {

constexpr const char* kObjectSuffix = ".json";

void write_whole(const std::filesystem::path& path, std::string_view content) {
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(content)));
  file.commit();
}

std::optional<std::string> read_whole(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

bool is_object_of(const Json& json, const std::string& id) {
  return json.is_object() && json.value("id", "") == id && json.contains("object") && json["object"].is_string() &&
         json.contains("created_at") && json["created_at"].is_number_integer();
}

}  // namespace

BatchStore::BatchStore(std::filesystem::path folder) : folder_(std::move(folder)) {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) fail(ErrorCode::invalid_argument, "{}: cannot be created: {}; name another folder", folder_.string(), error.message());
  lock_.emplace(folder_ / "lock");
  read_objects();
}

void BatchStore::read_objects() {
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    if (entry.path().extension() != kObjectSuffix) continue;
    Json json = parse_ordered_json(read_whole(entry.path()).value_or(""));
    const std::string id = entry.path().stem().string();
    if (!is_object_of(json, id)) {
      fail(ErrorCode::corrupt_file, "{}: not an object of a file or a batch; delete it, or name another folder", entry.path().string());
    }
    objects_.emplace(id, std::move(json));
  }
}

void BatchStore::put(const Json& object) {
  const std::string id = object["id"].get<std::string>();
  write_whole(folder_ / (id + kObjectSuffix), to_text(object));
  const std::scoped_lock lock(mutex_);
  objects_[id] = object;
}

Json BatchStore::add_file(std::string_view name, std::string_view purpose, std::string_view content, std::optional<int64_t> expires_at) {
  const std::string id = random_id("file-");
  write_whole(path_of(id), content);
  return adopt(id, name, purpose, content.size(), expires_at);
}

std::optional<std::string> BatchStore::content_of(const std::string& file_id) const { return read_whole(path_of(file_id)); }

Json BatchStore::adopt_file(const std::string& id, std::string_view name, std::string_view purpose, std::optional<int64_t> expires_at) {
  std::error_code error;
  const uintmax_t bytes = std::filesystem::file_size(path_of(id), error);
  if (error) fail(ErrorCode::io, "{}: {}", path_of(id).string(), error.message());
  return adopt(id, name, purpose, bytes, expires_at);
}

Json BatchStore::adopt(const std::string& id, std::string_view name, std::string_view purpose, uint64_t bytes,
                       std::optional<int64_t> expires_at) {
  Json json = {{"id", id},         {"object", "file"},   {"bytes", bytes},        {"created_at", Worker::unix_time()},
               {"filename", name}, {"purpose", purpose}, {"status", "processed"}, {"expires_at", nullptr}};
  if (expires_at) json["expires_at"] = *expires_at;
  put(json);
  return json;
}

void BatchStore::remove_file(const std::string& id) {
  {
    const std::scoped_lock lock(mutex_);
    objects_.erase(id);
  }
  // The object first: bytes without one are nobody's.
  std::error_code ignored;
  std::filesystem::remove(folder_ / (id + kObjectSuffix), ignored);
  std::filesystem::remove(path_of(id), ignored);
}

void BatchStore::put_batch(const Json& batch) { put(batch); }

void BatchStore::set_counts(const std::string& batch_id, const Json& counts) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = objects_.find(batch_id); found != objects_.end()) found->second["request_counts"] = counts;
}

std::optional<Json> BatchStore::find(const std::string& id) const {
  const std::scoped_lock lock(mutex_);
  const auto found = objects_.find(id);
  return found == objects_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<Json> BatchStore::list(std::string_view object) const {
  std::vector<Json> all;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [id, json] : objects_) {
      if (json["object"] == object) all.push_back(json);
    }
  }
  const auto age = [](const Json& json) { return std::tuple(-json["created_at"].get<int64_t>(), json["id"].get<std::string>()); };
  std::ranges::sort(all, {}, age);
  return all;
}

}  // namespace wick::server
