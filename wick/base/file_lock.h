// A FileLock is held by one process at a time, of all that name the same file.
#pragma once

#include <filesystem>

namespace wick {

class FileLock {
 public:
  // Waits until nobody else holds it. The file is made if it is not there. Errors: io.
  explicit FileLock(const std::filesystem::path& path);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

 private:
  int descriptor_;
};

}  // namespace wick
