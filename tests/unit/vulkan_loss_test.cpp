// A Vulkan device that is lost: the driver's own functions fail as they do then, in one call and from there on.
#include <gmock/gmock.h>

#include <functional>
#include <sstream>

#include "unit/temporary_folder.h"
#include "unit/vulkan_device.h"
#include "wick/backend/vulkan/api.h"
#include "wick/base/error.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/convert/synthetic.h"

namespace wick::vulkan {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Words = std::vector<uint32_t>;

// While it lives the driver's calls fail, once so many submissions were taken.
class Loss {
 public:
  explicit Loss(int submissions_before = 0) {
    left = submissions_before;
    last_queue = VK_NULL_HANDLE;
    submit = std::exchange(vkQueueSubmit, [](VkQueue queue, uint32_t count, const VkSubmitInfo* infos, VkFence fence) {
      if (left-- > 0) return submit(last_queue = queue, count, infos, fence);
      return lost();
    });
    wait = std::exchange(vkWaitSemaphores, [](VkDevice device, const VkSemaphoreWaitInfo* info, uint64_t nanoseconds) {
      return left > 0 ? wait(device, info, nanoseconds) : lost();
    });
    count = std::exchange(vkGetSemaphoreCounterValue, [](VkDevice device, VkSemaphore semaphore, uint64_t* value) {
      return left > 0 ? count(device, semaphore, value) : lost();
    });
    allocate = std::exchange(vkAllocateMemory, [](VkDevice device, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks* callbacks,
                                                  VkDeviceMemory* memory) {
      return left > 0 ? allocate(device, info, callbacks, memory) : VK_ERROR_OUT_OF_DEVICE_MEMORY;
    });
  }
  ~Loss() {
    vkQueueSubmit = submit;
    vkWaitSemaphores = wait;
    vkGetSemaphoreCounterValue = count;
    vkAllocateMemory = allocate;
  }
  Loss(const Loss&) = delete;
  Loss& operator=(const Loss&) = delete;

 private:
  // Nothing runs on a device that is lost: what this one still works at must be done before its memory goes.
  static VkResult lost() {
    if (last_queue != VK_NULL_HANDLE) vkQueueWaitIdle(last_queue);
    return VK_ERROR_DEVICE_LOST;
  }

  static inline int left = 0;
  static inline VkQueue last_queue = VK_NULL_HANDLE;
  static inline PFN_vkQueueSubmit submit = nullptr;
  static inline PFN_vkWaitSemaphores wait = nullptr;
  static inline PFN_vkGetSemaphoreCounterValue count = nullptr;
  static inline PFN_vkAllocateMemory allocate = nullptr;
};

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.code() == ErrorCode::device_lost ? error.what() : std::string("another code: ") + error.what();
  }
  return "nothing was thrown";
}

class VulkanLoss : public OnVulkan {
 protected:
  // Fails in the first of these calls; all of them give the same error from then on, and a device that is opened anew works.
  void expect_lost_in(const std::function<void(Buffer& y)>& call) {
    const Program& program = runtime().program({"multiply_add", {}}, multiply_add);
    const auto x = upload(Words(64, 3)), y = upload(Words(64, 0));
    queue().synchronize();
    launch(program, 1, {{x.get()}, {y.get()}}, {64, 1});
    EXPECT_FALSE(runtime().is_lost());
    std::string said;
    {
      const Loss loss;
      said = message_of([&] { call(*y); });
      EXPECT_THAT(said, AllOf(HasSubstr("vulkan: " + runtime().caps().name + " is lost (vk"), HasSubstr("VK_ERROR_DEVICE_LOST"),
                              HasSubstr("the last kernel queued was multiply_add"), HasSubstr("open it again")));
    }
    EXPECT_TRUE(runtime().is_lost());
    EXPECT_EQ(message_of([&] { static_cast<void>(download<uint32_t>(*y)); }), said);
    EXPECT_EQ(message_of([&] {
                launch(program, 1, {{x.get()}, {y.get()}}, {64, 1});
                queue().synchronize();
              }),
              said);

    const wick::Device anew = wick::Device::open({DeviceKind::vulkan, index()}, {.threads = 0, .variant = GetParam()});
    EXPECT_NE(&anew.runtime(), &runtime());
    EXPECT_FALSE(anew.runtime().is_lost());
    const Words numbers{1, 2, 3, 4};
    const std::unique_ptr<Buffer> buffer =
        anew.runtime().import_host(reinterpret_cast<std::byte*>(const_cast<uint32_t*>(numbers.data())), 16, nullptr);
    Words got(4);
    anew.runtime().queue().download(*buffer, 0, reinterpret_cast<std::byte*>(got.data()), 16);
    EXPECT_EQ(got, numbers);
  }
};

TEST_P(VulkanLoss, IsSaidByTheNextWait) {
  expect_lost_in([&](Buffer& y) {
    for (int i = 0; i < 300; ++i) queue().fill(y, 0, 256, std::byte{1});
    queue().synchronize();
  });
}

TEST_P(VulkanLoss, IsSaidByADownload) {
  expect_lost_in([&](Buffer& y) { static_cast<void>(download<uint32_t>(y)); });
}

TEST_P(VulkanLoss, IsSaidByAnUpload) {
  expect_lost_in([&](Buffer& y) {
    for (int i = 0; i < 3; ++i) {
      const Words words(size_t{2} << 20);
      const std::unique_ptr<Buffer> large = upload(words);  // in several pieces
      static_cast<void>(download<uint32_t>(*large));
    }
    static_cast<void>(y);
  });
}

// Not as a lack of memory.
TEST_P(VulkanLoss, IsSaidByAnAllocation) {
  expect_lost_in([&](Buffer&) { static_cast<void>(allocate(size_t{3} << 20)); });
}

TEST_P(VulkanLoss, IsSaidByAnEvent) {
  expect_lost_in([&](Buffer&) { queue().record()->wait(); });
}

// A machine without memory for a submission has a device that is well.
TEST_P(VulkanLoss, IsNotWhatALackOfMemoryIs) {
  static PFN_vkQueueSubmit submit = nullptr;
  for (const VkResult result : {VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_OUT_OF_DEVICE_MEMORY}) {
    const wick::Device device = wick::Device::open({DeviceKind::vulkan, index()}, {.threads = 0, .variant = GetParam()});
    const std::unique_ptr<Buffer> y = device.runtime().allocate(256, {});
    device.runtime().queue().synchronize();
    static VkResult refusal = VK_SUCCESS;
    refusal = result;
    submit = std::exchange(vkQueueSubmit, [](VkQueue, uint32_t, const VkSubmitInfo*, VkFence) { return refusal; });
    std::string said = "nothing was thrown";
    ErrorCode code = ErrorCode::device_lost;
    try {
      device.runtime().queue().fill(*y, 0, 256, std::byte{1});
      device.runtime().queue().synchronize();
    } catch (const Error& error) {
      said = error.what();
      code = error.code();
    }
    vkQueueSubmit = submit;
    EXPECT_EQ(code, ErrorCode::out_of_memory) << said;
    EXPECT_THAT(said, AllOf(HasSubstr("vkQueueSubmit: " + std::string(to_string(result))), HasSubstr("open the device again")));
  }
}

INSTANTIATE_TEST_SUITE_P(, VulkanLoss, testing::Values("plain", "native"), variant_name);

struct Ended {
  int code;
  std::string out, err;
};

Ended write_text(const std::string& model) {
  std::istringstream in;
  std::ostringstream out, err;
  Console console{.name = "wick", .executable = {}, .in = in, .out = out, .err = err};
  const int code = run_wick(console, {"run", "--model", model, "--device", "vulkan", "--prompt", "some text", "--max-tokens", "8",
                                      "--temperature", "0", "--ignore-eos"});
  return {code, out.str(), err.str()};
}

TEST(VulkanLossOfAProgram, AModelWhoseDeviceIsLostEndsWithOneErrorAndRunsAgain) {
  if (require_backend(DeviceKind::vulkan).probe().empty()) GTEST_SKIP() << "no Vulkan device";
  const TemporaryFolder folder;
  const std::string model = (folder / "model.gguf").string();
  write_synthetic_model(model, {.shape = parse_synthetic_shape("2,64,96,4,2,400"), .type = "f32", .seed = 3});
  const Ended whole = write_text(model);
  ASSERT_EQ(whole.code, 0) << whole.err;
  for (const int submissions : {0, 2, 6}) {
    const Ended lost = [&] {
      const Loss loss(submissions);
      return write_text(model);
    }();
    EXPECT_EQ(lost.code, kExitUserError) << submissions << ": " << lost.err;
    EXPECT_THAT(lost.err, HasSubstr("wick run: error: vulkan: "));
    EXPECT_THAT(lost.err, AllOf(HasSubstr(" is lost (vk"), HasSubstr("open it again")));
    EXPECT_EQ(lost.err.find(": error: "), lost.err.rfind(": error: ")) << "one error";
    EXPECT_TRUE(whole.out.starts_with(lost.out)) << lost.out;
    EXPECT_LT(lost.out.size(), whole.out.size());
  }
  EXPECT_EQ(write_text(model).out, whole.out);
}

}  // namespace
}  // namespace wick::vulkan
