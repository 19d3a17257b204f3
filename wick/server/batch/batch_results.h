// The results of a batch in OpenAI's format: a file of answers and one of errors, which a killed process may go on with.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/base/line_file.h"
#include "wick/server/batch/batch_input.h"

namespace wick::server {

// One of the two files. While it grows its name ends in ".partial"; the target has its name once it is whole.
class ResultFile {
 public:
  // Calls `take` for each line that is there already; then the file can be added to. A target that is not a regular file (a device, a pipe)
  // is written directly. Errors: those of LineFile; invalid_argument where both the target and the partial file are there.
  ResultFile(std::filesystem::path target, const std::function<void(const std::filesystem::path&, int64_t, std::string_view)>& take);

  void append(std::string_view line) { file_->append(line); }
  // Gives the file its target's name, or removes it where it has no line and `keeps_empty` is false. Errors: io.
  void commit(bool keeps_empty);

 private:
  std::filesystem::path target_, partial_;
  bool is_direct_ = false;
  std::optional<LineFile> file_;
};

class BatchResults {
 public:
  // Reads what an earlier process has answered. Errors: those of ResultFile; invalid_argument for a line that answers no request of the
  // input, or one that has an answer already. `input` must outlive it.
  BatchResults(const BatchInput& input, const std::filesystem::path& output, const std::filesystem::path& errors);

  [[nodiscard]] bool has(size_t index) const { return has_[index]; }
  [[nodiscard]] int64_t succeeded() const noexcept { return succeeded_; }
  [[nodiscard]] int64_t failed() const noexcept { return failed_; }
  [[nodiscard]] bool is_complete() const noexcept { return succeeded_ + failed_ == static_cast<int64_t>(has_.size()); }

  // Adds the response to a request, to the errors if its status is one. `body` is JSON on one line. Errors: io.
  void add(size_t index, int status, std::string_view request_id, std::string_view body);
  // Adds an error to each request that has no response yet. Errors: io.
  void fail_rest(std::string_view code, std::string_view message);
  // Gives both files their names; there is none of errors without an error. Errors: io.
  void commit();

 private:
  void take(const std::filesystem::path& path, int64_t line, std::string_view text, int64_t& count);
  void count(size_t index, bool is_error);

  const BatchInput& input_;
  std::vector<bool> has_;
  int64_t succeeded_ = 0, failed_ = 0;
  ResultFile output_, errors_;
};

}  // namespace wick::server
