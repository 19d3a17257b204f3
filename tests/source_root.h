// The checkout that this test program was built from. In a file of its own, so that the objects of all others are the same in
// every checkout and a compiler cache can share them.
#pragma once

#include <filesystem>

namespace wick {

[[nodiscard]] std::filesystem::path source_root();

}  // namespace wick
