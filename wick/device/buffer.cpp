#include "wick/device/buffer.h"

#include <utility>

namespace wick {
namespace {

class HostMemory final : public Buffer {
 public:
  HostMemory(std::byte* data, size_t bytes, std::shared_ptr<const void> owner) : data_(data), bytes_(bytes), owner_(std::move(owner)) {}

  [[nodiscard]] size_t bytes() const noexcept override { return bytes_; }
  [[nodiscard]] std::byte* host_data() noexcept override { return data_; }

 private:
  std::byte* data_;
  size_t bytes_;
  std::shared_ptr<const void> owner_;
};

}  // namespace

std::unique_ptr<Buffer> wrap_host_memory(std::byte* data, size_t bytes, std::shared_ptr<const void> owner) {
  return std::make_unique<HostMemory>(data, bytes, std::move(owner));
}

}  // namespace wick
