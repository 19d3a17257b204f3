// The driver's memory, queue, events and compiler: on NVIDIA's where this machine has it, and on one that is faked, calls and faults and
// all (tests/fake_cuda).
#include "wick/backend/cuda/driver.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <numeric>
#include <vector>

#include "fake_cuda/fake_cuda.h"
#include "wick/backend/cuda/cuda.h"
#include "wick/device/graph.h"
#include "wick/device/kernel_runtime.h"
#include "wick/ir/builder.h"
#include "wick/tensor/tensor.h"

namespace wick::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Words = std::vector<uint32_t>;

// y[i] = x[i] + add, for 64 elements a group.
ir::Kernel add_kernel() {
  ir::KernelBuilder k("add_number", {.group_size = 64});
  const ir::Memory x = k.buffer("x", ir::Element::u32), y = k.output("y", ir::Element::u32);
  const ir::Value add = k.parameter("add", ir::Type::u32);
  const ir::Value i = k.group_id() * 64U + k.local_id();
  y[i] = x[i] + add;
  return k.finish();
}

Words counted(size_t count, uint32_t first = 0) {
  Words words(count);
  std::iota(words.begin(), words.end(), first);
  return words;
}

std::unique_ptr<Buffer> upload(Runtime& runtime, const Words& words) {
  return runtime.import_host(reinterpret_cast<std::byte*>(const_cast<uint32_t*>(words.data())), words.size() * 4, nullptr);
}

Words download(Runtime& runtime, const Buffer& buffer) {
  Words words(buffer.bytes() / 4);
  runtime.queue().download(buffer, 0, reinterpret_cast<std::byte*>(words.data()), buffer.bytes());
  return words;
}

// Runs the action and gives its message and what else the test asks of the error.
template <class Kind = Error>
Kind error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Kind& error) {
    return error;
  }
  throw std::runtime_error("nothing failed");
}

class CudaDriverTest : public testing::TestWithParam<const char*> {
 protected:
  static bool is_fake() { return std::string_view(GetParam()) == "fake"; }
  void SetUp() override {
    const std::filesystem::path folder = WICK_FAKE_CUDA_FOLDER;
    if (is_fake() && !std::filesystem::exists(folder)) GTEST_SKIP() << "no fake driver";
    try {
      std::vector<std::string> compilers{folder / "libnvrtc.so.12"};
      if (is_fake()) {
        // Its state is this process's: the library is the same whoever opens it.
        const DynamicLibrary library(folder / "libcuda.so.1");
        fake_ = library.function<fake_cuda::State*()>("fake_cuda_state")();
        fake_->reset();
      }
      api_ = load_api(is_fake() ? folder / "libcuda.so.1" : std::filesystem::path(kDriverLibrary));
      if (!is_fake()) compilers = Compiler::libraries_for(api_->version);
      compiler_ = std::make_shared<const Compiler>(compilers);
    } catch (const Error& error) {
      if (is_fake()) throw;
      GTEST_SKIP() << error.what();
    }
    devices_ = find_devices(*api_);
    if (devices_.empty()) GTEST_SKIP() << "no device";
  }

  [[nodiscard]] std::unique_ptr<CudaDriver> driver(size_t number = 0) const {
    return std::make_unique<CudaDriver>(api_, compiler_, devices_.at(number), static_cast<int>(number));
  }
  [[nodiscard]] std::unique_ptr<Runtime> runtime(size_t number = 0) const { return std::make_unique<KernelRuntime>(driver(number)); }

  fake_cuda::State* fake_ = nullptr;
  std::shared_ptr<const Api> api_;
  std::shared_ptr<const Compiler> compiler_;
  std::vector<FoundDevice> devices_;
};
using CudaFaultTest = CudaDriverTest;

TEST_P(CudaDriverTest, BytesComeBackAsTheyWent) {
  const std::unique_ptr<Runtime> device = runtime();
  const std::unique_ptr<Buffer> a = upload(*device, counted(1000)), b = device->allocate(4000, Lifetime::transient);
  device->queue().fill(*b, 0, 4000, std::byte{0x11});
  device->queue().copy(*a, 40, *b, 400, 800);
  const Words got = download(*device, *b);
  for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], i >= 100 && i < 300 ? i - 90 : 0x11111111U);
}

// More than the pinned memory holds, so that it is used again: what is in it must not be overwritten before the device has read it.
TEST_P(CudaDriverTest, ManyUploadsPassThroughTheSamePinnedMemory) {
  const std::unique_ptr<Runtime> device = runtime();
  const size_t words = StagingRing::kPieceBytes / 4 / 3 + 5;
  std::vector<std::unique_ptr<Buffer>> buffers;
  for (uint32_t i = 0; i < 20; ++i) buffers.push_back(upload(*device, counted(words, i * 1000)));
  const std::unique_ptr<Buffer> large = upload(*device, counted(3 * StagingRing::kPieceBytes / 4 + 7, 9));
  for (uint32_t i = 0; i < 20; ++i) EXPECT_EQ(download(*device, *buffers[i]), counted(words, i * 1000)) << i;
  EXPECT_EQ(download(*device, *large), counted(3 * StagingRing::kPieceBytes / 4 + 7, 9));
}

TEST_P(CudaDriverTest, KernelsSeeABufferFromItsOffsetOn) {
  const std::unique_ptr<Runtime> device = runtime();
  const size_t offset = device->caps().buffer_offset_alignment, skipped = offset / 4;
  const std::unique_ptr<Buffer> x = upload(*device, counted(skipped + 128)), y = upload(*device, Words(3 * skipped + 128, 7));
  const std::shared_ptr<const Program> program = device->compile(add_kernel());
  const std::array<BufferArgument, 2> buffers{{{x.get(), offset, 512}, {y.get(), 2 * offset, 512}}};
  const Words parameters{1000};
  device->launch({program.get(), {2, 1, 1}, buffers, parameters});
  const Words got = download(*device, *y);
  for (size_t i = 0; i < got.size(); ++i) {
    const bool written = i >= 2 * skipped && i < 2 * skipped + 128;
    ASSERT_EQ(got[i], written ? i - skipped + 1000 : 7) << i;
  }
}

TEST_P(CudaDriverTest, EventsAreInTheOrderOfTheQueue) {
  const std::unique_ptr<Runtime> device = runtime();
  const std::unique_ptr<Buffer> x = upload(*device, counted(64)), y = upload(*device, Words(64));
  const std::shared_ptr<const Program> program = device->compile(add_kernel());
  const std::array<BufferArgument, 2> buffers{{{x.get()}, {y.get()}}};
  const std::unique_ptr<Event> before = device->queue().record();
  for (uint32_t i = 0; i < 10; ++i) device->launch({program.get(), {}, buffers, Words{i}});
  const std::unique_ptr<Event> after = device->queue().record();
  if (is_fake()) {
    EXPECT_FALSE(after->is_done());
  }
  after->wait();
  EXPECT_TRUE(before->is_done());
  EXPECT_TRUE(after->is_done());
  EXPECT_EQ(download(*device, *y), counted(64, 9));
  const std::optional<double> seconds = after->seconds_since(*before);
  ASSERT_TRUE(seconds);
  EXPECT_GE(*seconds, 0);
  EXPECT_LT(*seconds, 10);
}

TEST_P(CudaDriverTest, ARefusedTextGivesTheCompilersWords) {
  try {
    static_cast<void>(driver()->compile(add_kernel(), "extern \"C\" __global__ void wick_add_number() { no_such_function(); }"));
    FAIL() << "compiled";
  } catch (const CompilerError& error) {
    EXPECT_THAT(error.log, HasSubstr("no_such_function"));
  }
}

TEST_P(CudaDriverTest, ABinaryOfSomethingElseIsNotLoaded) {
  const std::vector<std::byte> garbage(100, std::byte{42});
  EXPECT_EQ(driver()->load(add_kernel(), garbage), nullptr);
}

TEST_P(CudaDriverTest, TheKeyOfABinaryNamesCompilerAndProcessor) {
  EXPECT_THAT(driver()->binary_key(), AllOf(HasSubstr("NVRTC " + version_text(compiler_->version())),
                                            HasSubstr("sm_" + std::to_string(devices_[0].capability)), HasSubstr("--std=c++17")));
}

TEST_P(CudaDriverTest, WithoutMemoryTheErrorSaysHowMuchIsFreeAndTheDeviceGoesOn) {
  const std::unique_ptr<Runtime> device = runtime();
  const size_t much = device->caps().memory_bytes;
  const Error error = error_of([&] { static_cast<void>(device->allocate(much + 4096, Lifetime::transient)); });
  EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("out of memory: requested " + std::to_string(much + 4096) + " bytes"),
                                  HasSubstr(" of " + std::to_string(much) + " in use, "), HasSubstr(" free")));
  EXPECT_EQ(download(*device, *upload(*device, counted(10))), counted(10));
}

// The third replay is the second by the driver, and a parameter that changes is seen.
TEST_P(CudaDriverTest, AGraphIsReplayedByTheDriverUntilItChanges) {
  const Device device = Device::adopt({DeviceKind::cuda, 0}, runtime());
  Runtime& runtime = device.runtime();
  const std::unique_ptr<Buffer> x = upload(runtime, counted(64)), y = upload(runtime, Words(64)), z = upload(runtime, Words(64));
  const std::shared_ptr<const Program> program = runtime.compile(add_kernel());
  Graph graph = Graph::record(device, [&] {
    const std::array<BufferArgument, 2> there{{{x.get()}, {y.get()}}}, back{{{y.get()}, {x.get()}}};
    runtime.launch({program.get(), {}, there, Words{1}});
    runtime.launch({program.get(), {}, back, Words{10}});
    runtime.queue().copy(*x, 0, *z, 0, 256);
  });
  EXPECT_EQ(download(runtime, *z), counted(64, 11));
  const int launches = is_fake() ? fake_->count("cuLaunchKernel") : 0;
  for (uint32_t i = 0; i < 4; ++i) graph.replay();
  EXPECT_EQ(download(runtime, *z), counted(64, 55));
  if (is_fake()) {
    EXPECT_EQ(fake_->count("cuGraphLaunch"), 3);
    EXPECT_EQ(fake_->count("cuLaunchKernel"), launches + 4);  // the first replay's, and those of the capture
  }
  graph.set_parameter(0, 0, 5);
  for (int i = 0; i < 3; ++i) graph.replay();
  EXPECT_EQ(download(runtime, *z), counted(64, 100));
  if (is_fake()) {
    EXPECT_EQ(fake_->count("cuGraphInstantiateWithFlags"), 2);
  }
}

TEST_P(CudaDriverTest, ItsOwnHandlesReachTheSameMemory) {
  const Device device = Device::adopt({DeviceKind::cuda, 0}, runtime());
  EXPECT_EQ(cuda_device(device), devices_[0].id);
  EXPECT_NE(cuda_context(device), nullptr);
  const Tensor tensor = Tensor::from_vector(std::vector<float>{1, 2, 3, 4}, {2, 2}, device);
  const uint64_t address = cuda_memory(tensor.narrow(0, 1, 1));
  EXPECT_EQ(address, cuda_memory(tensor) + 8);
  // As code of NVIDIA's would: queued behind the upload on the same stream.
  ASSERT_EQ(api_->fill_bytes.address(address, 0, 4, cuda_stream(device)), 0);
  EXPECT_EQ(tensor.to_vector<float>(), (std::vector<float>{1, 2, 0, 4}));
  StreamAddress other = 0;
  ASSERT_EQ(api_->memory_allocate.address(&other, 1024), 0);
  bool freed = false;
  {
    const std::shared_ptr<const void> owner(this, [&](const void*) { freed = true; });
    const auto storage = std::make_shared<Storage>(device, DType::f32, wrap_cuda_memory(other, 1024, owner));
    const Tensor wrapped(storage, Layout(Shape({256})));
    wrapped.zero_set();
    EXPECT_EQ(cuda_memory(wrapped), other);
    EXPECT_EQ((wrapped + 2.0).to_vector<float>(), std::vector<float>(256, 2.0F));
  }
  EXPECT_TRUE(freed);
  EXPECT_EQ(api_->memory_free.address(other), 0);
  EXPECT_STREQ(error_of([&] { static_cast<void>(wrap_cuda_memory(other + 4, 16, nullptr)); }).what(),
               fmt::format("memory of a cuda device at {:#x}: the address is not a multiple of 256", other + 4).c_str());
}

// --- the fake alone -------------------------------------------------------------------------------------------------------------------

TEST_P(CudaFaultTest, NothingIsLeftWhenADeviceIsClosed) {
  const int contexts = fake_->contexts, streams = fake_->streams, events = fake_->events, modules = fake_->modules;
  const size_t allocated = fake_->allocated, pinned = fake_->pinned;
  {
    const std::unique_ptr<Runtime> device = runtime();
    const std::unique_ptr<Buffer> x = upload(*device, counted(64)), y = upload(*device, Words(64));
    const std::shared_ptr<const Program> program = device->compile(add_kernel());
    const std::array<BufferArgument, 2> buffers{{{x.get()}, {y.get()}}};
    device->launch({program.get(), {}, buffers, Words{1}});
    device->queue().record()->wait();
    EXPECT_EQ(download(*device, *y), counted(64, 1));
    EXPECT_EQ(fake_->count("cuLaunchKernel"), 1);
  }
  EXPECT_EQ(fake_->contexts, contexts);
  EXPECT_EQ(fake_->streams, streams);
  EXPECT_EQ(fake_->events, events);
  EXPECT_EQ(fake_->modules, modules);
  EXPECT_EQ(fake_->allocated, allocated);
  EXPECT_EQ(fake_->pinned, pinned);
}

TEST_P(CudaFaultTest, FreedMemoryIsUsedAgainWithoutTheDriver) {
  const std::unique_ptr<Runtime> device = runtime();
  for (int i = 0; i < 5; ++i) static_cast<void>(device->allocate(100'000, Lifetime::transient));
  EXPECT_EQ(fake_->count("cuMemAlloc_v2"), 1);
}

TEST_P(CudaFaultTest, AnOldDriverIsNamedWithItsVersion) {
  fake_->version = 10020;
  const Error error = error_of([&] { static_cast<void>(load_api(api_->library->name())); });
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_STREQ(error.what(), "the NVIDIA driver knows CUDA 10.2, and 11.4 is needed: install a newer driver");
}

TEST_P(CudaFaultTest, ADriverThatDoesNotStartSaysItsStatus) {
  fake_->faults["cuInit"] = {.status = 803};
  const auto error = error_of<CudaError>([&] { static_cast<void>(load_api(api_->library->name())); });
  EXPECT_EQ(error.code(), ErrorCode::no_device);
  EXPECT_EQ(error.status(), 803);
  EXPECT_EQ(error.call(), "cuInit");
  EXPECT_EQ(error.status_name(), "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH");
}

TEST_P(CudaFaultTest, AMissingFunctionIsNamed) {
  const Error error = error_of([&] { static_cast<void>(load_api("libm.so.6")); });
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_STREQ(error.what(), "library libm.so.6 has no cuInit: a driver of CUDA 11.4 or newer is needed");
}

TEST_P(CudaFaultTest, AMissingCompilerIsNamedWithWhatToInstall) {
  const std::vector<std::string> names{"libno-such-nvrtc.so.13", "libno-such-nvrtc.so.12"};
  const Error error = error_of([&] { const Compiler compiler(names); });
  EXPECT_EQ(error.code(), ErrorCode::not_found);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("libno-such-nvrtc.so.13"), HasSubstr("cuda-nvrtc"), HasSubstr("libno-such-nvrtc.so.12")));
}

TEST_P(CudaFaultTest, ACompilerNewerThanTheDriverIsNotTaken) {
  for (const std::string& name : Compiler::libraries_for(12040)) EXPECT_THAT(name, testing::Not(HasSubstr(".so.13")));
  EXPECT_EQ(Compiler::libraries_for(13000).front(), "libnvrtc.so.13");
}

TEST_P(CudaFaultTest, AProcessorNewerThanTheCompilerIsReachedThroughTheDriversOwn) {
  EXPECT_EQ(compiler_->target(80), "sm_80");
  EXPECT_EQ(compiler_->target(90), "sm_90a");
  EXPECT_EQ(compiler_->target(121), "compute_120");
  EXPECT_EQ(compiler_->target(87), "compute_86");
  EXPECT_EQ(compiler_->refusal(90), "");
  EXPECT_THAT(compiler_->refusal(35), AllOf(HasSubstr("NVRTC 12.8"), HasSubstr("35")));
}

TEST_P(CudaFaultTest, DevicesAreListedInTheDriversOrder) {
  fake_->devices = 3;
  const std::vector<FoundDevice> devices = find_devices(*api_);
  ASSERT_EQ(devices.size(), 3U);
  EXPECT_EQ(devices[2].caps.name, "Fake GPU 2");
  EXPECT_EQ(devices[2].capability, 90);
  EXPECT_DOUBLE_EQ(devices[0].caps.memory_bandwidth, 2 * 3.201e9 * 6144 / 8);
  fake_->devices = 0;
  EXPECT_TRUE(find_devices(*api_).empty());
}

TEST_P(CudaFaultTest, TwoDevicesWorkAtOnce) {
  fake_->devices = 2;
  devices_ = find_devices(*api_);
  const std::unique_ptr<Runtime> first = runtime(0), second = runtime(1);
  const std::unique_ptr<Buffer> x = upload(*first, counted(64)), y = upload(*second, counted(64, 100));
  const std::unique_ptr<Buffer> a = upload(*first, Words(64)), b = upload(*second, Words(64));
  const std::shared_ptr<const Program> one = first->compile(add_kernel()), two = second->compile(add_kernel());
  const std::array<BufferArgument, 2> xa{{{x.get()}, {a.get()}}}, yb{{{y.get()}, {b.get()}}};
  first->launch({one.get(), {}, xa, Words{1}});
  second->launch({two.get(), {}, yb, Words{2}});
  EXPECT_EQ(download(*first, *a), counted(64, 1));
  EXPECT_EQ(download(*second, *b), counted(64, 102));
}

TEST_P(CudaFaultTest, AFailureOfQueuedWorkNamesTheKernelAtTheNextWait) {
  const std::unique_ptr<Runtime> device = runtime();
  const std::unique_ptr<Buffer> x = upload(*device, counted(64)), y = upload(*device, Words(64));
  const std::shared_ptr<const Program> program = device->compile(add_kernel());
  const std::array<BufferArgument, 2> buffers{{{x.get()}, {y.get()}}};
  fake_->faults["kernel"] = {.status = 700};
  device->launch({program.get(), {}, buffers, Words{1}});
  const auto error = error_of<CudaError>([&] { device->queue().synchronize(); });
  EXPECT_EQ(error.code(), ErrorCode::device_lost);
  EXPECT_EQ(error.status(), 700);
  EXPECT_STREQ(
      error.what(),
      "cuda:0 (Fake GPU 0) is lost (cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS); the last kernel queued was add_number; what was "
      "on it is gone: open it again");
}

TEST_P(CudaFaultTest, ADeviceThatIsLostSaysSoAtEveryCallAndOpensAgain) {
  using Call = std::function<void(Runtime&, const Launch&, const Buffer&)>;
  const std::vector<std::pair<std::string, Call>> calls = {
      {"launch", [](Runtime& device, const Launch& launch, const Buffer&) { device.launch(launch); }},
      {"download", [](Runtime& device, const Launch&, const Buffer& y) { static_cast<void>(download(device, y)); }},
      {"upload", [](Runtime& device, const Launch&, const Buffer&) { static_cast<void>(upload(device, Words(64))); }},
      {"allocation", [](Runtime& device, const Launch&, const Buffer&) { static_cast<void>(device.allocate(99999, Lifetime::transient)); }},
      {"wait", [](Runtime& device, const Launch&, const Buffer&) { device.queue().synchronize(); }},
      {"event", [](Runtime& device, const Launch&, const Buffer&) { device.queue().record()->wait(); }},
      {"kernel", [](Runtime& device, const Launch&, const Buffer&) { static_cast<void>(device.compile(add_kernel())); }},
  };
  for (const auto& [name, first] : calls) {
    SCOPED_TRACE(name);
    std::unique_ptr<Runtime> device = runtime();
    const std::unique_ptr<Buffer> x = upload(*device, counted(64)), y = upload(*device, Words(64));
    const std::shared_ptr<const Program> program = device->compile(add_kernel());
    const std::array<BufferArgument, 2> buffers{{{x.get()}, {y.get()}}};
    const Words parameters{1};
    const Launch launch{program.get(), {}, buffers, parameters};
    device->launch(launch);
    EXPECT_FALSE(device->is_lost());
    fake_->lost = 719;
    const Error error = error_of([&] { first(*device, launch, *y); });
    fake_->lost = 0;  // one call may work again; what the device held is not to be trusted
    EXPECT_EQ(error.code(), ErrorCode::device_lost) << error.what();
    EXPECT_THAT(error.what(), AllOf(HasSubstr("cuda:0"), HasSubstr("is lost"), HasSubstr("the last kernel queued was add_number")));
    EXPECT_TRUE(device->is_lost());
    for (const auto& [again, call] : calls) {
      EXPECT_STREQ(error_of([&] { call(*device, launch, *y); }).what(), error.what()) << again;
    }
    const int resets = fake_->count("cuDevicePrimaryCtxReset_v2"), freed = fake_->count("cuMemFree_v2");
    const std::unique_ptr<Runtime> other = runtime();
    EXPECT_EQ(fake_->count("cuDevicePrimaryCtxReset_v2"), resets + 1);
    EXPECT_EQ(download(*other, *upload(*other, counted(10))), counted(10));
    // What was in the old context is not given back into the new one.
    device.reset();
    EXPECT_EQ(fake_->count("cuMemFree_v2"), freed);
  }
}

TEST_P(CudaFaultTest, ALaunchThatTheDriverRefusesNamesTheKernelAndTheDeviceGoesOn) {
  const std::unique_ptr<Runtime> device = runtime();
  const std::unique_ptr<Buffer> x = upload(*device, counted(64)), y = upload(*device, Words(64));
  const std::shared_ptr<const Program> program = device->compile(add_kernel());
  const std::array<BufferArgument, 2> buffers{{{x.get()}, {y.get()}}};
  fake_->faults["cuLaunchKernel"] = {.status = 1};
  const auto error = error_of<CudaError>([&] { device->launch({program.get(), {}, buffers, Words{1}}); });
  EXPECT_THAT(error.what(), AllOf(HasSubstr("kernel add_number"), HasSubstr("cuLaunchKernel: CUDA_ERROR_INVALID_VALUE")));
  fake_->faults.clear();
  device->launch({program.get(), {}, buffers, Words{5}});
  EXPECT_EQ(download(*device, *y), counted(64, 5));
}

TEST_P(CudaFaultTest, WithoutPinnedMemoryBytesGoTheSlowerWay) {
  fake_->faults["cuMemHostAlloc"] = {.status = 2};
  const std::unique_ptr<Runtime> device = runtime();
  EXPECT_EQ(download(*device, *upload(*device, counted(5000))), counted(5000));
}

INSTANTIATE_TEST_SUITE_P(On, CudaDriverTest, testing::Values("fake", "machine"), [](const auto& info) { return std::string(info.param); });
INSTANTIATE_TEST_SUITE_P(On, CudaFaultTest, testing::Values("fake"), [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace wick::cuda
