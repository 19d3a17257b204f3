#include "wick/server/batch/batch_results.h"

#include <algorithm>
#include <span>
#include <system_error>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/base/mapped_file.h"
#include "wick/server/batch/file_lines.h"
#include "wick/server/request_id.h"

namespace wick::server {
namespace {

bool is_file(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

void rename_file(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::error_code error;
  std::filesystem::rename(from, to, error);
  if (error) fail(ErrorCode::io, "{}: cannot be renamed to {}: {}", from.string(), to.filename().string(), error.message());
}

// Takes the lines of a file that may be empty or absent. What follows the last line break is one only where `takes_half`.
void take_lines(const std::filesystem::path& path, bool takes_half,
                const std::function<void(const std::filesystem::path&, int64_t, std::string_view)>& take) {
  std::error_code error;
  if (const uintmax_t size = std::filesystem::file_size(path, error); error || size == 0) return;
  for_each_line(*MappedFile::open(path), [&](int64_t line, std::string_view text, bool is_whole) {
    if (is_whole || takes_half) take(path, line, text);
  });
}

std::string json_text_of(std::string_view text) { return to_text(std::string(text)); }

// A line up to its response.
std::string line_begin(std::string_view custom_id) {
  return fmt::format(R"({{"id":"{}","custom_id":{},"response":)", random_id("batch_req_"), json_text_of(custom_id));
}

}  // namespace

ResultFile::ResultFile(std::filesystem::path target,
                       const std::function<void(const std::filesystem::path&, int64_t, std::string_view)>& take)
    : target_(std::move(target)), partial_(target_.string() + ".partial") {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(target_, ignored);
  const bool is_there = std::filesystem::exists(status);
  is_direct_ = is_there && !std::filesystem::is_regular_file(status);
  if (is_direct_) {
    file_.emplace(target_);
    return;
  }
  if (is_there && is_file(partial_)) {
    fail(ErrorCode::invalid_argument, "{}, {}: both are there, and each would be gone on with; delete one of them", target_.string(),
         partial_.string());
  }
  // The first line of a file that is not a batch's results is refused, before anything is changed.
  take_lines(is_there ? target_ : partial_, /*takes_half=*/is_there, take);
  if (is_there) rename_file(target_, partial_);
  file_.emplace(partial_);
}

void ResultFile::commit(bool keeps_empty) {
  if (is_direct_) return;
  file_->sync();
  if (file_->size() > 0 || keeps_empty) return rename_file(partial_, target_);
  std::error_code ignored;
  std::filesystem::remove(partial_, ignored);
}

BatchResults::BatchResults(const BatchInput& input, const std::filesystem::path& output, const std::filesystem::path& errors)
    : input_(input),
      has_(input.size()),
      output_(output, [this](const auto& path, int64_t line, std::string_view text) { take(path, line, text, succeeded_); }),
      errors_(errors, [this](const auto& path, int64_t line, std::string_view text) { take(path, line, text, failed_); }) {}

void BatchResults::take(const std::filesystem::path& path, int64_t line, std::string_view text, int64_t& count) {
  const nlohmann::json json = parse_json(text);
  const auto id = json.is_object() ? json.find("custom_id") : json.end();
  if (!json.is_object() || id == json.end() || !id->is_string()) {
    fail(ErrorCode::invalid_argument, "{}:{}: not a result of a batch; name another file for the results, or delete this one",
         path.string(), line);
  }
  const auto& custom_id = id->get_ref<const std::string&>();
  const std::optional<size_t> index = input_.find(custom_id);
  if (!index) {
    fail(ErrorCode::invalid_argument,
         "{}:{}: custom_id {} is not in the input; name another file for the results of this input, or delete this one", path.string(),
         line, json_text_of(custom_id));
  }
  if (has_[*index]) {
    fail(ErrorCode::invalid_argument, "{}:{}: custom_id {} has a result already; delete one of the two lines", path.string(), line,
         json_text_of(custom_id));
  }
  has_[*index] = true;
  ++count;
}

void BatchResults::add(size_t index, int status, std::string_view request_id, std::string_view body) {
  const bool is_error = status >= 400;
  const std::string line = fmt::format(R"({}{{"status_code":{},"request_id":{},"body":{}}},"error":null}})",
                                       line_begin(input_.custom_id(index)), status, json_text_of(request_id), body);
  (is_error ? errors_ : output_).append(line);
  count(index, is_error);
}

void BatchResults::fail_rest(std::string_view code, std::string_view message) {
  for (size_t index = 0; index < has_.size(); ++index) {
    if (has_[index]) continue;
    errors_.append(fmt::format(R"({}null,"error":{{"code":{},"message":{}}}}})", line_begin(input_.custom_id(index)), json_text_of(code),
                               json_text_of(message)));
    count(index, true);
  }
}

void BatchResults::count(size_t index, bool is_error) {
  WICK_ASSERT(!has_[index]);
  has_[index] = true;
  ++(is_error ? failed_ : succeeded_);
}

void BatchResults::commit() {
  errors_.commit(/*keeps_empty=*/false);
  output_.commit(/*keeps_empty=*/true);
}

}  // namespace wick::server
