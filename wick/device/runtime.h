// A Runtime is one opened device behind the device interface: what it can do, its memory, its queue and its own implementations of ops.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "wick/device/buffer.h"
#include "wick/device/kernel_source.h"
#include "wick/device/measured_peaks.h"
#include "wick/device/op_call.h"
#include "wick/device/op_fallback.h"
#include "wick/device/prepared_weight.h"
#include "wick/device/program.h"
#include "wick/device/program_table.h"
#include "wick/device/queue.h"
#include "wick/op/device_caps.h"

namespace [[gnu::visibility("default")]] wick {

// Options for opening a device.
struct DeviceOptions {
  int threads = 0;                   // host threads that its work may use; 0: every usable core
  std::string variant = {};          // a code path by name, for tests: "avx2"; empty: the best that the machine has
  std::string cache_directory = {};  // where compiled programs are kept for the next run (program_cache.h); empty: nowhere
  bool validate = false;             // every launch is checked for what it touches: slow
  std::string trace_file = {};       // where to write what ran when, for Chrome's trace viewer; empty: nowhere
  bool cpu_fallback = false;         // the CPU runs the ops that the device lacks, with copies there and back: slow (op_fallback.h)

  friend bool operator==(const DeviceOptions&, const DeviceOptions&) = default;
};

// transient: the result of an op, soon gone; its memory is kept for the next one. persistent: weights and caches, which stay; they
// take exactly what they need.
enum class Lifetime { transient, persistent };

class Runtime {
 public:
  Runtime() = default;
  virtual ~Runtime() = default;
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  [[nodiscard]] virtual const DeviceCaps& caps() const noexcept = 0;
  // Uninitialised memory, aligned to 64 bytes; what follows it up to a multiple of 16 bytes is nobody else's. Errors: out_of_memory naming
  // the device and the size.
  [[nodiscard]] virtual std::unique_ptr<Buffer> allocate(size_t bytes, Lifetime lifetime) = 0;
  // A buffer with these bytes: the same memory where DeviceCaps::host_memory, else a copy.
  [[nodiscard]] virtual std::unique_ptr<Buffer> import_host(std::byte* data, size_t bytes, std::shared_ptr<const void> owner) = 0;
  [[nodiscard]] virtual Queue& queue() noexcept = 0;
  // The device's own implementation of a kind of an op (kind_of in op/op.h) whose defining operand has this dtype; nullptr: none.
  [[nodiscard]] virtual OpFunction override_for(OpId op, int kind, DType dtype) const noexcept = 0;
  // Begins to prepare a weight that will be multiplied often and not written to. Returns at once: ops read the plain bytes until the
  // device has prepared them, which it does while it is idle, and beside its ops in at most a third of the time, and the results have the
  // same bits before and after. nullptr: this device, or this weight, has nothing to gain. Where memory is short the weight stays as it is.
  [[nodiscard]] virtual std::shared_ptr<const PreparedWeight> prepare_weight(const Operand& weight, const WeightUse& use);
  // Prepares now what prepare_weight() has begun, as far as memory goes.
  virtual void finish_preparing() {}
  // The most rows of activations for which its linear takes a norm, biases and a residual (LinearParams); with more, and where it is 0, it
  // is given the plain ops. Portable kernels have a number of their own (tensor/ops/launchers/launchers.h).
  [[nodiscard]] virtual int64_t fused_linear_rows() const noexcept { return 0; }
  // Whether portable kernels carry out the ops that the device does not override: then its backend says RUNS_KERNELS to add_backend().
  [[nodiscard]] virtual bool runs_kernels() const noexcept { return false; }
  // Makes a kernel ready for this device. Errors: unsupported, naming the kernel, the language, the driver's log and where the text was
  // saved; and what ir::prepare() refuses.
  [[nodiscard]] virtual std::shared_ptr<const Program> compile(const ir::Kernel& kernel) = 0;
  // Makes a kernel of the device's own language ready. Nothing is known of what it touches: that it stays inside of its buffers is its own
  // affair. Errors: invalid_argument for a signature that no kernel has; unsupported for another language than the device's, which is
  // named, and with the compiler's log.
  [[nodiscard]] virtual std::shared_ptr<const Program> compile_source(const std::string& name, const KernelSource& source,
                                                                      const std::string& entry, const KernelSignature& signature);
  // The program of the kernel that `make` builds, which is made once for each key.
  [[nodiscard]] const Program& program(const ProgramKey& key, const std::function<ir::Kernel()>& make);
  // A buffer of constant words, made once for each key.
  [[nodiscard]] const Buffer& constant(const ProgramKey& key, const std::function<std::vector<uint32_t>()>& make);
  // Queues a launch. Errors: invalid_argument for arguments that the kernel does not take, or ranges that leave their buffers; unsupported
  // for more groups, or larger buffers, than the device has room for, each naming kernel and limit.
  void launch(const Launch& launch);
  // Looks at a launch before anything else touches what it names. Errors: those of DeviceOptions::validate, where the device was opened so.
  virtual void validate(const Launch& /*launch*/) {}
  // Whether the device was seen to fail (ErrorCode::device_lost): nothing more comes of this runtime, and opening the device makes a new
  // one.
  [[nodiscard]] virtual bool is_lost() const noexcept { return false; }
  // Whether a Graph is being recorded: what is queued will run again on other numbers, so nothing may depend on those that are there now.
  [[nodiscard]] virtual bool is_recording() const noexcept { return false; }
  // Nothing on this device is alive any more. True: the runtime has given back what memory it kept but for a few MiB, and stays open for
  // the next op, as opening it takes much longer than an op. False: it is closed.
  [[nodiscard]] virtual bool rest() noexcept { return false; }
  // Bytes allocated now and at most since it was opened or woke from rest(); imports are not counted.
  [[nodiscard]] virtual size_t allocated_bytes() const noexcept = 0;
  [[nodiscard]] virtual size_t peak_allocated_bytes() const noexcept = 0;
  // Keeps the device busy for about half a second. Errors: out_of_memory.
  [[nodiscard]] virtual MeasuredPeaks measure_peaks() { return {}; }

  // Runs the ops that this device does not support; nullptr: they are refused.
  [[nodiscard]] OpFallback* op_fallback() const noexcept { return op_fallback_.get(); }
  // Before the device is used: DeviceOptions::cpu_fallback does it.
  void set_op_fallback(std::unique_ptr<OpFallback> fallback) noexcept { op_fallback_ = std::move(fallback); }

 protected:
  // Gives back what program() and constant() made; for destructors, as both need the device.
  void forget_programs();

 private:
  std::unique_ptr<OpFallback> op_fallback_;
  ProgramTable programs_;
  std::mutex constants_mutex_;
  std::vector<std::pair<ProgramKey, std::unique_ptr<Buffer>>> constants_;
};

}  // namespace wick
