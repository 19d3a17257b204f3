// Recorded work: replays give what the calls gave, on every device of this program that has kernels, and under validation.
#include "wick/device/graph.h"

#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <thread>

#include "unit/found_devices.h"
#include "wick/base/fail.h"
#include "wick/ir/builder.h"
#include "wick/tensor/ops/normalize.h"

namespace wick {
namespace {

using Words = std::vector<uint32_t>;
constexpr size_t kCount = 1000;

struct GraphTest : testing::TestWithParam<bool> {
  static std::vector<Device> devices() {
    std::vector<Device> found;
    for (const DeviceLocation& location : found_kernel_devices()) {
      found.push_back(
          Device::open(location, {.threads = 0, .variant = {}, .cache_directory = {}, .validate = GetParam(), .trace_file = {}}));
    }
    return found;
  }
};

// y[i] = x[i] * factor + add.
ir::Kernel affine() {
  ir::KernelBuilder k("affine_words", {.group_size = 32});
  const ir::Memory x = k.buffer("x", ir::Element::u32), y = k.output("y", ir::Element::u32);
  const ir::Value n = k.parameter("n", ir::Type::u32), factor = k.parameter("factor", ir::Type::u32);
  const ir::Value add = k.parameter("add", ir::Type::u32), i = k.group_id() * 32U + k.local_id();
  k.when(i < n, [&] { y[i] = x[i] * factor + add; });
  return k.finish();
}

Words counted(uint32_t first) {
  Words words(kCount);
  std::iota(words.begin(), words.end(), first);
  return words;
}

Words mapped(Words words, uint32_t factor, uint32_t add) {
  for (uint32_t& word : words) word = word * factor + add;
  return words;
}

// Buffers of kCount words, and the program over them.
class Affine {
 public:
  explicit Affine(const Device& device) : device_(device), program_(device.runtime().compile(affine())) {}

  [[nodiscard]] std::unique_ptr<Buffer> allocate() const { return device_.runtime().allocate(kCount * 4, Lifetime::transient); }
  void set(Buffer& buffer, const Words& words) const {
    device_.runtime().queue().upload(std::as_bytes(std::span(words)).data(), buffer, 0, kCount * 4);
  }
  [[nodiscard]] Words get(const Buffer& buffer) const {
    Words words(kCount);
    device_.runtime().queue().download(buffer, 0, std::as_writable_bytes(std::span(words)).data(), kCount * 4);
    return words;
  }
  void launch(Buffer& x, Buffer& y, uint32_t factor, uint32_t add) const {
    const BufferArgument buffers[] = {{&x}, {&y}};
    const uint32_t parameters[] = {kCount, factor, add};
    device_.runtime().launch({program_.get(), {(kCount + 31) / 32, 1, 1}, buffers, parameters});
  }

 private:
  Device device_;
  std::shared_ptr<const Program> program_;
};

TEST_P(GraphTest, AReplayGivesWhatTheCallsGaveAlsoWithOtherParameters) {
  for (const Device& device : devices()) {
    SCOPED_TRACE(device.location().to_string());
    const Affine words(device);
    const std::unique_ptr<Buffer> x = words.allocate(), t = words.allocate(), y = words.allocate(), z = words.allocate();
    words.set(*x, counted(1));
    Graph graph = Graph::record(device, [&] {
      words.launch(*x, *t, 3, 5);
      device.runtime().queue().copy(*t, 0, *y, 0, kCount * 4);
      device.runtime().queue().fill(*t, 0, kCount * 4, std::byte{1});
      words.launch(*y, *z, 2, 0);
    });
    EXPECT_EQ(words.get(*z), mapped(counted(1), 6, 10));
    ASSERT_EQ(graph.size(), 4U);
    EXPECT_EQ(graph.name(0), "affine_words");
    EXPECT_EQ(graph.name(1), "copy");
    EXPECT_EQ(graph.name(2), "fill");

    words.set(*x, counted(70));
    graph.replay();
    EXPECT_EQ(words.get(*z), mapped(counted(70), 6, 10));
    EXPECT_EQ(words.get(*t), Words(kCount, 0x01010101U));

    graph.set_parameter(0, 1, 10);
    graph.set_parameter(3, 2, 1);
    for (int i = 0; i < 3; ++i) graph.replay();
    EXPECT_EQ(words.get(*z), mapped(counted(70), 20, 11));
  }
}

TEST_P(GraphTest, WhatItTouchesStaysUntilItGoes) {
  for (const Device& device : devices()) {
    SCOPED_TRACE(device.location().to_string());
    const Affine words(device);
    const std::unique_ptr<Buffer> x = words.allocate(), y = words.allocate();
    words.set(*x, counted(1));
    const size_t before = device.runtime().allocated_bytes();
    std::optional<Graph> graph = Graph::record(device, [&] {
      const Affine own(device);  // its program goes with it
      const std::unique_ptr<Buffer> t = own.allocate();
      own.launch(*x, *t, 1, 100);
      own.launch(*t, *y, 2, 0);
    });
    EXPECT_GT(device.runtime().allocated_bytes(), before);
    std::vector<std::unique_ptr<Buffer>> others;
    for (int i = 0; i < 4; ++i) {
      others.push_back(words.allocate());
      words.set(*others.back(), counted(7));
    }
    graph->replay();
    EXPECT_EQ(words.get(*y), mapped(counted(1), 2, 200));
    for (const std::unique_ptr<Buffer>& other : others) EXPECT_EQ(words.get(*other), counted(7));
    others.clear();
    graph.reset();
    EXPECT_EQ(device.runtime().allocated_bytes(), before);
  }
}

// A device that checks launches watches each buffer by itself.
TEST_P(GraphTest, BuffersOfARecordingTakeTheMemoryOfThoseBeforeThem) {
  if (GetParam()) return;
  for (const Device& device : devices()) {
    SCOPED_TRACE(device.location().to_string());
    const Affine words(device);
    const std::unique_ptr<Buffer> x = words.allocate(), y = words.allocate();
    const size_t before = device.runtime().allocated_bytes();
    // A chain of buffers, of which two are there at a time.
    const Graph graph = Graph::record(device, [&] {
      std::unique_ptr<Buffer> last = words.allocate();
      words.launch(*x, *last, 1, 1);
      for (int link = 0; link < 20; ++link) {
        std::unique_ptr<Buffer> next = words.allocate();
        words.launch(*last, *next, 1, 1);
        last = std::move(next);
      }
      words.launch(*last, *y, 1, 0);
    });
    EXPECT_LE(device.runtime().allocated_bytes(), before + 2 * kCount * 4);
    // What others allocate is not the recording's.
    std::vector<std::unique_ptr<Buffer>> others;
    for (int i = 0; i < 4; ++i) {
      others.push_back(words.allocate());
      words.set(*others.back(), counted(7));
    }
    words.set(*x, counted(3));
    for (int i = 0; i < 3; ++i) graph.replay();
    EXPECT_EQ(words.get(*y), mapped(counted(3), 1, 21));
    for (const std::unique_ptr<Buffer>& other : others) EXPECT_EQ(words.get(*other), counted(7));
  }
}

TEST_P(GraphTest, WhatAnotherThreadQueuesIsNotRecorded) {
  for (const Device& device : devices()) {
    SCOPED_TRACE(device.location().to_string());
    const Affine words(device);
    const std::unique_ptr<Buffer> x = words.allocate(), y = words.allocate(), z = words.allocate();
    words.set(*x, counted(1));
    const Graph graph = Graph::record(device, [&] {
      words.launch(*x, *y, 1, 1);
      std::thread([&] {
        EXPECT_FALSE(device.runtime().is_recording());
        words.launch(*x, *z, 2, 0);
      }).join();
    });
    EXPECT_EQ(graph.size(), 1U);
    EXPECT_EQ(words.get(*z), mapped(counted(1), 2, 0));
    EXPECT_EQ(words.get(*y), mapped(counted(1), 1, 1));
  }
}

TEST_P(GraphTest, OpsOfTensorsAreRecorded) {
  for (const Device& device : devices()) {
    SCOPED_TRACE(device.location().to_string());
    const Tensor x = Tensor::randn(0, 1, {8, 32}, DType::f32, device), w = Tensor::randn(0, 1, {32, 16}, DType::f32, device);
    const auto compute = [&] { return softmax_last_dim(x.matmul(w) + Tensor::of<float>({0.5F}, device)); };
    std::optional<Tensor> result;
    const Graph graph = Graph::record(device, [&] { result = compute(); });
    EXPECT_EQ(result->to_vector<float>(), compute().to_vector<float>());
    x.slice_set(Tensor::randn(0, 1, {8, 32}, DType::f32, device), 0, 0);
    const std::vector<float> expected = compute().to_vector<float>();
    EXPECT_NE(result->to_vector<float>(), expected);
    graph.replay();
    EXPECT_EQ(result->to_vector<float>(), expected);
  }
}

TEST_P(GraphTest, RecordingEndsWithAnErrorAndWrongNumbersAreRefused) {
  for (const Device& device : devices()) {
    SCOPED_TRACE(device.location().to_string());
    const Affine words(device);
    const std::unique_ptr<Buffer> x = words.allocate(), y = words.allocate();
    words.set(*x, counted(1));
    EXPECT_THROW((void)Graph::record(device, [] { fail(ErrorCode::not_found, "on purpose"); }), Error);
    Graph graph = Graph::record(device, [&] {
      EXPECT_THROW((void)Graph::record(device, [] {}), Error);
      words.launch(*x, *y, 1, 1);
    });
    EXPECT_THROW(graph.set_parameter(0, 3, 0), Error);
    EXPECT_THROW(graph.set_parameter(1, 0, 0), Error);
    EXPECT_THROW((void)graph.name(1), Error);
  }
}

// The shape of a result that depends on elements could be another one when the graph is replayed.
TEST_P(GraphTest, WhatDependsOnElementsIsRefused) {
  for (const Device& device : devices()) {
    const Tensor x = Tensor::of<float>({1, 0, 2, 1}, device);
    const std::vector<std::pair<std::string, std::function<void()>>> calls = {
        {"nonzero", [&] { (void)x.nonzero(); }},
        {"unique", [&] { (void)x.unique(); }},
        {"unique", [&] { (void)x.unique_with_counts(); }},
        {"masked_select", [&] { (void)x.masked_select(x); }},
        {"boolean_mask", [&] { (void)x.boolean_mask(x); }},
    };
    for (const auto& [name, call] : calls) {
      std::string message = "nothing was thrown";
      try {
        (void)Graph::record(device, call);
      } catch (const Error& error) {
        message = error.what();
        EXPECT_EQ(error.code(), ErrorCode::unsupported);
      }
      EXPECT_EQ(message.find(name + ": the shape of the result depends on the elements of Tensor[[4], f32"), 0U) << message;
      EXPECT_NO_THROW(call()) << "after the recording";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, GraphTest, testing::Bool(), [](const auto& info) { return std::string(info.param ? "validated" : "plain"); });

TEST(Graph, TheCpuHasNoQueueToRecord) {
  EXPECT_THROW((void)Graph::record(Device::cpu(), [] {}), Error);
}

}  // namespace
}  // namespace wick
