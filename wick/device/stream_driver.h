// A StreamDriver is the KernelDriver of a vendor whose queues are streams, but for its compiler.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "wick/device/kernel_driver.h"
#include "wick/device/stream_queue.h"

namespace wick {

class StreamDriver : public KernelDriver {
 public:
  // On a stream of its own, or on this one.
  StreamDriver(StreamContext context, DeviceCaps caps, StreamHandle stream = nullptr)
      : caps_(std::move(caps)), queue_(std::make_shared<StreamQueue>(std::move(context), stream)) {}

  [[nodiscard]] const DeviceCaps& caps() const noexcept override { return caps_; }
  [[nodiscard]] StreamQueue& queue() noexcept override { return *queue_; }
  [[nodiscard]] std::unique_ptr<Buffer> allocate(size_t bytes) override { return queue_->allocate(bytes); }
  [[nodiscard]] std::optional<size_t> free_bytes() noexcept override;
  [[nodiscard]] std::shared_ptr<const Program> load(ir::Kernel prepared, std::span<const std::byte> binary) override;
  [[nodiscard]] bool is_lost() const noexcept override { return queue_->is_lost(); }

 private:
  DeviceCaps caps_;
  std::shared_ptr<StreamQueue> queue_;
};

}  // namespace wick
