// The first Vulkan device that there is, by each of its variants, and kernels to run on it.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "wick/device/device.h"
#include "wick/device/kernel_runtime.h"
#include "wick/device/registry.h"
#include "wick/ir/builder.h"

namespace wick::vulkan {

class OnVulkan : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::vector<DeviceInfo> devices = require_backend(DeviceKind::vulkan).probe();
    if (devices.empty()) GTEST_SKIP() << "no Vulkan device";
    index_ = devices.front().index;
    device_ = std::make_unique<Device>(Device::open({DeviceKind::vulkan, index_}, {.threads = 0, .variant = GetParam()}));
  }

  [[nodiscard]] KernelRuntime& runtime() { return static_cast<KernelRuntime&>(device_->runtime()); }
  [[nodiscard]] int index() const { return index_; }
  [[nodiscard]] Queue& queue() { return runtime().queue(); }
  [[nodiscard]] std::unique_ptr<Buffer> allocate(size_t bytes) { return runtime().allocate(bytes, Lifetime::transient); }

  template <class T>
  [[nodiscard]] std::unique_ptr<Buffer> upload(const std::vector<T>& values) {
    std::unique_ptr<Buffer> buffer = allocate(values.size() * sizeof(T));
    queue().upload(std::as_bytes(std::span(values)).data(), *buffer, 0, buffer->bytes());
    return buffer;
  }
  template <class T>
  [[nodiscard]] std::vector<T> download(const Buffer& buffer) {
    std::vector<T> values(buffer.bytes() / sizeof(T));
    queue().download(buffer, 0, std::as_writable_bytes(std::span(values)).data(), values.size() * sizeof(T));
    return values;
  }
  void launch(const Program& program, uint32_t groups, std::vector<BufferArgument> buffers, std::vector<uint32_t> parameters) {
    runtime().launch({&program, {groups, 1, 1}, buffers, parameters});
  }

 private:
  int index_ = 0;
  std::unique_ptr<Device> device_;
};

inline std::string variant_name(const testing::TestParamInfo<const char*>& variant) { return variant.param; }

// y[i] = y[i] * factor + x[i], for i below n.
[[nodiscard]] inline ir::Kernel multiply_add() {
  using namespace ir;
  KernelBuilder k("multiply_add", {.group_size = 64});
  const Memory x = k.buffer("x", Element::u32), y = k.output("y", Element::u32);
  const Value n = k.parameter("n", Type::u32), factor = k.parameter("factor", Type::u32);
  const Value i = k.group_id() * 64U + k.local_id();
  k.when(i < n, [&] { y[i] = y[i] * factor + x[i]; });
  return k.finish();
}

}  // namespace wick::vulkan
