// A KernelDriver is what a GPU backend brings: memory, a queue, and a compiler for one language. KernelRuntime makes a device of it.
#pragma once

#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wick/device/buffer.h"
#include "wick/device/kernel_source.h"
#include "wick/device/op_call.h"
#include "wick/device/program.h"
#include "wick/device/queue.h"
#include "wick/ir/dialect/dialect.h"
#include "wick/op/device_caps.h"

namespace wick {

// A program that somebody is making.
using FutureProgram = std::shared_future<std::shared_ptr<const Program>>;

class KernelDriver {
 public:
  KernelDriver() = default;
  virtual ~KernelDriver() = default;
  KernelDriver(const KernelDriver&) = delete;
  KernelDriver& operator=(const KernelDriver&) = delete;

  [[nodiscard]] virtual const DeviceCaps& caps() const noexcept = 0;
  [[nodiscard]] virtual Queue& queue() noexcept = 0;
  // A block of uninitialised memory, aligned to caps().buffer_offset_alignment at least; nullptr where the device has no more.
  [[nodiscard]] virtual std::unique_ptr<Buffer> allocate(size_t bytes) = 0;
  // A block over host memory that `owner` keeps, where the device can use it without a copy; else nullptr.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): who overrides it keeps the owner
  [[nodiscard]] virtual std::unique_ptr<Buffer> import_host(std::byte* /*data*/, size_t /*bytes*/, std::shared_ptr<const void> /*owner*/) {
    return nullptr;
  }
  // The driver's own implementation of an op, as Runtime::override_for; nullptr: none.
  [[nodiscard]] virtual OpFunction override_for(OpId /*op*/, int /*kind*/, DType /*dtype*/) const noexcept { return nullptr; }
  // Bytes that the device has left, for errors; none where the driver does not say.
  [[nodiscard]] virtual std::optional<size_t> free_bytes() noexcept { return std::nullopt; }
  // Whether the device was seen to fail. Its queue then throws device_lost(…) of device_lost.h wherever it waits, at the latest.
  [[nodiscard]] virtual bool is_lost() const noexcept { return false; }

  // The language of its compiler; nullptr: it takes kernels as they are, and compile() is not called.
  [[nodiscard]] virtual const ir::Dialect* dialect() const noexcept = 0;
  // Whether its compiler takes sources of that language.
  [[nodiscard]] virtual bool takes(SourceLanguage language) const noexcept {
    return dialect() != nullptr && dialect()->name.starts_with(to_string(language));
  }
  // The cache key of a binary in addition to its text: options, driver and its version, device.
  [[nodiscard]] virtual std::string binary_key() const = 0;
  // The driver's binary of a text. Errors: CompilerError with the driver's log.
  [[nodiscard]] virtual std::vector<std::byte> compile(const ir::Kernel& prepared, const std::string& text) = 0;
  // The program from such a binary (empty without a dialect); nullptr where the driver refuses it, as it may after an update.
  [[nodiscard]] virtual std::shared_ptr<const Program> load(ir::Kernel prepared, std::span<const std::byte> binary) = 0;
  // How many threads may be in compile() and load() at once to good use; with fewer than two, awaited() is not called.
  [[nodiscard]] virtual int compilers() const noexcept { return 1; }
  // A program that is the one of load() as soon as that is made: who launches it before waits, and gets the error that kept it from being
  // made.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): who overrides it keeps both
  [[nodiscard]] virtual std::shared_ptr<const Program> awaited(ir::Kernel /*prepared*/, FutureProgram /*made*/) { return nullptr; }
};

// A compiler's log for a text that it refused.
struct CompilerError {
  std::string log;
};

// A compiler's log for an error of one line: its lines, without blank ones and what surrounds them, with " | " between them.
[[nodiscard]] std::string joined_lines(std::string_view log);

}  // namespace wick
