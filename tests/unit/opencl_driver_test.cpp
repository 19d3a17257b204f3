// The driver's memory, queue, events and compiler, on every device of this machine.
#include "wick/backend/opencl/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <vector>

#include "unit/message_of.h"
#include "wick/backend/opencl/opencl.h"
#include "wick/backend/opencl/status.h"
#include "wick/device/kernel_runtime.h"
#include "wick/ir/builder.h"
#include "wick/tensor/tensor.h"

namespace wick::opencl {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Words = std::vector<uint32_t>;

constexpr const char* kLoader = "libOpenCL.so.1";

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

class OpenClDriverTest : public testing::Test {
 protected:
  void SetUp() override {
    try {
      api_ = std::make_shared<Api>(load_api(kLoader));
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
    devices_ = find_devices(*api_);
    if (devices_.empty()) GTEST_SKIP() << "no OpenCL device";
  }

  [[nodiscard]] std::unique_ptr<OpenClDriver> driver(size_t number = 0) const {
    return std::make_unique<OpenClDriver>(api_, devices_.at(number), static_cast<int>(number));
  }
  [[nodiscard]] std::unique_ptr<Runtime> runtime(size_t number = 0) const { return std::make_unique<KernelRuntime>(driver(number)); }

  std::shared_ptr<Api> api_;
  std::vector<FoundDevice> devices_;
};

TEST_F(OpenClDriverTest, BytesComeBackAsTheyWent) {
  for (size_t number = 0; number < devices_.size(); ++number) {
    const std::unique_ptr<Runtime> device = runtime(number);
    const Words words = counted(1000);
    const std::unique_ptr<Buffer> a = upload(*device, words), b = device->allocate(4000, Lifetime::transient);
    device->queue().fill(*b, 0, 4000, std::byte{0x11});
    device->queue().copy(*a, 40, *b, 400, 800);
    const Words got = download(*device, *b);
    for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], i >= 100 && i < 300 ? i - 90 : 0x11111111U) << devices_[number].caps.name;
  }
}

TEST_F(OpenClDriverTest, KernelsSeeABufferFromItsOffsetOn) {
  for (size_t number = 0; number < devices_.size(); ++number) {
    const std::unique_ptr<Runtime> device = runtime(number);
    const size_t offset = device->caps().buffer_offset_alignment, skipped = offset / 4;
    const std::unique_ptr<Buffer> x = upload(*device, counted(skipped + 128)), y = upload(*device, Words(3 * skipped + 128, 7));
    const std::shared_ptr<const Program> program = device->compile(add_kernel());
    const std::array<BufferArgument, 2> buffers{{{x.get(), offset, 512}, {y.get(), 2 * offset, 512}}};
    const Words parameters{1000};
    device->launch({program.get(), {2, 1, 1}, buffers, parameters});
    const Words got = download(*device, *y);
    for (size_t i = 0; i < got.size(); ++i) {
      const bool written = i >= 2 * skipped && i < 2 * skipped + 128;
      ASSERT_EQ(got[i], written ? i - skipped + 1000 : 7) << devices_[number].caps.name << " " << i;
    }
  }
}

TEST_F(OpenClDriverTest, TwoDevicesWorkAtOnce) {
  const std::unique_ptr<Runtime> first = runtime(0), second = runtime(devices_.size() - 1);
  const std::unique_ptr<Buffer> x = upload(*first, counted(64)), y = upload(*second, counted(64, 100));
  const std::unique_ptr<Buffer> a = upload(*first, Words(64)), b = upload(*second, Words(64));
  const std::shared_ptr<const Program> one = first->compile(add_kernel()), two = second->compile(add_kernel());
  const std::array<BufferArgument, 2> xa{{{x.get()}, {a.get()}}}, yb{{{y.get()}, {b.get()}}};
  first->launch({one.get(), {}, xa, Words{1}});
  second->launch({two.get(), {}, yb, Words{2}});
  EXPECT_EQ(download(*first, *a), counted(64, 1));
  EXPECT_EQ(download(*second, *b), counted(64, 102));
}

// On every device: what is queued natively comes between the ops before and after.
TEST_F(OpenClDriverTest, NativeHandlesAreThoseOfTheDevice) {
  for (size_t number = 0; number < devices_.size(); ++number) {
    const Device device = Device::opencl(static_cast<int>(number));
    SCOPED_TRACE(device.caps().name);
    EXPECT_EQ(opencl_device(device), devices_[number].id);
    const Tensor x = Tensor::ones({8}, DType::f32, device) + 1.0;
    const OpenClMemory memory = opencl_memory(x.narrow(0, 3, 2));
    EXPECT_EQ(memory.buffer, opencl_memory(x).buffer);
    EXPECT_EQ(memory.offset, opencl_memory(x).offset + 12);
    const float seven = 7;
    ASSERT_EQ(api_->enqueue_fill_buffer(opencl_queue(device), memory.buffer, &seven, 4, memory.offset, 8, 0, nullptr, nullptr), CL_SUCCESS);
    EXPECT_THAT((x * x).to_vector<float>(), testing::ElementsAre(4, 4, 4, 49, 49, 4, 4, 4));
    const std::shared_ptr<const Program> program = device.runtime().compile(add_kernel());
    EXPECT_NE(opencl_kernel(*program), nullptr);
    EXPECT_NE(opencl_program(*program), nullptr);
  }
}

TEST_F(OpenClDriverTest, MemoryOfSomebodyElseIsUsedWhereItLies) {
  for (size_t number = 0; number < devices_.size(); ++number) {
    const Device device = Device::opencl(static_cast<int>(number));
    SCOPED_TRACE(device.caps().name);
    cl_int status = CL_SUCCESS;
    const cl_mem made = api_->create_buffer(opencl_context(device), CL_MEM_READ_WRITE, 1024, nullptr, &status);
    ASSERT_EQ(status, CL_SUCCESS);
    bool released = false;
    {
      std::shared_ptr<const void> owner(made, [&](cl_mem handle) { released = api_->release_mem_object(handle) == CL_SUCCESS; });
      const Tensor wrapped(std::make_shared<Storage>(device, DType::f32, wrap_opencl_memory(device, made, 1024, std::move(owner))),
                           Layout(Shape({256})));
      EXPECT_EQ(opencl_memory(wrapped).buffer, made);
      wrapped.zero_set();
      EXPECT_THAT((wrapped + 2.0).to_vector<float>(), testing::Each(2));
      EXPECT_FALSE(released);
    }
    EXPECT_TRUE(released);
    EXPECT_EQ(error_of([&] { static_cast<void>(wrap_opencl_memory(device, nullptr, 16, nullptr)); }).code(), ErrorCode::invalid_argument);
  }
  EXPECT_EQ(error_of([] { static_cast<void>(opencl_memory(*wrap_host_memory(nullptr, 16, nullptr))); }).code(), ErrorCode::device_mismatch);
}

TEST(OpenClError, HasTheCallAndItsStatus) {
  try {
    check(CL_OUT_OF_HOST_MEMORY, "clCreateBuffer", "opencl:0 (some)");
    FAIL() << "nothing was thrown";
  } catch (const wick::OpenClError& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    EXPECT_EQ(error.call(), "clCreateBuffer");
    EXPECT_EQ(error.status(), CL_OUT_OF_HOST_MEMORY);
    EXPECT_EQ(error.status_name(), "CL_OUT_OF_HOST_MEMORY");
    EXPECT_STREQ(error.what(), "opencl:0 (some): clCreateBuffer: CL_OUT_OF_HOST_MEMORY");
  }
}

TEST_F(OpenClDriverTest, ARefusedTextGivesTheCompilersWords) {
  const std::unique_ptr<OpenClDriver> refusing = driver();
  try {
    static_cast<void>(refusing->compile(add_kernel(), "__kernel void wick_add_number() { no_such_function(); }"));
    FAIL() << "compiled";
  } catch (const CompilerError& error) {
    EXPECT_THAT(error.log, HasSubstr("no_such_function"));
  }
}

TEST_F(OpenClDriverTest, ABinaryOfSomethingElseIsNotLoaded) {
  if (devices_[0].caps.driver.starts_with("rusticl 22."))
    GTEST_SKIP() << "its driver ends the process; the cache's checksums keep such bytes away";
  const std::vector<std::byte> garbage(100, std::byte{42});
  EXPECT_EQ(driver()->load(add_kernel(), garbage), nullptr);
}

TEST_F(OpenClDriverTest, TheKeyOfABinaryNamesDriverDeviceAndOptions) {
  const FoundDevice& device = devices_[0];
  EXPECT_THAT(driver()->binary_key(), AllOf(HasSubstr(device.caps.driver), HasSubstr(device.caps.name), HasSubstr("-cl-std=CL")));
}

TEST_F(OpenClDriverTest, EventsAreInTheOrderOfTheQueue) {
  const std::unique_ptr<Runtime> device = runtime();
  const std::unique_ptr<Buffer> x = upload(*device, counted(64)), y = upload(*device, Words(64));
  const std::shared_ptr<const Program> program = device->compile(add_kernel());
  const std::array<BufferArgument, 2> buffers{{{x.get()}, {y.get()}}};
  const std::unique_ptr<Event> before = device->queue().record();
  for (uint32_t i = 0; i < 10; ++i) device->launch({program.get(), {}, buffers, Words{i}});
  const std::unique_ptr<Event> after = device->queue().record();
  after->wait();
  EXPECT_TRUE(before->is_done());
  EXPECT_TRUE(after->is_done());
  const std::optional<double> seconds = after->seconds_since(*before);
  if (seconds) {
    EXPECT_GE(*seconds, 0);
    EXPECT_LT(*seconds, 10);
  }
}

TEST_F(OpenClDriverTest, ABufferBeyondTheDevicesLimitIsRefusedByIt) {
  const std::unique_ptr<Runtime> device = runtime();
  const Error error = error_of([&] { static_cast<void>(device->allocate(device->caps().max_buffer_bytes + 1024, Lifetime::persistent)); });
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_THAT(error.what(), HasSubstr(std::to_string(device->caps().max_buffer_bytes)));
}

TEST_F(OpenClDriverTest, WithoutMemoryTheErrorSaysHowMuchWasAskedForAndTheDeviceGoesOn) {
  static bool full = false;
  static decltype(Api::create_buffer) real = nullptr;
  real = api_->create_buffer;
  api_->create_buffer = [](cl_context context, cl_mem_flags flags, size_t bytes, void* host, cl_int* status) {
    if (!full) return real(context, flags, bytes, host, status);
    *status = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    return cl_mem{};
  };
  const std::unique_ptr<Runtime> device = runtime();
  full = true;
  const Error error = error_of([&] { static_cast<void>(device->allocate(12345, Lifetime::transient)); });
  full = false;
  EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
  EXPECT_THAT(error.what(), HasSubstr("12345 bytes"));
  EXPECT_EQ(download(*device, *upload(*device, counted(10))), counted(10));
}

TEST_F(OpenClDriverTest, AFailureOfQueuedWorkNamesTheKernelAtTheNextWait) {
  api_->finish = [](cl_command_queue) { return CL_OUT_OF_RESOURCES; };
  const std::unique_ptr<Runtime> device = runtime();
  const std::unique_ptr<Buffer> x = upload(*device, counted(64)), y = upload(*device, Words(64));
  const std::shared_ptr<const Program> program = device->compile(add_kernel());
  const std::array<BufferArgument, 2> buffers{{{x.get()}, {y.get()}}};
  device->launch({program.get(), {}, buffers, Words{1}});
  const Error error = error_of([&] { device->queue().synchronize(); });
  EXPECT_EQ(error.code(), ErrorCode::device_lost);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("the last kernel queued was add_number"), HasSubstr("is lost (clFinish: CL_OUT_OF_RESOURCES)"),
                                  HasSubstr("opencl:0"), HasSubstr("open it again")));
}

// The driver's calls, which fail from some moment on as those of a device that is lost.
bool is_lost = false;
template <auto Api::* call>
void fail_when_lost(Api& api) {
  static std::remove_reference_t<decltype(api.*call)> real;
  real = api.*call;
  api.*call = []<class... Args>(cl_int (*)(Args...)) {
    return +[](Args... arguments) -> cl_int { return is_lost ? CL_OUT_OF_RESOURCES : real(arguments...); };
  }(real);
}

TEST_F(OpenClDriverTest, ADeviceThatIsLostSaysSoAtEveryCallAndOpensAgain) {
  fail_when_lost<&Api::enqueue_nd_range_kernel>(*api_);
  fail_when_lost<&Api::enqueue_read_buffer>(*api_);
  fail_when_lost<&Api::enqueue_write_buffer>(*api_);
  fail_when_lost<&Api::finish>(*api_);
  static decltype(Api::create_buffer) real = nullptr;
  real = api_->create_buffer;
  api_->create_buffer = [](cl_context context, cl_mem_flags flags, size_t bytes, void* host, cl_int* status) {
    if (!is_lost) return real(context, flags, bytes, host, status);
    *status = CL_OUT_OF_RESOURCES;
    return cl_mem{};
  };
  using Call = std::function<void(Runtime&, const Launch&, const Buffer&)>;
  const std::vector<std::pair<std::string, Call>> calls = {
      {"launch", [](Runtime& device, const Launch& launch, const Buffer&) { device.launch(launch); }},
      {"download", [](Runtime& device, const Launch&, const Buffer& y) { static_cast<void>(download(device, y)); }},
      {"upload", [](Runtime& device, const Launch&, const Buffer&) { static_cast<void>(upload(device, Words(64))); }},
      {"allocation", [](Runtime& device, const Launch&, const Buffer&) { static_cast<void>(device.allocate(99999, Lifetime::transient)); }},
      {"wait", [](Runtime& device, const Launch&, const Buffer&) { device.queue().synchronize(); }},
  };
  for (const auto& [name, first] : calls) {
    SCOPED_TRACE(name);
    const std::unique_ptr<Runtime> device = runtime();
    const std::unique_ptr<Buffer> x = upload(*device, counted(64)), y = upload(*device, Words(64));
    const std::shared_ptr<const Program> program = device->compile(add_kernel());
    const std::array<BufferArgument, 2> buffers{{{x.get()}, {y.get()}}};
    const Words parameters{1};
    const Launch launch{program.get(), {}, buffers, parameters};
    device->launch(launch);
    EXPECT_FALSE(device->is_lost());
    is_lost = true;
    const Error error = error_of([&] { first(*device, launch, *y); });
    is_lost = false;  // one driver's call may work again; what the device held is not to be trusted
    EXPECT_EQ(error.code(), ErrorCode::device_lost) << error.what();
    EXPECT_THAT(error.what(), AllOf(HasSubstr("opencl:0"), HasSubstr("is lost"), HasSubstr("the last kernel queued was add_number")));
    EXPECT_TRUE(device->is_lost());
    for (const auto& [again, call] : calls) {
      if (again != "allocation" && again != "upload") {
        EXPECT_STREQ(error_of([&] { call(*device, launch, *y); }).what(), error.what()) << again;
      }
    }
    const std::unique_ptr<Runtime> other = runtime();
    EXPECT_EQ(download(*other, *upload(*other, counted(10))), counted(10));
  }
}

TEST_F(OpenClDriverTest, GroupsLargerThanTheDriverRunsTheKernelInAreRefused) {
  for (FoundDevice& device : devices_) device.knows_kernels_groups = true;
  api_->get_kernel_work_group_info = [](cl_kernel, cl_device_id, cl_kernel_work_group_info, size_t, void* value, size_t*) {
    *static_cast<size_t*>(value) = 16;
    return CL_SUCCESS;
  };
  const Error error = error_of([&] { static_cast<void>(runtime()->compile(add_kernel())); });
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("kernel add_number"), HasSubstr("64 lanes"), HasSubstr("16 at most")));
}

}  // namespace
}  // namespace wick::opencl
