// A BatchStore keeps files and batches in a folder, as OpenAI's API has them: their JSON objects, and the files' bytes. They survive a
// restart.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/base/line_file.h"
#include "wick/server/json.h"

namespace wick::server {

// Any number of threads may use it.
class BatchStore {
 public:
  // Reads what is in the folder, which is made if it is not there. Errors: io; invalid_argument where another process uses it;
  // corrupt_file for an object that cannot be read.
  explicit BatchStore(std::filesystem::path folder);

  // --- Files ---
  // Keeps a file and returns its object. `expires_at`: Unix time. Errors: io.
  Json add_file(std::string_view name, std::string_view purpose, std::string_view content, std::optional<int64_t> expires_at);
  // Makes the object of a file whose bytes are there already, at path_of(id).
  Json adopt_file(const std::string& id, std::string_view name, std::string_view purpose, std::optional<int64_t> expires_at);
  // Removes the object and the bytes.
  void remove_file(const std::string& id);
  // The bytes; none where they are gone.
  [[nodiscard]] std::optional<std::string> content_of(const std::string& file_id) const;
  [[nodiscard]] std::filesystem::path path_of(const std::string& file_id) const { return folder_ / file_id; }

  // --- Batches ---
  // Stores a new batch, or its new state. Errors: io.
  void put_batch(const Json& batch);

  [[nodiscard]] std::optional<Json> find(const std::string& id) const;
  // Those whose "object" it is, the newest first.
  [[nodiscard]] std::vector<Json> list(std::string_view object) const;
  // Changes a batch in memory alone: counts of what is under way.
  void set_counts(const std::string& batch_id, const Json& counts);

 private:
  Json adopt(const std::string& id, std::string_view name, std::string_view purpose, uint64_t bytes, std::optional<int64_t> expires_at);
  void put(const Json& object);
  void read_objects();

  std::filesystem::path folder_;
  std::optional<LineFile> lock_;
  mutable std::mutex mutex_;
  std::map<std::string, Json> objects_;  // by id
};

}  // namespace wick::server
