// An Error says what went wrong, where, and what to do about it; it is the caller's or the world's fault, never ours.
#pragma once

#include <functional>
#include <source_location>
#include <stdexcept>
#include <string>

namespace [[gnu::visibility("default")]] wick {

enum class ErrorCode {
  invalid_argument,    // a flag, parameter or request that cannot be
  not_found,           // a file, tensor, key or token that is not there
  io,                  // the operating system refused a read, write or map
  corrupt_file,        // a file whose bytes contradict its format
  unsupported,         // well-formed, but not something this build can do
  shape_mismatch,      // shapes that do not fit together
  dtype_mismatch,      // dtypes that do not fit together
  device_mismatch,     // operands on different devices
  index_out_of_range,  // an index outside its dimension
  backend_not_linked,  // the program was linked without this backend
  no_device,           // the backend is there, the device is not
  device_lost,         // the device failed while it worked; what was on it is gone, and opening it again may help
  out_of_memory,       // an allocation that the machine refused
  context_full,        // more tokens than the model's context holds
};

// The code's name as it is written here: "corrupt_file".
[[nodiscard]] const char* to_string(ErrorCode code) noexcept;

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message, std::source_location where = std::source_location::current());
  // The same error in other words, such as the name of the function that was called in front: the hook, which has seen it, is not called.
  Error(const Error& error, const std::string& message);

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }
  // The line of Wick that noticed, for logs; the message alone is for users.
  [[nodiscard]] const std::source_location& where() const noexcept { return where_; }

 private:
  ErrorCode code_;
  std::source_location where_;
};

// Called once with each Error as it is made, before functions that pass it on add their names to its message, on the thread that is about
// to throw it: the place to record the frames of the call, which are gone when it is caught.
using ErrorHook = std::function<void(const Error&)>;
// Replaces the hook; an empty one removes it. Call before other threads use the library. The hook must not throw, nor make an Error.
void set_error_hook(ErrorHook hook);

}  // namespace wick
