#include "wick/cli/output_file.h"

#include <system_error>

#include "wick/base/atomic_file.h"
#include "wick/base/fail.h"

namespace wick {

void refuse_to_overwrite_file(const std::filesystem::path& input, const std::filesystem::path& output) {
  std::error_code ignored;
  if (!std::filesystem::equivalent(input, output, ignored)) return;
  fail(ErrorCode::invalid_argument, "{}: this is the input file; name another file to write", output.string());
}

void refuse_to_overwrite(const GgufFile& input, const std::filesystem::path& output) {
  refuse_to_overwrite_file(input.name(), output);
  for (const GgufTensor& tensor : input.tensors()) {
    if (tensor.file != nullptr) refuse_to_overwrite_file(tensor.file->path(), output);
  }
}

void refuse_to_overwrite(const Checkpoint& input, const std::filesystem::path& output) {
  refuse_to_overwrite_file(input.name(), output);
  for (const CheckpointTensor& tensor : input.tensors()) {
    if (tensor.file != nullptr) refuse_to_overwrite_file(tensor.file->path(), output);
  }
}

void check_writable(const std::filesystem::path& output, std::initializer_list<std::filesystem::path> inputs) {
  for (const std::filesystem::path& input : inputs) refuse_to_overwrite_file(input, output);
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(output, ignored);
  // Who reads a pipe would take this for its end. A folder is refused.
  const bool is_stream = std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
  if (is_stream && !std::filesystem::is_directory(status)) return;
  const AtomicFile file(output);
}

void check_writable_folder(std::string_view flag, const std::filesystem::path& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    fail(ErrorCode::invalid_argument, "{} {}: {}; create the folder or name another one", flag, folder.string(),
         error && error != std::errc::no_such_file_or_directory ? error.message() : "there is no such folder");
  }
  try {
    const AtomicFile file(folder / ".wick-check");
  } catch (const Error& failure) {
    fail(ErrorCode::invalid_argument, "{} {}: no file can be written there ({})", flag, folder.string(), failure.what());
  }
}

}  // namespace wick
