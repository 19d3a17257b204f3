// The message of the Error that a call throws.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "wick/base/error.h"

namespace wick {

// "nothing was thrown" where the call returns.
[[nodiscard]] inline std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

// The same for an Error of this code; anything else is a failure of the test.
inline std::string message_of(ErrorCode code, const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "nothing was thrown";
}

}  // namespace wick
