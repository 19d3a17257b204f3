// The driver's memory, queue, events and compiler, of every vendor whose queues are streams.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <numeric>
#include <optional>

#include "unit/processes.h"
#include "unit/stream_driver.h"
#include "unit/temporary_folder.h"
#include "wick/device/graph.h"
#include "wick/device/streams/stream_native.h"
#include "wick/ir/builder.h"
#include "wick/tensor/compiled_kernel.h"
#include "wick/tensor/dlpack.h"

namespace wick {

using testing::AllOf;
using testing::HasSubstr;

ir::Kernel add_kernel() {
  ir::KernelBuilder k("add_number", {.group_size = 64});
  const ir::Memory x = k.buffer("x", ir::Element::u32), y = k.output("y", ir::Element::u32);
  const ir::Value add = k.parameter("add", ir::Type::u32);
  const ir::Value i = k.group_id() * 64U + k.local_id();
  y[i] = x[i] + add;
  return k.finish();
}

Words counted(size_t count, uint32_t first) {
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

void StreamDriverTest::SetUp() {
  if (is_fake() && !std::filesystem::exists(fakes() / vendor().fake_driver)) GTEST_SKIP() << "no fake driver";
  try {
    if (is_fake()) {
      // Its state is this process's: the library is the same whoever opens it.
      const DynamicLibrary library(fakes() / vendor().fake_driver);
      fake_ = library.function<fake_gpu::State*()>("fake_gpu_state")();
      fake_->reset();
      fake_->architecture = GetParam().architecture;
    }
    opened_ = vendor().open(is_fake() ? fakes() : std::filesystem::path());
  } catch (const Error& error) {
    if (is_fake()) throw;
    GTEST_SKIP() << error.what();
  }
  // The system gives a library of that name that is loaded already.
  if (!is_fake() && api().library->find("fake_gpu_state") != nullptr) GTEST_SKIP() << "the fake was opened before";
  devices_ = vendor().devices(opened_);
  if (devices_.empty()) GTEST_SKIP() << "no device";
}

namespace {

TEST_P(StreamDriverTest, BytesComeBackAsTheyWent) {
  const std::unique_ptr<Runtime> device = runtime();
  const std::unique_ptr<Buffer> a = upload(*device, counted(1000)), b = device->allocate(4000, Lifetime::transient);
  device->queue().fill(*b, 0, 4000, std::byte{0x11});
  device->queue().copy(*a, 40, *b, 400, 800);
  const Words got = download(*device, *b);
  for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], i >= 100 && i < 300 ? i - 90 : 0x11111111U);
}

// More than the pinned memory holds, so that it is used again: what is in it must not be overwritten before the device has read it.
TEST_P(StreamDriverTest, ManyUploadsPassThroughTheSamePinnedMemory) {
  const std::unique_ptr<Runtime> device = runtime();
  const size_t words = StagingRing::kPieceBytes / 4 / 3 + 5;
  std::vector<std::unique_ptr<Buffer>> buffers;
  for (uint32_t i = 0; i < 20; ++i) buffers.push_back(upload(*device, counted(words, i * 1000)));
  const std::unique_ptr<Buffer> large = upload(*device, counted(3 * StagingRing::kPieceBytes / 4 + 7, 9));
  for (uint32_t i = 0; i < 20; ++i) EXPECT_EQ(download(*device, *buffers[i]), counted(words, i * 1000)) << i;
  EXPECT_EQ(download(*device, *large), counted(3 * StagingRing::kPieceBytes / 4 + 7, 9));
}

TEST_P(StreamDriverTest, KernelsSeeABufferFromItsOffsetOn) {
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

TEST_P(StreamDriverTest, EventsAreInTheOrderOfTheQueue) {
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

TEST_P(StreamDriverTest, ARefusedTextGivesTheCompilersWords) {
  try {
    static_cast<void>(driver()->compile(add_kernel(), "extern \"C\" __global__ void wick_add_number() { no_such_function(); }"));
    FAIL() << "compiled";
  } catch (const CompilerError& error) {
    EXPECT_THAT(error.log, HasSubstr("no_such_function"));
  }
}

TEST_P(StreamDriverTest, ABinaryOfSomethingElseIsNotLoaded) {
  const std::vector<std::byte> garbage(100, std::byte{42});
  EXPECT_EQ(driver()->load(add_kernel(), garbage), nullptr);
}

TEST_P(StreamDriverTest, WithoutMemoryTheErrorSaysHowMuchIsFreeAndTheDeviceGoesOn) {
  const std::unique_ptr<Runtime> device = runtime();
  const size_t much = device->caps().memory_bytes;
  const Error error = error_of([&] { static_cast<void>(device->allocate(much + 4096, Lifetime::transient)); });
  EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("out of memory: requested " + std::to_string(much + 4096) + " bytes"),
                                  HasSubstr(" of " + std::to_string(much) + " in use, "), HasSubstr(" free")));
  EXPECT_EQ(download(*device, *upload(*device, counted(10))), counted(10));
}

// The third replay is the second by the driver, and a parameter that changes is seen.
TEST_P(StreamDriverTest, AGraphIsReplayedByTheDriverUntilItChanges) {
  const Device handle = device();
  Runtime& runtime = handle.runtime();
  const std::unique_ptr<Buffer> x = upload(runtime, counted(64)), y = upload(runtime, Words(64)), z = upload(runtime, Words(64));
  const std::shared_ptr<const Program> program = runtime.compile(add_kernel());
  Graph graph = Graph::record(handle, [&] {
    const std::array<BufferArgument, 2> there{{{x.get()}, {y.get()}}}, back{{{y.get()}, {x.get()}}};
    runtime.launch({program.get(), {}, there, Words{1}});
    runtime.launch({program.get(), {}, back, Words{10}});
    runtime.queue().copy(*x, 0, *z, 0, 256);
  });
  EXPECT_EQ(download(runtime, *z), counted(64, 11));
  const int launches = is_fake() ? fake_->count(api().launch.name) : 0;
  for (uint32_t i = 0; i < 4; ++i) graph.replay();
  EXPECT_EQ(download(runtime, *z), counted(64, 55));
  if (is_fake()) {
    EXPECT_EQ(fake_->count(api().graph_launch.name), 3);
    EXPECT_EQ(fake_->count(api().launch.name), launches + 4);  // the first replay's, and those of the capture
  }
  graph.set_parameter(0, 0, 5);
  for (int i = 0; i < 3; ++i) graph.replay();
  EXPECT_EQ(download(runtime, *z), counted(64, 100));
  if (is_fake()) {
    EXPECT_EQ(fake_->count(api().graph_instantiate.name), 2);
  }
}

TEST_P(StreamDriverTest, ItsOwnHandlesReachTheSameMemory) {
  const Device own = device();
  EXPECT_EQ(vendor().number(own), devices_[0].id);
  const Tensor tensor = Tensor::from_vector(std::vector<float>{1, 2, 3, 4}, {2, 2}, own);
  const StreamAddress address = vendor().memory(tensor.narrow(0, 1, 1));
  EXPECT_EQ(address, vendor().memory(tensor) + 8);
  // As code of the vendor's would: queued behind the upload on the same stream.
  ASSERT_EQ(api().fill_bytes.address(address, 0, 4, vendor().stream(own)), 0);
  EXPECT_EQ(tensor.to_vector<float>(), (std::vector<float>{1, 2, 0, 4}));
  StreamAddress other = 0;
  ASSERT_EQ(api().memory_allocate.address(&other, 1024), 0);
  bool freed = false;
  {
    const std::shared_ptr<const void> owner(this, [&](const void*) { freed = true; });
    const auto storage = std::make_shared<Storage>(own, DType::f32, vendor().wrap(other, 1024, owner));
    const Tensor wrapped(storage, Layout(Shape({256})));
    wrapped.zero_set();
    EXPECT_EQ(vendor().memory(wrapped), other);
    EXPECT_EQ((wrapped + 2.0).to_vector<float>(), std::vector<float>(256, 2.0F));
  }
  EXPECT_TRUE(freed);
  EXPECT_EQ(api().memory_free.address(other), 0);
  EXPECT_EQ(error_of([&] { static_cast<void>(vendor().wrap(other + 4, 16, nullptr)); }).what(),
            fmt::format("memory of a {} device at {:#x}: the address is not a multiple of 256", to_string(api().kind), other + 4));
  const std::shared_ptr<const Program> program = own.runtime().compile(add_kernel());
  const auto [module, function] = vendor().handles(*program);
  StreamHandle found = nullptr;
  EXPECT_EQ(api().module_function.address(&found, module, ir::entry_name(program->kernel()).c_str()), 0);
  EXPECT_EQ(found, function);
}

TEST_P(StreamDriverTest, DlpackLendsTheSameMemoryAndTakesItBackInPlace) {
  const Device own = device();
  const int32_t code = api().kind == DeviceKind::cuda ? 2 : 10;  // of DLPack's specification
  const Tensor tensor = Tensor::from_vector(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3}, own);
  auto* const lent = dlpack::lend<dlpack::DlManagedVersioned>({tensor.narrow(0, 1, 1).transpose(0, 1)});
  EXPECT_EQ(lent->tensor.device.kind, code);
  EXPECT_EQ(lent->tensor.device.index, 0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(lent->tensor.data), vendor().memory(tensor) + 12);
  EXPECT_EQ(dlpack::stream_of(own), reinterpret_cast<uintptr_t>(vendor().stream(own)));
  EXPECT_EQ(dlpack::location_of(lent->tensor.device), (DeviceLocation{api().kind, 0}));
  bool given_back = false;
  {
    const std::shared_ptr<const void> owner(lent, [&](dlpack::DlManagedVersioned* held) {
      given_back = true;
      held->deleter(held);
    });
    const Tensor borrowed = dlpack::borrow(lent->tensor, false, false, owner, own).tensor;
    EXPECT_EQ(borrowed.shape(), Shape({3, 1}));
    EXPECT_EQ(vendor().memory(borrowed), vendor().memory(tensor) + 12);
    borrowed.narrow(0, 0, 1).zero_set();
    EXPECT_EQ(tensor.to_vector<float>(), (std::vector<float>{1, 2, 3, 0, 5, 6}));
    EXPECT_EQ((borrowed + 1.0).flatten_all().to_vector<float>(), (std::vector<float>{1, 6, 7}));
  }
  EXPECT_TRUE(given_back);
}

TEST_P(StreamDriverTest, DlpackCopiesWhatIsReadOnlyOrBeginsWithinAnElement) {
  const Device own = device();
  const Tensor bytes = Tensor::from_vector(std::vector<uint8_t>{0, 0, 0, 128, 63, 0, 0, 0, 64}, {9}, own);
  int64_t extent = 2;
  dlpack::DlTensor floats{.data = reinterpret_cast<void*>(vendor().memory(bytes) + 1),  // NOLINT(performance-no-int-to-ptr)
                          .device = {api().kind == DeviceKind::cuda ? 2 : 10, 0},
                          .rank = 1,
                          .dtype = {2, 32, 1},
                          .shape = &extent};
  EXPECT_EQ(dlpack::borrow(floats, false, false, nullptr, own).tensor.to_vector<float>(), (std::vector<float>{1, 2}));
  const Tensor source = Tensor::ones({2}, DType::f32, own);
  floats.data = reinterpret_cast<void*>(vendor().memory(source));  // NOLINT(performance-no-int-to-ptr)
  const Tensor copy = dlpack::borrow(floats, true, false, nullptr, own).tensor;
  copy.zero_set();
  EXPECT_EQ(source.to_vector<float>(), (std::vector<float>{1, 1}));
  floats.device.kind = 7;
  EXPECT_THAT(message_of([&] { static_cast<void>(dlpack::borrow(floats, false, false, nullptr)); }),
              AllOf(HasSubstr("device (7, 0)"), HasSubstr("CUDA (2)")));
}

TEST_P(StreamFaultTest, WhatIsOfAnotherBackendIsRefusedWithTheKindThatWasExpected) {
  const std::string kind(to_string(api().kind));
  const Device host = Device::adopt({DeviceKind::null, 0}, runtime());
  EXPECT_EQ(error_of([&] { static_cast<void>(vendor().stream(host)); }).what(), fmt::format("expected a {} device, got null", kind));
  const std::unique_ptr<Runtime> own = runtime();
  const DeviceKind other = api().kind == DeviceKind::cuda ? DeviceKind::rocm : DeviceKind::cuda;
  const StreamBuffer foreign(other, 4096, 64, nullptr);
  EXPECT_EQ(error_of([&] { static_cast<void>(stream_memory(foreign, 0, api().kind)); }).what(),
            fmt::format("a buffer of 64 bytes is not memory of a {} device", kind));
}

// --- the fake alone -------------------------------------------------------------------------------------------------------------------

TEST_P(StreamFaultTest, ASecondRunTakesItsProgramsFromTheCacheEvenInAnotherProcess) {
  const TemporaryFolder folder;
  const DeviceOptions options{.cache_directory = folder / "cache"};
  // Two processes compile into one folder at the same time.
  run_in_processes(2, [&](int) { return runtime(0, options)->compile(add_kernel()) != nullptr; });
  const Variable refuse(vendor().compiler_variable, "refuse=1");
  EXPECT_NE(runtime(0, options)->compile(add_kernel()), nullptr);
  const Variable temporary("TMPDIR", folder.path().string());  // for the text that is refused
  const Error error = error_of([&] { static_cast<void>(runtime()->compile(add_kernel())); });
  EXPECT_THAT(error.what(), HasSubstr("told to refuse"));
}

TEST_P(StreamFaultTest, AFolderWhereAnEntryShouldBeAndACacheThatTakesNoFileAreNoErrors) {
  const TemporaryFolder folder;
  const DeviceOptions options{.cache_directory = folder / "cache"};
  static_cast<void>(runtime(0, options)->compile(add_kernel()));
  std::vector<std::filesystem::path> entries;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "cache")) entries.push_back(entry.path());
  ASSERT_FALSE(entries.empty());
  for (const std::filesystem::path& entry : entries) {
    std::filesystem::remove(entry);
    std::filesystem::create_directory(entry);
    std::ofstream(entry / "file") << "in the way";
  }
  for (const std::string& cache : {options.cache_directory, std::string("/proc/self/fdinfo")}) {
    const std::unique_ptr<Runtime> device = runtime(0, {.cache_directory = cache});
    const std::unique_ptr<Buffer> x = upload(*device, counted(64)), y = upload(*device, Words(64));
    const std::shared_ptr<const Program> program = device->compile(add_kernel());
    const std::array<BufferArgument, 2> buffers{{{x.get()}, {y.get()}}};
    device->launch({program.get(), {}, buffers, Words{3}});
    EXPECT_EQ(download(*device, *y), counted(64, 3)) << cache;
  }
}

// Text of the user's, whose scalars are an argument each, where those of our own are one structure.
TEST_P(StreamDriverTest, AKernelOfTheUsersOwnTextRunsAndIsKeptInTheCache) {
  const TemporaryFolder folder;
  const bool is_cuda = api().kind == DeviceKind::cuda;
  const KernelSource source{is_cuda ? SourceLanguage::cuda_cpp : SourceLanguage::hip_cpp, R"(
extern "C" __global__ void sums(const unsigned* x, unsigned* y, unsigned n, int add, float factor) {
  const unsigned i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) y[i] = x[i] + (unsigned)add + (unsigned)factor;
})"};
  const KernelSignature signature{.group_size = 64,
                                  .buffers = {{"x", ir::Element::u32, ir::Access::read}, {"y", ir::Element::u32, ir::Access::read_write}},
                                  .scalars = {{"n", ir::Type::u32}, {"add", ir::Type::i32}, {"factor", ir::Type::f32}}};
  for (const bool again : {false, true}) {
    const std::optional<Variable> refuse =
        again && is_fake() ? std::optional<Variable>(std::in_place, vendor().compiler_variable, "refuse=1") : std::nullopt;
    const Device own = Device::adopt({api().kind, 0}, runtime(0, {.cache_directory = folder / "cache"}));
    const Tensor x = Tensor::arange(0, 100, 1, DType::u32, own), y = Tensor::zeros({100}, DType::u32, own);
    const CompiledKernel kernel("sums of mine", source, "sums", signature, own);
    const int early = is_fake() ? fake_->count("cuLaunchKernelEx") : 0;
    kernel.launch({2, 1, 1}, {x, y}, {90U, 7, 1000.5F});
    EXPECT_EQ(is_fake() ? fake_->count("cuLaunchKernelEx") : early, early) << "this text does not wait for the work before it";
    const Words got = y.to_vector<uint32_t>();
    for (uint32_t i = 0; i < 100; ++i) ASSERT_EQ(got[i], i < 90 ? i + 1007 : 0) << i;
  }
}

// The sum of a group's lanes by subgroup operations, which differ with how many lanes execute together.
TEST_P(StreamDriverTest, SubgroupsAreAsWideAsTheDeviceSays) {
  const std::unique_ptr<Runtime> device = runtime();
  const auto lanes = static_cast<uint32_t>(device->caps().max_subgroup_size);
  ir::KernelBuilder k("subgroup_sums", {.group_size = 128, .subgroup_size = lanes});
  const ir::Memory y = k.output("y", ir::Element::u32);
  y[k.local_id()] = subgroup_reduce(ir::Reduce::add, k.local_id());
  const std::shared_ptr<const Program> program = device->compile(k.finish());
  const std::unique_ptr<Buffer> result = upload(*device, Words(128));
  const std::array<BufferArgument, 1> buffers{{{result.get()}}};
  device->launch({program.get(), {}, buffers, {}});
  const Words got = download(*device, *result);
  for (uint32_t i = 0; i < 128; ++i) {
    const uint32_t first = i / lanes * lanes;
    ASSERT_EQ(got[i], lanes * first + lanes * (lanes - 1) / 2) << i;
  }
}

TEST_P(StreamFaultTest, NothingIsLeftWhenADeviceIsClosed) {
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
    EXPECT_EQ(fake_->count(api().launch.name), 1);
  }
  EXPECT_EQ(fake_->contexts, contexts);
  EXPECT_EQ(fake_->streams, streams);
  EXPECT_EQ(fake_->events, events);
  EXPECT_EQ(fake_->modules, modules);
  EXPECT_EQ(fake_->allocated, allocated);
  EXPECT_EQ(fake_->pinned, pinned);
}

TEST_P(StreamFaultTest, FreedMemoryIsUsedAgainWithoutTheDriver) {
  const std::unique_ptr<Runtime> device = runtime();
  for (int i = 0; i < 5; ++i) static_cast<void>(device->allocate(100'000, Lifetime::transient));
  EXPECT_EQ(fake_->count(api().memory_allocate.name), 1);
}

TEST_P(StreamFaultTest, DevicesAreListedInTheDriversOrder) {
  fake_->devices = 3;
  const std::vector<StreamDevice> devices = vendor().devices(opened_);
  ASSERT_EQ(devices.size(), 3U);
  EXPECT_EQ(devices[2].caps.name, "Fake GPU 2");
  EXPECT_EQ(devices[2].refusal, "");
  fake_->devices = 0;
  EXPECT_TRUE(vendor().devices(opened_).empty());
}

TEST_P(StreamFaultTest, ADeviceThatLaunchesNothingByWhatItsDriverSaysIsRefused) {
  const StreamAttributes& numbers = api().attributes;
  for (const int attribute : {numbers.max_group_size, numbers.max_grid_x, numbers.max_grid_y, numbers.max_grid_z}) {
    for (const int most : {0, -1}) {
      fake_->reset();
      fake_->attributes[attribute] = most;
      const StreamDevice device = vendor().devices(opened_).at(0);
      EXPECT_THAT(device.refusal, AllOf(HasSubstr("Fake GPU 0"), HasSubstr(attribute == numbers.max_group_size ? " lanes" : " groups"),
                                        HasSubstr(fmt::format(" {} ", most)), HasSubstr("install another version of the driver")));
    }
  }
}

TEST_P(StreamFaultTest, AMissingFunctionIsNamed) {
  const Error error = error_of([&] { static_cast<void>(vendor().load_driver("libm.so.6")); });
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("library libm.so.6 has no "), HasSubstr("or newer is needed")));
}

TEST_P(StreamFaultTest, TwoDevicesWorkAtOnce) {
  fake_->devices = 2;
  devices_ = vendor().devices(opened_);
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

// What the source is used for afterwards, and what it comes from, is in the order of the calls, though each device has a queue of its own.
TEST_P(StreamDriverTest, ATensorGoesToAnotherDeviceWithoutTheHost) {
  if (is_fake()) {
    fake_->devices = 2;
    devices_ = vendor().devices(opened_);
  }
  if (devices_.size() < 2) GTEST_SKIP() << "one device";
  const Device first = Device::adopt({api().kind, 0}, runtime(0)), second = Device::adopt({api().kind, 1}, runtime(1));
  const Shape shape{300, 100};
  const Tensor x = Tensor::full(shape, 3, DType::f32, first);
  std::vector<Tensor> there;
  for (int i = 0; i < 3; ++i) {
    const Tensor sum = x + x * i;
    there.push_back(sum.narrow(0, 10, 200).to_device(second));
  }
  // In the memory that the sums had.
  const Tensor later = Tensor::full(shape, 7, DType::f32, first), latest = later + later;
  EXPECT_EQ(latest.mean_all().item(), 14);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(there[static_cast<size_t>(i)].device().same_device(second));
    EXPECT_EQ(there[static_cast<size_t>(i)].to_vector<float>(), std::vector<float>(20'000, 3.0F + 3.0F * static_cast<float>(i)));
  }
  const Tensor back = (there[1] + there[1]).to_device(first);
  EXPECT_EQ((back + back).max_all().item(), 24);
  if (is_fake()) {
    EXPECT_EQ(fake_->count(api().copy_from_peer.name), 4);
    EXPECT_EQ(fake_->count(api().peer_enable.name), 2);
  }
}

TEST_P(StreamFaultTest, WithoutAWayBetweenThemDevicesCopyAllTheSame) {
  fake_->devices = 2;
  devices_ = vendor().devices(opened_);
  fake_->faults[api().peer_enable.name] = {.status = 217};
  const Device first = Device::adopt({api().kind, 0}, runtime(0)), second = Device::adopt({api().kind, 1}, runtime(1));
  EXPECT_EQ(Tensor::full({5}, 2, DType::f32, first).to_device(second).to_vector<float>(), std::vector<float>(5, 2));
  fake_->faults[api().copy_from_peer.name] = {.status = 1};
  EXPECT_THAT(error_of<DriverError>([&] { static_cast<void>(Tensor::full({5}, 2, DType::f32, first).to_device(second)); }).what(),
              AllOf(HasSubstr(std::string(to_string(api().kind)) + ":1"), HasSubstr(api().copy_from_peer.name)));
}

TEST_P(StreamFaultTest, AFailureOfQueuedWorkNamesTheKernelAtTheNextWait) {
  const std::unique_ptr<Runtime> device = runtime();
  const std::unique_ptr<Buffer> x = upload(*device, counted(64)), y = upload(*device, Words(64));
  const std::shared_ptr<const Program> program = device->compile(add_kernel());
  const std::array<BufferArgument, 2> buffers{{{x.get()}, {y.get()}}};
  fake_->faults["kernel"] = {.status = 700};
  device->launch({program.get(), {}, buffers, Words{1}});
  const auto error = error_of<DriverError>([&] { device->queue().synchronize(); });
  EXPECT_EQ(error.code(), ErrorCode::device_lost);
  EXPECT_EQ(error.status(), 700);
  EXPECT_EQ(error.call(), api().stream_wait.name);
  EXPECT_EQ(error.what(),
            fmt::format("{}:0 (Fake GPU 0) is lost ({}: {}); the last kernel queued was add_number; what was on it is gone: open it again",
                        to_string(api().kind), api().stream_wait.name, status_name(700)));
}

TEST_P(StreamFaultTest, AFailureOfAnOpNamesItAndItsShapesAtTheNextWait) {
  const Device own = device();
  const Tensor a = Tensor::zeros({2, 3}, DType::f32, own), b = Tensor::zeros({3}, DType::f32, own);
  own.synchronize();
  fake_->faults["kernel"] = {.status = 719};
  const Tensor sum = a.broadcast_add(b);
  const auto error = error_of<DriverError>([&] { own.synchronize(); });
  EXPECT_EQ(error.code(), ErrorCode::device_lost);
  EXPECT_THAT(error.what(), AllOf(HasSubstr(status_name(719)), HasSubstr("(add of f32 [2, 3], f32 ["), HasSubstr("); what was on it")));
}

TEST_P(StreamFaultTest, ADeviceThatIsLostSaysSoAtEveryCallAndOpensAgain) {
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
    EXPECT_THAT(error.what(), AllOf(HasSubstr(std::string(to_string(api().kind)) + ":0"), HasSubstr("is lost"),
                                    HasSubstr("the last kernel queued was add_number")));
    EXPECT_TRUE(device->is_lost());
    for (const auto& [again, call] : calls) {
      EXPECT_STREQ(error_of([&] { call(*device, launch, *y); }).what(), error.what()) << again;
    }
    const int resets = fake_->count(vendor().reset), freed = fake_->count(api().memory_free.name);
    const std::unique_ptr<Runtime> other = runtime();
    EXPECT_EQ(fake_->count(vendor().reset), resets + 1);
    EXPECT_EQ(download(*other, *upload(*other, counted(10))), counted(10));
    // What was in the old context is not given back into the new one.
    device.reset();
    EXPECT_EQ(fake_->count(api().memory_free.name), freed);
  }
}

TEST_P(StreamFaultTest, ALaunchThatTheDriverRefusesNamesTheKernelAndTheDeviceGoesOn) {
  const std::unique_ptr<Runtime> device = runtime();
  const std::unique_ptr<Buffer> x = upload(*device, counted(64)), y = upload(*device, Words(64));
  const std::shared_ptr<const Program> program = device->compile(add_kernel());
  const std::array<BufferArgument, 2> buffers{{{x.get()}, {y.get()}}};
  fake_->faults[api().launch.name] = {.status = 1};
  const auto error = error_of<DriverError>([&] { device->launch({program.get(), {}, buffers, Words{1}}); });
  const char* call = devices_[0].early_launches ? api().launch_early.name : api().launch.name;
  EXPECT_THAT(error.what(), AllOf(HasSubstr("kernel add_number"), HasSubstr(fmt::format("{}: {}", call, status_name(1)))));
  fake_->faults.clear();
  device->launch({program.get(), {}, buffers, Words{5}});
  EXPECT_EQ(download(*device, *y), counted(64, 5));
}

// 222: code of a newer compiler than the driver knows.
TEST_P(StreamFaultTest, ACompilerAndADriverThatDisagreeAreNamedWithTheRemedyAndTheDeviceGoesOn) {
  const TemporaryFolder folder;
  const DeviceOptions options{.cache_directory = folder / "cache"};
  fake_->faults[api().module_load.name] = {.status = 222};
  const std::unique_ptr<Runtime> device = runtime(0, options);
  const Error error = error_of([&] { static_cast<void>(device->compile(add_kernel())); });
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_THAT(error.what(),
              AllOf(HasSubstr("kernel add_number: Fake GPU 0 does not load what its own compiler made (" + device->caps().driver),
                    HasSubstr("install the compiler that belongs to this driver")));
  fake_->faults.clear();
  const std::unique_ptr<Buffer> x = upload(*device, counted(64)), y = upload(*device, Words(64));
  const std::array<BufferArgument, 2> buffers{{{x.get()}, {y.get()}}};
  device->launch({device->compile(add_kernel()).get(), {}, buffers, Words{3}});
  EXPECT_EQ(download(*device, *y), counted(64, 3));
}

TEST_P(StreamFaultTest, WithoutPinnedMemoryBytesGoTheSlowerWay) {
  fake_->faults[api().host_allocate.name] = {.status = 2};
  const std::unique_ptr<Runtime> device = runtime();
  EXPECT_EQ(download(*device, *upload(*device, counted(5000))), counted(5000));
}

}  // namespace
}  // namespace wick
