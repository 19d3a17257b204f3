// A handle of a driver's that is released when it goes.
#pragma once

#include <memory>
#include <type_traits>

namespace wick {

template <class Handle, class Result>
struct ReleaseHandle {
  Result (*release)(Handle) = nullptr;
  void operator()(Handle handle) const noexcept { release(handle); }
};
// Result: of the driver's function that releases it.
template <class Handle, class Result = void>
using OwnedHandle = std::unique_ptr<std::remove_pointer_t<Handle>, ReleaseHandle<Handle, Result>>;

}  // namespace wick
