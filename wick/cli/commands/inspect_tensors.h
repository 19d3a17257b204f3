// `wick inspect` for files of named tensors: safetensors, npy, npz, PyTorch.
#pragma once

#include <string>

#include "wick/cli/console.h"

namespace wick {

// Shows the file if it is one of these, and says whether it was. A folder, or a file whose name ends in ".json", is a sharded model.
// Errors: those of the formats.
[[nodiscard]] bool inspect_tensors(const Console& console, const std::string& path, bool json);

}  // namespace wick
