// Every kernel and every node on every device that this machine has, through its backend.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/kernel_cases.h"
#include "ir/launch.h"
#include "wick/device/registry.h"

namespace wick::ir {
namespace {

std::vector<std::vector<std::byte>> run_on(Runtime& runtime, const KernelCase& c) {
  const std::shared_ptr<const Program> program = runtime.compile(c.kernel);
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<wick::BufferArgument> arguments;
  for (const CaseBuffer& buffer : c.buffers) {
    buffers.push_back(runtime.import_host(const_cast<std::byte*>(buffer.bytes.data()), buffer.bytes.size(), nullptr));
    arguments.push_back({.buffer = buffers.back().get()});
  }
  runtime.launch({.program = program.get(), .grid = c.grid, .buffers = arguments, .parameters = c.parameters});
  std::vector<std::vector<std::byte>> outputs;
  for (const std::unique_ptr<Buffer>& buffer : buffers) {
    outputs.emplace_back(buffer->bytes());
    runtime.queue().download(*buffer, 0, outputs.back().data(), outputs.back().size());
  }
  return outputs;
}

class Devices : public testing::TestWithParam<const Backend*> {};

TEST_P(Devices, RunEveryKernelAsPlainLoopsDo) {
  const Backend& backend = *GetParam();
  const std::vector<DeviceInfo> devices = backend.probe();
  if (devices.empty()) GTEST_SKIP() << "no " << to_string(backend.kind) << " device";
  for (const DeviceInfo& device : devices) {
    // The last variant is the device as it is; of the others a quarter of the cases is enough.
    const std::vector<VariantInfo> variants = backend.variants();
    for (const VariantInfo& variant : variants) {
      const std::shared_ptr<Runtime> runtime = open_runtime(backend.kind, device.index, {.threads = 0, .variant = variant.name});
      const std::vector<KernelCase> cases = device_cases(runtime->caps());
      for (std::size_t i = 0; i < cases.size(); i += variant.name == variants.back().name ? 1 : 4) {
        const std::string error = error_of([&] { EXPECT_EQ(differences(cases[i], run_on(*runtime, cases[i])), "") << device.caps.name; });
        EXPECT_EQ(error, "") << cases[i].name << " on " << device.caps.name << ", " << variant.name;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, Devices, testing::ValuesIn(linked_backends().begin(), linked_backends().end()),
                         [](const auto& test) { return std::string(to_string(test.param->kind)); });

}  // namespace
}  // namespace wick::ir
