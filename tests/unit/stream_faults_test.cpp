// What goes wrong with drivers, compilers and their cache, and what is said then, for every vendor whose queues are streams:
//
//   no driver                                     below
//   a driver that is too old                      below
//   a driver that is older than its compiler      below
//   a compiler and a driver that disagree         below; StreamFaultTest.ACompilerAndADriverThatDisagree… goes on
//   no such ordinal                               below
//   out of memory                                 below; of models and their caches: check_programs, memory_that_does_not_hold_a_model
//   an asynchronous failure                       below; StreamFaultTest.AFailureOf…
//   a GPU that is lost                            below; StreamFaultTest.ADeviceThatIsLost… by each call
//   two processes that compile into one cache     StreamFaultTest.ASecondRun…, TwoProcessesThatCompileTogether…
//   a cache folder that cannot be written         StreamFaultTest.AReadOnlyCacheFolder…
//   a folder where an entry of it should be       StreamFaultTest.AFolderWhereAnEntryShouldBe…
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "unit/stream_driver.h"
#include "unit/temporary_folder.h"
#include "wick/base/log_hook.h"
#include "wick/device/registry.h"
#include "wick/device/streams/stream_installation.h"

namespace wick {

std::string StreamFaultsTest::first() const { return kind() + ":0 (Fake GPU 0)"; }

void StreamFaultsTest::open_ordinal(int index) const {
  const StreamInstallation found{opened_.api, opened_.compiler, vendor().devices(opened_), {}};
  fail_no_device(api().kind, index, found.probe(), found.missing_at(index));
}

void StreamFaultsTest::add_and_wait(const std::function<void()>& between) const {
  const Device own = device();
  const Tensor a = Tensor::zeros({2, 3}, DType::f32, own), b = Tensor::zeros({3}, DType::f32, own);
  own.synchronize();
  between();
  static_cast<void>(a.broadcast_add(b));
  own.synchronize();
}

std::vector<ExpectedError> StreamFaultsTest::faults() {
  const bool is_cuda = api().kind == DeviceKind::cuda;
  return {
      {"no driver",
       [] { static_cast<void>(vendor().load_driver("libno-such-driver.so.1")); },
       ErrorCode::not_found,
       {"libno-such-driver.so.1"}},
      {"a driver that is too old",
       [this, is_cuda] {
         fake_->version = is_cuda ? 10020 : 40'300'000;
         static_cast<void>(vendor().load_driver((fakes() / vendor().fake_driver).string()));
       },
       ErrorCode::unsupported,
       {is_cuda ? "knows CUDA 10.2, and 11.4 is needed" : "is HIP 4.3, and 5.2 is needed", "install a newer"}},
      {"a driver that is older than its compiler",
       [this] {
         constexpr int kUnsupportedVersion = 222;
         fake_->faults[api().module_load.name] = {.status = kUnsupportedVersion};
         static_cast<void>(runtime()->compile(add_kernel()));
       },
       ErrorCode::unsupported,
       {"kernel add_number: Fake GPU 0 does not load what its own compiler made", "install the compiler that belongs to this driver"}},
      {"a compiler and a driver that disagree on the processor",
       [this, is_cuda] {
         const std::unique_ptr<Runtime> opened = runtime();
         fake_->architecture = is_cuda ? "80" : "gfx906";
         static_cast<void>(opened->compile(add_kernel()));
       },
       ErrorCode::unsupported,
       {"kernel add_number: Fake GPU 0 does not load what its own compiler made"}},
      {"no such ordinal",
       [this] {
         fake_->devices = 2;
         open_ordinal(5);
       },
       ErrorCode::no_device,
       {kind() + ":5: there is no such device; " + kind() + " has 2: " + first() + ", " + kind() + ":1 (Fake GPU 1)"}},
      {"out of memory",
       [this] { static_cast<void>(runtime()->allocate(fake_->memory + 4096, Lifetime::persistent)); },
       ErrorCode::out_of_memory,
       {"Fake GPU 0: out of memory: requested " + std::to_string(fake_->memory + 4096) + " bytes, 0 of " + std::to_string(fake_->memory) +
            " in use, ",
        std::to_string(fake_->memory - fake_->allocated) + " free"}},
      {"an asynchronous failure",
       [this] { add_and_wait([this] { fake_->faults["kernel"] = {.status = 719}; }); },
       ErrorCode::device_lost,
       {first() + " is lost (" + api().stream_wait.name + ": " + status_name(719), "the last kernel queued was ",
        "(add of f32 [2, 3], f32 [", "what was on it is gone: open it again"}},
      {"a GPU that is lost",
       [this] { add_and_wait([this] { fake_->lost = 700; }); },
       ErrorCode::device_lost,
       {first() + " is lost (", status_name(700), "what was on it is gone: open it again"}},
  };
}

namespace {

using testing::HasSubstr;

TEST_P(StreamFaultsTest, EachIsOneErrorThatSaysWhatIsWrongAndWhatToDoAndTheNextDeviceWorks) {
  for (const ExpectedError& fault : faults()) {
    SCOPED_TRACE(fault.name);
    const Error error = error_of(fault.provoke);
    EXPECT_EQ(error.code(), fault.code) << error.what();
    for (const std::string& words : fault.words) EXPECT_THAT(error.what(), HasSubstr(words));
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    fake_->reset();
    const std::unique_ptr<Runtime> other = runtime();
    EXPECT_EQ(download(*other, *upload(*other, counted(10))), counted(10));
  }
}

// As a user whom permissions stop, which they do not stop root.
TEST_P(StreamFaultsTest, AReadOnlyCacheFolderIsReadAndTheLogSaysOnceThatNothingIsKept) {
  const TemporaryFolder folder;
  const std::filesystem::path cache = folder / "cache";
  const DeviceOptions options{.cache_directory = cache};
  static_cast<void>(runtime(0, options)->compile(add_kernel()));
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(cache, std::filesystem::perms(0555));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    static int warnings = 0;
    try {
      if (::getuid() == 0 && ::setuid(kNobody) != 0) ::_exit(3);
      set_log_hook([](LogLevel level, std::string_view) { warnings += level == LogLevel::warning ? 1 : 0; });
      const Device own = Device::adopt({api().kind, 0}, runtime(0, options));
      const Tensor a = Tensor::zeros({3}, DType::f32, own);
      const bool works = (a + a).to_vector<float>() == std::vector<float>(3) && (a * a).to_vector<float>() == std::vector<float>(3);
      const Variable refuse(vendor().compiler_variable, "refuse=1");
      const bool reads = own.runtime().compile(add_kernel()) != nullptr;
      ::_exit(works && reads && warnings == 1 ? 0 : 10 + warnings);
    } catch (const std::exception&) {
      ::_exit(2);
    }
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 0);
  std::filesystem::permissions(cache, std::filesystem::perms(0755));
}

}  // namespace
}  // namespace wick
