// The kind of this build.
#pragma once

namespace wick::platform {

// Builds with assertions of the standard library, or with debug code, spoil fresh memory, so that reading it shows.
#if defined(_GLIBCXX_ASSERTIONS) || !defined(NDEBUG)
inline constexpr bool kSpoilsFreshMemory = true;
#else
inline constexpr bool kSpoilsFreshMemory = false;
#endif

}  // namespace wick::platform
