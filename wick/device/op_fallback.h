// An OpFallback runs on the CPU the ops that a device lacks (DeviceOptions::cpu_fallback), and counts them.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "wick/device/op_call.h"

namespace [[gnu::visibility("default")]] wick {

class OpFallback {
 public:
  // `cpu` works in host memory.
  explicit OpFallback(std::shared_ptr<Runtime> cpu) : cpu_(std::move(cpu)) {}

  [[nodiscard]] Runtime& cpu() const noexcept { return *cpu_; }

  // Runs `function` on the CPU for a call of another device: waits for that device, copies the operands to host memory, and the outputs
  // back. `updates`: the op reads the outputs' own elements too. Errors: unsupported while a graph is recorded; those of the device's queue
  // and of `function`.
  void run(const OpCall& call, bool updates, OpFunction function);

  struct Row {
    OpId op;
    int64_t calls;
    double seconds;  // waiting and copies included
  };
  // The ops that ran on the CPU, the slowest first.
  [[nodiscard]] std::vector<Row> rows() const;

 private:
  void count(OpId op, double seconds);

  std::shared_ptr<Runtime> cpu_;
  mutable std::mutex mutex_;
  std::vector<Row> rows_;
};

}  // namespace wick
