// How the functions of wick/c.h fail: what they throw becomes a status and a message of the calling thread.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "wick/base/error.h"
#include "wick/c.h"

namespace wick::c {

// Keeps the message for wick_last_error. Returns the status.
wick_status note_failure(wick_status status, const char* message) noexcept;
[[nodiscard]] wick_status status_of(ErrorCode code) noexcept;

// Runs the body of a function that is called from C.
template <class Body>
wick_status guarded(Body&& body) noexcept {
  try {
    body();
    return WICK_OK;
  } catch (const Error& error) {
    return note_failure(status_of(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return note_failure(WICK_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return note_failure(WICK_INTERNAL, error.what());
  } catch (...) {
    return note_failure(WICK_INTERNAL, "an unknown exception");
  }
}

// Refuses a null pointer. Errors: invalid_argument, naming function and argument.
void need(const void* pointer, const char* function, const char* argument);

}  // namespace wick::c
