#include "wick/model/checkpoint/stored_view.h"

#include <cstring>

#include "wick/base/fail.h"

namespace wick {
namespace {

std::byte* write_view(const StoredView& view, std::byte* to) {
  const size_t size = view.element_bytes;
  const bool rows = view.strides[2] == 1;
  for (int64_t i = 0; i < view.extents[0]; ++i) {
    for (int64_t j = 0; j < view.extents[1]; ++j) {
      const std::byte* from = view.data.data() + static_cast<size_t>(view.first + i * view.strides[0] + j * view.strides[1]) * size;
      if (rows) {
        std::memcpy(to, from, static_cast<size_t>(view.extents[2]) * size);
        to += static_cast<size_t>(view.extents[2]) * size;
        continue;
      }
      for (int64_t k = 0; k < view.extents[2]; ++k, to += size) {
        std::memcpy(to, from + static_cast<size_t>(k * view.strides[2]) * size, size);
      }
    }
  }
  return to;
}

}  // namespace

void write_views(std::span<const StoredView> views, std::span<std::byte> to) {
  std::byte* next = to.data();
  for (const StoredView& view : views) {
    WICK_ASSERT(static_cast<size_t>(view.elements()) * view.element_bytes <= static_cast<size_t>(to.data() + to.size() - next));
    next = write_view(view, next);
    if (view.file != nullptr) view.file->forget(view.data);
  }
}

}  // namespace wick
