// The driver's barriers, memory, handles, limits and compiler on the first device of this machine, and what is said where calls fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "oneapi/fake_loader.h"
#include "oneapi/fake_module.h"
#include "unit/environment_variable.h"
#include "unit/message_of.h"
#include "unit/on_device.h"
#include "unit/temporary_folder.h"
#include "wick/backend/oneapi/driver.h"
#include "wick/backend/oneapi/oneapi.h"
#include "wick/tensor/tensor.h"

namespace wick::oneapi {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using Bytes = std::vector<uint8_t>;
using Words = std::vector<uint32_t>;

class OneApiDevice : public OnDevice<testing::Test> {
 protected:
  void SetUp() override {
    if (installation().devices.empty()) GTEST_SKIP() << installation().missing;
    open({DeviceKind::oneapi, 0});
  }
  void TearDown() override {
    for (const std::string& call : failing_) set_failure(call, 0);
  }

  [[nodiscard]] ZeDriver& driver() { return static_cast<ZeDriver&>(runtime().driver()); }

  // The fake's loader alone makes calls fail, and counts them.
  [[nodiscard]] bool is_fake() const { return library().find("fake_ze_fail") != nullptr; }
  void fail_from_now_on(const std::string& call, int status) {
    failing_.push_back(call);
    set_failure(call, status);
  }
  void set_failure(const std::string& call, int status) { library().function<FakeFail>("fake_ze_fail")(call.c_str(), status); }
  [[nodiscard]] unsigned calls(const char* call) { return library().function<FakeCount>("fake_ze_calls")(call); }

 private:
  [[nodiscard]] static const DynamicLibrary& library() { return *installation().api->library; }

  std::vector<std::string> failing_;
};

TEST_F(OneApiDevice, LaunchesThatShareNothingHaveNoBarrierBetweenThem) {
  if (!is_fake()) GTEST_SKIP() << "the loader counts no calls";
  std::vector<std::unique_ptr<Buffer>> blocks;
  for (uint32_t i = 0; i < 8; ++i) blocks.push_back(upload(Words(64, i)));
  launch(program(), 1, {{blocks[0].get()}, {blocks[1].get()}}, {64, 1});
  queue().synchronize();
  const unsigned before = calls("zeCommandListAppendBarrier");
  for (size_t i = 0; i < 8; i += 2) launch(program(), 1, {{blocks[i].get()}, {blocks[i + 1].get()}}, {64, 1});
  EXPECT_EQ(calls("zeCommandListAppendBarrier"), before);
  launch(program(), 1, {{blocks[1].get()}, {blocks[3].get()}}, {64, 1});
  EXPECT_EQ(calls("zeCommandListAppendBarrier"), before + 1);
}

TEST_F(OneApiDevice, NativeHandlesAreThoseOfTheDevice) {
  const Tensor tensor = Tensor::zeros({8}, DType::f32, device());
  EXPECT_EQ(oneapi_device(device()), driver().queue().device().handle);
  EXPECT_NE(oneapi_driver(device()), nullptr);
  EXPECT_NE(oneapi_context(device()), nullptr);
  EXPECT_NE(oneapi_command_list(device()), nullptr);
  EXPECT_EQ(oneapi_memory(tensor.narrow(0, 3, 2)), static_cast<std::byte*>(oneapi_memory(tensor)) + 12);
  EXPECT_NE(oneapi_module(program()), nullptr);
  EXPECT_NE(oneapi_kernel(program()), nullptr);
  EXPECT_EQ(error_of([] { static_cast<void>(oneapi_memory(*wrap_host_memory(nullptr, 0, nullptr))); }).code(), ErrorCode::device_mismatch);
}

TEST_F(OneApiDevice, ARefusedTextGivesTheCompilersWords) {
  for (const char* text : {"#error this", "__kernel void wick_multiply_add() { no_such_function(); }"}) {
    try {
      static_cast<void>(driver().compile(multiply_add(), text));
      FAIL() << "compiled";
    } catch (const CompilerError& error) {
      EXPECT_THAT(error.log,
                  testing::AnyOf(HasSubstr("ocloc -device 0x"), HasSubstr("zeModuleCreate: ZE_RESULT_ERROR_MODULE_BUILD_FAILURE")));
      EXPECT_THAT(error.log, testing::AnyOf(HasSubstr("error: "), HasSubstr("no_such_function")));
    }
  }
}

// As somebody else's, who keeps it.
TEST_F(OneApiDevice, MemoryOfSomebodyElseIsUsedWhereItLies) {
  const std::shared_ptr<Buffer> other = driver().allocate(2048);
  queue().fill(*other, 0, 2048, std::byte{0});
  void* const place = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(oneapi_memory(*other)) + 255) / 256 * 256);  // NOLINT
  const std::weak_ptr<Buffer> watched = other;
  {
    const Tensor wrapped(std::make_shared<Storage>(device(), DType::f32, wrap_oneapi_memory(device(), place, 1024, other)),
                         Layout(Shape({256})));
    wrapped.zero_set();
    EXPECT_THAT((wrapped + 2.0).to_vector<float>(), Each(2));
    EXPECT_EQ(oneapi_memory(wrapped), place);
    EXPECT_GT(watched.use_count(), 1);
  }
  EXPECT_EQ(watched.use_count(), 1);
  EXPECT_THAT(download<uint32_t>(*other), Each(0));
  const Error error = error_of([&] { static_cast<void>(wrap_oneapi_memory(device(), nullptr, 16, nullptr)); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_STREQ(error.what(), "memory of a oneapi device at 0x0: there is none");
}

// What Intel's compiler, or another one, made of OpenCL C before.
TEST_F(OneApiDevice, AModuleOfSpirvRunsAsAKernelOfTheUsersOwn) {
  if (!is_fake()) GTEST_SKIP() << "the fake's modules are texts";
  const TemporaryFolder refused;
  const Variable temporary("TMPDIR", refused.path().string());
  const KernelSource source{SourceLanguage::spirv, fake_module("__kernel void count_from(__global uint* y, uint first, uint step) {"
                                                               " y[get_global_id(0)] = first + step * get_global_id(0); }")};
  const KernelSignature signature{.group_size = 16,
                                  .buffers = {{"y", ir::Element::u32, ir::Access::read_write}},
                                  .scalars = {{"first", ir::Type::u32}, {"step", ir::Type::u32}}};
  const std::shared_ptr<const Program> counted = runtime().compile_source("counted", source, "count_from", signature);
  const auto y = upload(Words(64, 0));
  launch(*counted, 4, {{y.get()}}, {100, 3});
  const Words words = download<uint32_t>(*y);
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(words[i], 100 + 3 * i);
  const KernelSource faulty{SourceLanguage::spirv, fake_module("__kernel void count_from(__global uint* y) { no_such_function(); }")};
  const Error error = error_of([&] { static_cast<void>(runtime().compile_source("counted", faulty, "count_from", signature)); });
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_THAT(error.what(), HasSubstr("no_such_function"));
}

TEST_F(OneApiDevice, CodeThatIsNoneIsNotLoaded) {
  const Bytes garbage(100, '*');
  EXPECT_EQ(driver().load(multiply_add(), std::as_bytes(std::span(garbage))), nullptr);
}

TEST_F(OneApiDevice, TheKeyOfItsCodeNamesDriverDeviceAndOptions) {
  const FoundDevice& found = installation().devices[0];
  EXPECT_THAT(driver().binary_key(), AllOf(HasSubstr(found.caps.driver), HasSubstr(found.caps.name), HasSubstr("-cl-std=CL")));
}

TEST_F(OneApiDevice, KeptCodeIsLoadedWithoutTheCompiler) {
  if (!is_fake()) GTEST_SKIP() << "the loader counts no calls";
  const TemporaryFolder folder;
  std::vector<uint32_t> results[2];
  unsigned natives[2] = {};
  for (int run = 0; run < 2; ++run) {
    open({DeviceKind::oneapi, 0}, {.cache_directory = folder.path().string()});
    const unsigned before = calls("zeModuleGetNativeBinary");
    const auto x = upload(Words(64, 3)), y = upload(Words(64, 4));
    launch(program(), 1, {{x.get()}, {y.get()}}, {64, 5});
    results[run] = download<uint32_t>(*y);
    natives[run] = calls("zeModuleGetNativeBinary") - before;
  }
  EXPECT_THAT(results[0], Each(23));
  EXPECT_EQ(results[0], results[1]);
  EXPECT_GT(natives[0], 0U);
  EXPECT_EQ(natives[1], 0U);
}

TEST_F(OneApiDevice, ABufferBeyondTheLimitNamesBoth) {
  const uint64_t limit = runtime().caps().max_buffer_bytes;
  const Error error = error_of([&] { static_cast<void>(driver().allocate(limit + 1)); });
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("oneapi:0 ("), HasSubstr(std::to_string(limit + 1)), HasSubstr(std::to_string(limit))));
}

TEST_F(OneApiDevice, WithoutMemoryTheErrorSaysHowMuchWasAskedForAndTheDeviceGoesOn) {
  if (!is_fake()) GTEST_SKIP() << "the loader makes no call fail";
  fail_from_now_on("zeMemAllocDevice", kOutOfDeviceMemory);
  const Error error = error_of([&] { static_cast<void>(runtime().allocate(12345678, Lifetime::transient)); });
  EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
  EXPECT_THAT(error.what(), HasSubstr("12345678 bytes"));
  set_failure("zeMemAllocDevice", 0);
  EXPECT_THAT(download<uint32_t>(*upload(Words(10, 7))), Each(7));
}

TEST_F(OneApiDevice, WithoutHostMemoryAnUploadSaysSo) {
  if (!is_fake()) GTEST_SKIP() << "the loader makes no call fail";
  fail_from_now_on("zeMemAllocHost", kOutOfHostMemory);
  const Error error = error_of([&] { static_cast<void>(upload(Words(10, 7))); });
  EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
  EXPECT_THAT(error.what(), HasSubstr("8388608 bytes of host memory for an upload"));
}

TEST_F(OneApiDevice, AnErrorOfACallIsLevelZerosOwn) {
  if (!is_fake()) GTEST_SKIP() << "the loader makes no call fail";
  constexpr int kUnsupportedFeature = 0x78000003;
  const auto x = upload(Words(64, 1)), y = upload(Words(64, 0));
  launch(program(), 1, {{x.get()}, {y.get()}}, {64, 1});
  fail_from_now_on("zeCommandListAppendLaunchKernel", kUnsupportedFeature);
  try {
    launch(program(), 1, {{x.get()}, {y.get()}}, {64, 1});
    FAIL() << "launched";
  } catch (const OneApiError& error) {
    EXPECT_EQ(error.call(), "zeCommandListAppendLaunchKernel");
    EXPECT_EQ(error.status(), kUnsupportedFeature);
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("oneapi:0 ("), HasSubstr("kernel multiply_add"), HasSubstr("ZE_RESULT_ERROR_UNSUPPORTED_FEATURE")));
  }
  EXPECT_FALSE(runtime().is_lost());
}

TEST_F(OneApiDevice, ADeviceThatIsLostSaysSoAtEveryCallAndOpensAgain) {
  if (!is_fake()) GTEST_SKIP() << "the loader makes no call fail";
  using Call = std::function<void(const Buffer&, const Buffer&)>;
  const std::vector<std::pair<std::string, Call>> uses = {
      {"launch",
       [&](const Buffer& x, const Buffer& y) { launch(program(), 1, {{const_cast<Buffer*>(&x)}, {const_cast<Buffer*>(&y)}}, {64, 1}); }},
      {"download", [&](const Buffer&, const Buffer& y) { static_cast<void>(download<uint32_t>(y)); }},
      {"upload", [&](const Buffer&, const Buffer&) { static_cast<void>(upload(Words(64))); }},
      {"allocation", [&](const Buffer&, const Buffer&) { static_cast<void>(driver().allocate(99999)); }},
      {"wait", [&](const Buffer&, const Buffer&) { queue().synchronize(); }},
      {"event", [&](const Buffer&, const Buffer&) { queue().record()->wait(); }},
  };
  for (const auto& [name, first] : uses) {
    SCOPED_TRACE(name);
    open({DeviceKind::oneapi, 0});
    const auto x = upload(Words(64, 1)), y = upload(Words(64, 0));
    launch(program(), 1, {{x.get()}, {y.get()}}, {64, 1});
    EXPECT_FALSE(runtime().is_lost());
    fail_from_now_on("*", kDeviceLost);
    const Error error = error_of([&] { first(*x, *y); });
    set_failure("*", 0);  // a call may work again; what the device held is not to be trusted
    EXPECT_EQ(error.code(), ErrorCode::device_lost) << error.what();
    EXPECT_THAT(error.what(), AllOf(HasSubstr("oneapi:0 ("), HasSubstr("is lost (ze"), HasSubstr("ZE_RESULT_ERROR_DEVICE_LOST"),
                                    HasSubstr("the last kernel queued was multiply_add"), HasSubstr("open it again")));
    EXPECT_TRUE(runtime().is_lost());
    for (const auto& [again, use] : uses) {
      EXPECT_STREQ(error_of([&] { use(*x, *y); }).what(), error.what()) << again;
    }
  }
  open({DeviceKind::oneapi, 0});
  EXPECT_THAT(Tensor::ones({4}, DType::f32, device()).to_vector<float>(), Each(1));
}

}  // namespace
}  // namespace wick::oneapi
