// fail() throws an Error with a formatted message. Not for public headers: a user of the library need not have fmt.
#pragma once

#include <fmt/format.h>

#include <source_location>
#include <string_view>
#include <type_traits>
#include <utility>

#include "wick/base/error.h"

namespace wick {

// A format string that remembers the line it was written on, so that fail() can be variadic and still know its caller.
template <class... Args>
struct LocatedFormat {
  fmt::format_string<Args...> text;
  std::source_location where;

  template <class Text>
  consteval LocatedFormat(const Text& format, std::source_location caller = std::source_location::current())  // NOLINT
      : text(format), where(caller) {}
};

// Throws an Error: fail(ErrorCode::not_found, "{}: no tensor '{}'", path, name).
template <class... Args>
[[noreturn]] void fail(ErrorCode code, LocatedFormat<std::type_identity_t<Args>...> format, Args&&... args) {
  throw Error(code, fmt::format(format.text, std::forward<Args>(args)...), format.where);
}

// Returns the result of `call`. Its Error gets the name `function`, which the user called, in front: "Linear: matmul: …". But for a lost
// device: that is no fault of this call.
template <class Call>
decltype(auto) on_behalf_of(std::string_view function, Call&& call) {
  try {
    return std::forward<Call>(call)();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::device_lost) throw;
    throw Error(error, fmt::format("{}: {}", function, error.what()));
  }
}

// Reports a broken promise of our own code and aborts.
[[noreturn]] void assertion_failed(const char* expression, std::source_location where = std::source_location::current());

}  // namespace wick

// For promises that our own code makes to itself; never for a file, a shape or a driver.
#define WICK_ASSERT(expression)              \
  do {                                       \
    if (!(expression)) [[unlikely]]          \
      ::wick::assertion_failed(#expression); \
  } while (false)
