// The lines of a mapped file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "wick/base/mapped_file.h"

namespace wick::server {

// Calls take(line, text, is_whole) for each line, which counts from 1; the last one is whole if a line break ends it.
template <class Take>
void for_each_line(const MappedFile& file, const Take& take) {
  const std::string_view all(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  int64_t line = 0;
  for (size_t begin = 0; begin < all.size();) {
    const size_t end = std::min(all.find('\n', begin), all.size());
    take(++line, all.substr(begin, end - begin), end < all.size());
    begin = end + 1;
  }
}

}  // namespace wick::server
