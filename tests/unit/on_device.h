// What tests of a backend's driver have: a device that they opened, bytes to and from it, and a kernel to run on it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wick/device/device.h"
#include "wick/device/kernel_runtime.h"
#include "wick/ir/builder.h"

namespace wick {

// y[i] = y[i] * factor + x[i], for i below n.
[[nodiscard]] inline ir::Kernel multiply_add_named(const std::string& name) {
  using namespace ir;
  KernelBuilder k(name, {.group_size = 64});
  const Memory x = k.buffer("x", Element::u32), y = k.output("y", Element::u32);
  const Value n = k.parameter("n", Type::u32), factor = k.parameter("factor", Type::u32);
  const Value i = k.group_id() * 64U + k.local_id();
  k.when(i < n, [&] { y[i] = y[i] * factor + x[i]; });
  return k.finish();
}

[[nodiscard]] inline ir::Kernel multiply_add() { return multiply_add_named("multiply_add"); }

// Test: testing::Test or a testing::TestWithParam, whose SetUp() calls open().
template <class Test>
class OnDevice : public Test {
 protected:
  void open(DeviceLocation location, const DeviceOptions& options = {}) {
    device_ = std::make_unique<Device>(Device::open(location, options));
  }
  [[nodiscard]] Device& device() { return *device_; }
  [[nodiscard]] KernelRuntime& runtime() { return static_cast<KernelRuntime&>(device_->runtime()); }
  [[nodiscard]] Queue& queue() { return runtime().queue(); }
  [[nodiscard]] std::unique_ptr<Buffer> allocate(size_t bytes) { return runtime().allocate(bytes, Lifetime::transient); }

  template <class T>
  [[nodiscard]] std::unique_ptr<Buffer> upload(const std::vector<T>& values) {
    std::unique_ptr<Buffer> buffer = allocate(values.size() * sizeof(T));
    queue().upload(std::as_bytes(std::span(values)).data(), *buffer, 0, values.size() * sizeof(T));
    return buffer;
  }
  template <class T>
  [[nodiscard]] std::vector<T> download(const Buffer& buffer) {
    std::vector<T> values(buffer.bytes() / sizeof(T));
    queue().download(buffer, 0, std::as_writable_bytes(std::span(values)).data(), values.size() * sizeof(T));
    return values;
  }
  [[nodiscard]] const Program& program() { return runtime().program({"multiply_add", {}}, multiply_add); }
  void launch(const Program& program, uint32_t groups, std::vector<BufferArgument> buffers, std::vector<uint32_t> parameters) {
    runtime().launch({&program, {groups, 1, 1}, buffers, parameters});
  }

 private:
  std::unique_ptr<Device> device_;
};

inline std::string variant_name(const testing::TestParamInfo<const char*>& variant) { return variant.param; }

// Different ones, at every place.
[[nodiscard]] inline std::vector<uint8_t> numbered(size_t count, uint8_t first) {
  std::vector<uint8_t> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(first + 7 * i);
  return bytes;
}

}  // namespace wick
