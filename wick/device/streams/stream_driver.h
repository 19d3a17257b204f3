// A StreamDriver is the KernelDriver of a vendor whose queues are streams and whose compiler runs in this process.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wick/device/kernel_driver.h"
#include "wick/device/streams/run_time_compiler.h"
#include "wick/device/streams/stream_device.h"
#include "wick/device/streams/stream_queue.h"

namespace wick {

class StreamDriver : public KernelDriver {
 public:
  // On a stream of its own, or on this one. `index`: the device's ordinal, for errors.
  StreamDriver(const std::shared_ptr<const StreamApi>& api, std::shared_ptr<const RunTimeCompiler> compiler, const ir::Dialect& dialect,
               const StreamDevice& device, int index, StreamHandle stream = nullptr);

  [[nodiscard]] const DeviceCaps& caps() const noexcept override { return caps_; }
  [[nodiscard]] StreamQueue& queue() noexcept override { return *queue_; }
  [[nodiscard]] std::unique_ptr<Buffer> allocate(size_t bytes) override { return queue_->allocate(bytes); }
  [[nodiscard]] std::optional<size_t> free_bytes() noexcept override;
  [[nodiscard]] bool is_lost() const noexcept override { return queue_->is_lost(); }

  [[nodiscard]] const ir::Dialect* dialect() const noexcept override { return &dialect_; }
  [[nodiscard]] std::string binary_key() const override { return compiler_->key(target_); }
  [[nodiscard]] std::vector<std::byte> compile(const ir::Kernel& prepared, const std::string& text) override;
  [[nodiscard]] std::shared_ptr<const Program> load(ir::Kernel prepared, std::span<const std::byte> binary) override;
  [[nodiscard]] int compilers() const noexcept override;
  [[nodiscard]] std::shared_ptr<const Program> awaited(ir::Kernel prepared, FutureProgram made) override;

  [[nodiscard]] int device() const noexcept { return device_; }  // the driver's number

 private:
  std::shared_ptr<const RunTimeCompiler> compiler_;
  const ir::Dialect& dialect_;
  int device_;
  std::string target_;
  DeviceCaps caps_;
  std::shared_ptr<StreamQueue> queue_;
};

}  // namespace wick
