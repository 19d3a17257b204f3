// A DriverError is an Error of a driver's call, with the call and its status in the driver's own words.
#pragma once

#include <string>
#include <utility>

#include "wick/base/error.h"

namespace [[gnu::visibility("default")]] wick {

// The status of a failed driver call.
struct DriverFailure {
  std::string call;         // its name
  int status = 0;           // what it returned
  std::string status_name;  // "…_ERROR_OUT_OF_MEMORY"
};

class DriverError : public Error {
 public:
  DriverError(ErrorCode code, const std::string& message, DriverFailure failure) : Error(code, message), failure_(std::move(failure)) {}

  [[nodiscard]] const std::string& call() const noexcept { return failure_.call; }
  [[nodiscard]] int status() const noexcept { return failure_.status; }
  [[nodiscard]] const std::string& status_name() const noexcept { return failure_.status_name; }

 private:
  DriverFailure failure_;
};

}  // namespace wick
