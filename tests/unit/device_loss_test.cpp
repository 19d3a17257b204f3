// What becomes of a device that fails while it works, in every part of a computation: with a driver whose calls fail on purpose.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <optional>

#include "unit/host_block.h"
#include "unit/temporary_folder.h"
#include "wick/base/error.h"
#include "wick/base/log.h"
#include "wick/device/device_lost.h"
#include "wick/device/graph.h"
#include "wick/device/interpreted_program.h"
#include "wick/device/kernel_runtime.h"
#include "wick/tensor/ops/normalize.h"
#include "wick/tensor/tensor.h"

namespace wick {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

enum class Call { launch, upload, download, copy, wait, allocation, compilation };

// When the device fails, and what it knows then.
struct Health {
  Call fails = Call::launch;
  int calls = 1 << 30;  // of that kind that go well
  bool at_once = true;  // the call that fails says so; else the next one that waits
  std::optional<Error> failure = {};
  std::string last_kernel = {};

  void note(Call call) {
    if (!failure && call == fails && calls-- == 0) failure = device_lost("fragile", "on purpose", last_kernel);
    const bool waits = call == Call::download || call == Call::wait;
    if (failure && (at_once || waits)) throw Error(*failure);
  }
};

class FragileQueue final : public Queue {
 public:
  explicit FragileQueue(Health& health) : health_(health) {}
  void upload(const std::byte* source, Buffer& target, size_t offset, size_t bytes) override {
    health_.note(Call::upload);
    if (!health_.failure) std::memcpy(address(target, offset), source, bytes);
  }
  void download(const Buffer& source, size_t offset, std::byte* target, size_t bytes) override {
    health_.note(Call::download);
    std::memcpy(target, address(source, offset), bytes);
  }
  void copy(Buffer& source, size_t source_offset, Buffer& target, size_t target_offset, size_t bytes) override {
    health_.note(Call::copy);
    if (!health_.failure) std::memmove(address(target, target_offset), address(source, source_offset), bytes);
  }
  void fill(Buffer& target, size_t offset, size_t bytes, std::byte value) override {
    health_.note(Call::copy);
    if (!health_.failure) std::memset(address(target, offset), static_cast<int>(value), bytes);
  }
  void launch(const Launch& launch) override {
    if (!health_.failure) health_.last_kernel = launch.program->kernel().name;
    health_.note(Call::launch);
    if (!health_.failure) interpret(launch);
  }
  void synchronize() override { health_.note(Call::wait); }

 private:
  Health& health_;
};

class FragileDriver final : public KernelDriver {
 public:
  explicit FragileDriver(Health& health) : health_(health), queue_(health) {
    caps_.name = "fragile";
    caps_.max_group_size = 256;
    caps_.max_shared_bytes = 32768;
    caps_.max_parameter_bytes = 128;
  }
  [[nodiscard]] const DeviceCaps& caps() const noexcept override { return caps_; }
  [[nodiscard]] Queue& queue() noexcept override { return queue_; }
  // As drivers do: what they have no memory for, and what they have no device for, is one.
  [[nodiscard]] std::unique_ptr<Buffer> allocate(size_t bytes) override {
    try {
      health_.note(Call::allocation);
    } catch (const Error&) {
      return nullptr;
    }
    return health_.failure ? nullptr : std::make_unique<HostBlock>(bytes);
  }
  [[nodiscard]] const ir::Dialect* dialect() const noexcept override { return &ir::opencl_dialect(); }
  [[nodiscard]] std::string binary_key() const override { return {}; }
  [[nodiscard]] std::vector<std::byte> compile(const ir::Kernel& /*prepared*/, const std::string& /*text*/) override {
    try {
      health_.note(Call::compilation);
    } catch (const Error&) {
      throw CompilerError{"nobody is there"};
    }
    if (health_.failure) throw CompilerError{"nobody is there"};
    return {};
  }
  [[nodiscard]] std::shared_ptr<const Program> load(ir::Kernel prepared, std::span<const std::byte> /*binary*/) override {
    return std::make_shared<const Program>(std::move(prepared));
  }
  [[nodiscard]] bool is_lost() const noexcept override { return health_.failure.has_value(); }

 private:
  Health& health_;
  DeviceCaps caps_;
  FragileQueue queue_;
};

std::optional<Error> error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

// Uploads, launches of several kernels, and a download.
std::vector<float> compute(const Device& device) {
  std::vector<float> numbers(8 * 32);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 13) / 8;
  const Tensor x = Tensor::from_vector(numbers, {8, 32}, device);
  return softmax_last_dim(x.matmul(x.t()) + Tensor::of<float>({0.5F}, device)).to_vector<float>();
}

struct Failure {
  Call fails;
  int calls;
  bool at_once;
};

void PrintTo(const Failure& setting, std::ostream* out) {
  *out << "call " << static_cast<int>(setting.fails) << " after " << setting.calls << (setting.at_once ? " at once" : " at the next wait");
}

class DeviceLoss : public testing::TestWithParam<Failure> {
 protected:
  [[nodiscard]] Device device(const DeviceOptions& options) {
    return Device::adopt({DeviceKind::reference, 0}, std::make_shared<KernelRuntime>(std::make_unique<FragileDriver>(health_), options));
  }
  // From now on.
  void fail_soon() {
    health_.fails = GetParam().fails;
    health_.calls = GetParam().calls;
    health_.at_once = GetParam().at_once;
  }
  void expect_lost(const std::optional<Error>& error) {
    ASSERT_TRUE(error.has_value()) << "nothing was thrown";
    EXPECT_EQ(error->code(), ErrorCode::device_lost) << error->what();
    EXPECT_THAT(error->what(), StartsWith("fragile is lost (on purpose)"));
    EXPECT_THAT(error->what(), HasSubstr("the last kernel queued was " + health_.last_kernel + "; what was on it is gone: open it again"));
  }

  Health health_;
};

// The error comes out of whatever is being done, it comes again at every try, nothing leaks, and a device opened anew gives what the first
// one gave.
TEST_P(DeviceLoss, IsOneErrorFromThenOnAndAnotherRuntimeWorks) {
  for (const bool validate : {false, true}) {
    health_ = {};
    const DeviceOptions options{.threads = 0, .variant = {}, .cache_directory = {}, .validate = validate, .trace_file = {}};
    const Device broken = device(options);
    const std::vector<float> expected = compute(broken);
    EXPECT_FALSE(broken.runtime().is_lost());
    const Tensor kept = Tensor::ones({1000}, DType::f32, broken);
    broken.synchronize();
    fail_soon();
    std::optional<Error> error;
    for (int i = 0; i < 10 && !error; ++i) {
      error = error_of([&] {
        static_cast<KernelRuntime&>(broken.runtime()).allocator().release_kept();
        static_cast<void>(compute(broken));
        const Tensor other = kept.sin() + kept.exp();  // kernels that are not compiled yet
        other.slice_set(kept, 0, 0);
      });
    }
    expect_lost(error);
    EXPECT_TRUE(broken.runtime().is_lost());
    const std::optional<Error> again = error_of([&] { static_cast<void>(compute(broken)); });
    expect_lost(again);
    expect_lost(error_of([&] { static_cast<void>(kept.to_vector<float>()); }));

    health_ = {};
    const Device opened = device(options);
    EXPECT_EQ(compute(opened), expected);
  }
}

TEST_P(DeviceLoss, ATraceAndAGraphEndWithoutAnotherError) {
  const TemporaryFolder folder;
  std::vector<std::string> said;
  set_log_hook([&](LogLevel level, std::string_view message) {
    if (level == LogLevel::warning) said.emplace_back(message);
  });
  {
    const Device broken =
        device({.threads = 0, .variant = {}, .cache_directory = {}, .validate = false, .trace_file = (folder / "trace.json").string()});
    std::optional<Graph> graph = Graph::record(broken, [&] { static_cast<void>(compute(broken)); });
    broken.synchronize();
    fail_soon();
    std::optional<Error> error;
    for (int i = 0; i < 10 && !error; ++i) {
      error = error_of([&] {
        graph->replay();
        broken.synchronize();
        static_cast<void>(Graph::record(broken, [&] { static_cast<void>(Tensor::ones({1000 * (i + 1)}, DType::f32, broken).sin()); }));
        static_cast<void>(compute(broken));
      });
    }
    expect_lost(error);
    EXPECT_FALSE(static_cast<KernelRuntime&>(broken.runtime()).is_recording());
  }
  set_log_hook({});
  ASSERT_EQ(said.size(), 1U);
  EXPECT_THAT(said[0], testing::AllOf(HasSubstr("trace"), HasSubstr("fragile is lost")));
}

TEST_P(DeviceLoss, MemoryOfItIsGivenBack) {
  const Device broken = device({});
  {
    const Tensor kept = Tensor::ones({1000}, DType::f32, broken);
    fail_soon();
    health_.calls = 0;
    for (int i = 0; i < 3; ++i) static_cast<void>(error_of([&] { static_cast<void>((kept + kept).cos().to_vector<float>()); }));
  }
  EXPECT_EQ(broken.runtime().allocated_bytes(), 0U);
}

INSTANTIATE_TEST_SUITE_P(, DeviceLoss,
                         testing::Values(Failure{Call::launch, 0, true}, Failure{Call::launch, 0, false}, Failure{Call::launch, 3, true},
                                         Failure{Call::launch, 3, false}, Failure{Call::upload, 0, true}, Failure{Call::upload, 1, false},
                                         Failure{Call::download, 0, true}, Failure{Call::allocation, 0, true},
                                         Failure{Call::allocation, 1, false}, Failure{Call::wait, 0, true},
                                         Failure{Call::compilation, 0, false}));

}  // namespace
}  // namespace wick
