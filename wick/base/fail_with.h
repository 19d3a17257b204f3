// fail_with() throws an Error with a formatted message that says what to do about it. Not for public headers, as fail().
#pragma once

#include <type_traits>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/remedy.h"

namespace wick {

// fail_with({{"raise {}", Setting::context}}, ErrorCode::context_full, "the prompt has {} tokens", count)
template <class... Args>
[[noreturn]] void fail_with(Remedies remedies, ErrorCode code, LocatedFormat<std::type_identity_t<Args>...> format, Args&&... args) {
  throw RemediableError(code, fmt::format(format.text, std::forward<Args>(args)...), std::move(remedies), format.where);
}

}  // namespace wick
