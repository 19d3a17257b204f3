// Memory of other libraries that must be shared, where array.h's import_array may copy.
#pragma once

#include "array.h"

namespace wick_python {

// None where the object offers no memory. Errors: BufferError for memory that is read-only or not aligned.
[[nodiscard]] std::optional<Array> share_array(nb::handle object);

}  // namespace wick_python
