// What is said about devices that cannot be had, word by word, and which one `auto` takes.
#include "wick/device/selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "unit/message_of.h"
#include "wick/base/default_log_hook.h"
#include "wick/base/error.h"
#include "wick/base/log.h"

namespace wick {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// Backends of every kind: with no device, with two, and with one that its driver cannot serve.
template <DeviceKind kind, int count>
std::vector<DeviceInfo> probe() {
  std::vector<DeviceInfo> devices;
  for (int index = 0; index < count; ++index) {
    DeviceInfo device{.index = index, .caps = {}, .score = kind == DeviceKind::cpu ? kCpuBackendScore : 500};
    device.caps.name = "Model " + std::to_string(index);
    devices.push_back(device);
  }
  return devices;
}
std::unique_ptr<Runtime> open_none(int /*index*/, const DeviceOptions& /*options*/) { return nullptr; }
std::string no_loader(int /*index*/) { return "there is no loader"; }
std::string second_is_too_old(int index) { return index == 2 ? "Model 2: its driver is too old" : ""; }

template <int count>
struct Mocks {
  std::array<Backend, 8> backends = make(std::make_index_sequence<8>());
  std::array<const Backend*, 8> linked{};

  Mocks() {
    for (size_t i = 0; i < backends.size(); ++i) linked[i] = &backends[i];
  }
  template <size_t... kinds>
  static std::array<Backend, 8> make(std::index_sequence<kinds...> /*kinds*/) {
    return {Backend{static_cast<DeviceKind>(kinds), probe<static_cast<DeviceKind>(kinds), count>, open_none}...};
  }
};

std::string upper_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(c - 'a' + 'A');
  return result;
}

class EachKind : public testing::TestWithParam<std::string_view> {
 protected:
  [[nodiscard]] DeviceKind kind() const { return *parse_device_kind(GetParam()); }
  [[nodiscard]] std::string name() const { return std::string(GetParam()); }
};

TEST_P(EachKind, NotInThisTree) {
  const Mocks<1> mocks;
  const BackendTable none{.linked = {}, .in_tree = {}};
  EXPECT_EQ(message_of(ErrorCode::backend_not_linked, [&] { (void)require_backend(kind(), none); }),
            "backend " + name() + ": this version of Wick does not have it; this program has: none");
}

TEST_P(EachKind, NotLinked) {
  const Mocks<1> mocks;
  const DeviceKind other = kind() == DeviceKind::cpu ? DeviceKind::vulkan : DeviceKind::cpu;
  const std::array<const Backend*, 1> linked = {mocks.linked[static_cast<size_t>(other)]};
  const BackendTable table{.linked = linked, .in_tree = kUserDeviceKindNames};
  const std::string expected = kind() == DeviceKind::cpu
                                   ? "backend cpu: this program does not link it; it has: vulkan; every build of Wick has it: link it"
                                   : "backend " + name() + ": this program does not link it; it has: cpu; build Wick with -DWICK_" +
                                         upper_case(name()) + "=ON and link it";
  EXPECT_EQ(message_of(ErrorCode::backend_not_linked, [&] { (void)require_backend(kind(), table); }), expected);
}

TEST_P(EachKind, LinkedButNoDriver) {
  const Mocks<0> mocks;
  Backend backend = mocks.backends[static_cast<size_t>(kind())];
  EXPECT_EQ(message_of(ErrorCode::no_device, [&] { (void)open_device(backend, 0, {}); }),
            name() + ":0: no " + name() + " device was found: no driver lists one");
  backend.missing = no_loader;
  EXPECT_EQ(message_of(ErrorCode::no_device, [&] { (void)open_device(backend, 3, {}); }),
            name() + ":3: no " + name() + " device was found: there is no loader");
}

TEST_P(EachKind, NoSuchOrdinal) {
  const Mocks<2> mocks;
  Backend backend = mocks.backends[static_cast<size_t>(kind())];
  const std::string two = name() + " has 2: " + name() + ":0 (Model 0), " + name() + ":1 (Model 1)";
  EXPECT_EQ(message_of(ErrorCode::no_device, [&] { (void)open_device(backend, 7, {}); }), name() + ":7: there is no such device; " + two);
  EXPECT_EQ(message_of(ErrorCode::no_device, [&] { (void)open_device(backend, -1, {}); }), name() + ":-1: there is no such device; " + two);
  backend.missing = second_is_too_old;
  EXPECT_EQ(message_of(ErrorCode::no_device, [&] { (void)open_device(backend, 2, {}); }),
            name() + ":2: this device cannot be used: Model 2: its driver is too old");
}

TEST_P(EachKind, IsAvailableWhereItIsLinkedAndListed) {
  // This program links cpu, reference and null.
  EXPECT_EQ(Device::is_available(kind()), kind() == DeviceKind::cpu);
  EXPECT_FALSE(Device::is_available(kind(), 7));
}

INSTANTIATE_TEST_SUITE_P(Names, EachKind, testing::ValuesIn(kUserDeviceKindNames.begin(), kUserDeviceKindNames.end()),
                         [](const auto& kind) { return std::string(kind.param); });

TEST(DeviceErrors, OfBackendsForTestsNameNoOption) {
  const std::array<std::string_view, 1> tree = {"reference"};
  EXPECT_EQ(
      message_of(ErrorCode::backend_not_linked, [&] { (void)require_backend(DeviceKind::reference, {.linked = {}, .in_tree = tree}); }),
      "backend reference: this program does not link it; it has: none; every build of Wick has it: link it");
}

TEST(DeviceErrors, OfThisProgramListTheBackendsForUsers) {
  EXPECT_EQ(message_of(ErrorCode::backend_not_linked, [] { (void)Device::metal(3); }),
            "backend metal: this program does not link it; it has: cpu; build Wick with -DWICK_METAL=ON and link it");
  EXPECT_EQ(message_of(ErrorCode::backend_not_linked, [] { (void)Device::cuda(3); }),
            "backend cuda: this program does not link it; it has: cpu; build Wick with -DWICK_CUDA=ON and link it");
  const std::string message = message_of(ErrorCode::no_device, [] { (void)Device::open({DeviceKind::cpu, 7}); });
  EXPECT_THAT(message, HasSubstr("cpu:7: there is no such device; cpu has 1: cpu:0 ("));
}

TEST(DeviceErrors, AnUnknownKindListsTheEight) {
  EXPECT_EQ(message_of(ErrorCode::invalid_argument, [] { (void)Device::parse("tpu:0"); }),
            "device 'tpu:0': no such kind; kinds are cpu, cuda, rocm, metal, opencl, vulkan, oneapi, webgpu");
}

TEST(DeviceLocation, IsAKeyOfHashTables) {
  std::unordered_set<DeviceLocation> seen;
  for (size_t kind = 0; kind < kDeviceKindNames.size(); ++kind) {
    for (int index = 0; index < 5; ++index) seen.insert({static_cast<DeviceKind>(kind), index});
  }
  EXPECT_EQ(seen.size(), 5 * kDeviceKindNames.size());
  EXPECT_TRUE(seen.contains({DeviceKind::vulkan, 4}));
  EXPECT_FALSE(seen.contains({DeviceKind::vulkan, 5}));
  EXPECT_EQ(std::hash<DeviceLocation>()({DeviceKind::cuda, 1}), std::hash<DeviceLocation>()(Device::parse_location("cuda:1")));
  EXPECT_NE(std::hash<DeviceLocation>()({DeviceKind::cuda, 1}), std::hash<DeviceLocation>()({DeviceKind::rocm, 1}));
  EXPECT_EQ((DeviceLocation{DeviceKind::cuda, 1}), Device::parse_location("cuda:1"));
}

TEST(FakeProbe, HasCountsByKind) {
  const FakeProbe fake = FakeProbe::parse("cuda=2,vulkan=none,cpu=1");
  EXPECT_EQ(fake.count(DeviceKind::cuda), 2);
  EXPECT_EQ(fake.count(DeviceKind::vulkan), 0);
  EXPECT_EQ(fake.count(DeviceKind::cpu), 1);
  EXPECT_EQ(fake.count(DeviceKind::opencl), std::nullopt);
  EXPECT_TRUE(FakeProbe::parse("").counts.empty());
}

TEST(FakeProbe, RefusesWhatItCannotRead) {
  const auto refused = [](const char* text) { return message_of(ErrorCode::invalid_argument, [&] { (void)FakeProbe::parse(text); }); };
  const std::string kinds = "write KIND=COUNT or KIND=none; kinds are cpu, cuda, rocm, metal, opencl, vulkan, oneapi, webgpu";
  EXPECT_EQ(refused("tpu=1"), "fake probe 'tpu=1': " + kinds);
  EXPECT_EQ(refused("cuda"), "fake probe 'cuda': " + kinds);
  EXPECT_EQ(refused("reference=1"), "fake probe 'reference=1': " + kinds);
  EXPECT_EQ(refused("cuda=1,,cpu=1"), "fake probe '': " + kinds);
  for (const char* entry : {"cuda=", "cuda=-1", "cuda=x", "cuda=65", "cuda=1x", "cuda=99999999999"}) {
    EXPECT_THAT(refused(entry), HasSubstr("is neither a count from 0 to 64 nor 'none'; write cuda=2,vulkan=none")) << entry;
  }
  EXPECT_EQ(refused("cuda=1,cuda=2"), "fake probe 'cuda=2': cuda has a count already");
}

// What the library said, and how it ended.
struct Said {
  std::vector<std::string> info;
  std::vector<std::string> warnings;
  std::string device;
  std::string error;
};
Said listen(const std::function<Device()>& choose) {
  Said said;
  set_log_hook(
      [&](LogLevel level, std::string_view message) { (level == LogLevel::warning ? said.warnings : said.info).emplace_back(message); });
  try {
    said.device = choose().location().to_string();
  } catch (const Error& error) {
    said.error = error.what();
  }
  set_log_hook({});
  return said;
}

TEST(Selection, OneLineSaysWhatWasRequestedDetectedAndSelected) {
  const Said said = listen([] { return Device::best(); });
  EXPECT_EQ(said.device, "cpu");
  EXPECT_THAT(said.info, ElementsAre("device requested=auto detected=cpu selected=cpu"));
  EXPECT_TRUE(said.warnings.empty());
}

TEST(Selection, AnExplicitDeviceHasTheSameLine) {
  const Said said = listen([] { return Device::open_requested({DeviceKind::cpu, 0}, {}, {}); });
  EXPECT_THAT(said.info, ElementsAre("device requested=cpu detected=cpu selected=cpu"));
  const Said fake = listen([] { return Device::open_requested({DeviceKind::cpu, 2}, {}, FakeProbe::parse("cpu=2")); });
  EXPECT_EQ(fake.error, "cpu:2: there is no such device; cpu has 2: cpu:0 (fake cpu device), cpu:1 (fake cpu device)");
  EXPECT_EQ(listen([] { return Device::open_requested({DeviceKind::cpu, 0}, {}, FakeProbe::parse("cpu=none")); }).error,
            "cpu:0: no cpu device was found: no driver lists one");
}

TEST(Selection, FakesStandForWhatIsFoundAndTheBestComesFirst) {
  EXPECT_EQ(describe(detect_devices(FakeProbe::parse("vulkan=1,cuda=2"))), "cuda:0,cuda:1,vulkan:0,cpu");
  EXPECT_EQ(describe(detect_devices(FakeProbe::parse("cpu=none"))), "none");
  EXPECT_EQ(describe(detect_devices(FakeProbe::parse("cpu=none,webgpu=1"))), "webgpu:0");
}

TEST(Selection, ADeviceThatCannotBeOpenedIsLeftOutWithAWarning) {
  const Said said = listen([] { return Device::best({}, {.fake = FakeProbe::parse("cuda=1")}); });
  EXPECT_EQ(said.device, "cpu");
  EXPECT_THAT(said.info, ElementsAre("device requested=auto detected=cuda:0,cpu selected=cuda:0"));
  EXPECT_THAT(said.warnings, ElementsAre("device requested=auto detected=cuda:0,cpu selected=cpu "
                                         "reason=\"cuda:0: a fake device, which runs nothing\""));
}

TEST(Selection, StrictMeansTheFirstChoiceOrNothing) {
  const Said said = listen([] { return Device::best({}, {.strict = true, .fake = FakeProbe::parse("cuda=1")}); });
  EXPECT_EQ(said.device, "");
  EXPECT_EQ(said.error, "cuda:0: a fake device, which runs nothing");
  EXPECT_TRUE(said.warnings.empty());
}

TEST(Selection, AWrongOptionIsNoReasonForAnotherDevice) {
  const Said said = listen([] { return Device::best({.threads = -1}); });
  EXPECT_EQ(said.device, "");
  EXPECT_THAT(said.error, HasSubstr("-1"));
}

TEST(Selection, WithoutAnyDeviceItFails) {
  EXPECT_EQ(listen([] { return Device::best({}, {.fake = FakeProbe::parse("cpu=none")}); }).error, "no usable device; detected: none");
}

TEST(Selection, IfAvailableSaysWhichDeviceFellBackAndWhy) {
  const Said said = listen([] { return Device::vulkan_if_available(1); });
  EXPECT_EQ(said.device, "cpu");
  ASSERT_EQ(said.warnings.size(), 1U);
  EXPECT_THAT(said.warnings[0], HasSubstr("device requested=vulkan:1 detected=cpu selected=cpu reason=\"backend vulkan: this"));
}

TEST(Selection, IfAvailableWarnsOnceWhereTheProgramHasNoHook) {
  set_log_hook(&default_log_hook);
  using Open = Device (*)(int);
  for (const auto& [name, open] : std::vector<std::pair<std::string, Open>>{{"cuda", &Device::cuda_if_available},
                                                                            {"rocm", &Device::rocm_if_available},
                                                                            {"metal", &Device::metal_if_available},
                                                                            {"opencl", &Device::opencl_if_available},
                                                                            {"vulkan", &Device::vulkan_if_available},
                                                                            {"oneapi", &Device::oneapi_if_available},
                                                                            {"webgpu", &Device::webgpu_if_available}}) {
    testing::internal::CaptureStderr();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(open(0).location().to_string(), "cpu") << name;
    const std::string printed = testing::internal::GetCapturedStderr();
    EXPECT_THAT(printed, StartsWith("wick: warning: device requested=" + name + ":0 detected=cpu selected=cpu reason=")) << name;
    EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 1) << printed;
  }
  set_log_hook({});
}

}  // namespace
}  // namespace wick
