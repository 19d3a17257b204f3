// For memory that is written here and there: small pages, where a huge one would be cleared for the sake of a few bytes.
#pragma once

#include <cstddef>

namespace wick {

// The whole pages of a range of this process's own memory are small ones from now on, as far as nothing was written to them. Only a hint.
void use_small_pages(void* address, size_t bytes) noexcept;

}  // namespace wick
