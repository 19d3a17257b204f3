// Checks of a file that is about to be written.
#pragma once

#include <filesystem>

#include "wick/formats/gguf.h"

namespace wick {

// Errors: invalid_argument if the output is the model that is read, or one of its parts, by whatever name.
void refuse_to_overwrite(const GgufFile& input, const std::filesystem::path& output);

// To be called before long work whose result goes there. Errors: those of AtomicFile: a folder that is absent or may not be written to.
void check_writable(const std::filesystem::path& output);

}  // namespace wick
