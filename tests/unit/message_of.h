// What a call throws: the message and the code of its Error.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

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
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "nothing was thrown";
}

[[nodiscard]] inline ErrorCode code_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorCode::io;
}

// What the call throws, with all that it carries. A call that returns ends the test.
template <class Kind = Error>
Kind error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Kind& error) {
    return error;
  }
  throw std::runtime_error("nothing was thrown");
}

struct Mistake {
  std::string message;
  std::function<void()> call;
};

// Each call throws an Error with its message.
inline void expect_messages(const std::vector<Mistake>& mistakes) {
  for (const Mistake& mistake : mistakes) EXPECT_EQ(message_of(mistake.call), mistake.message);
}

}  // namespace wick
