// Many sequences in one batch against each of them alone, on every device.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "model/tiny_model.h"
#include "unit/found_devices.h"
#include "unit/temporary_folder.h"
#include "wick/base/error.h"
#include "wick/model/kv/kv_step.h"
#include "wick/model/language_model.h"

namespace wick {
namespace {

std::vector<int32_t> random_tokens(std::mt19937& random, int64_t count, int64_t vocab) {
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  for (int32_t& token : tokens) token = static_cast<int32_t>(random() % static_cast<unsigned>(vocab));
  return tokens;
}

// Σ (got - want)² / Σ want².
double normalized_error(const Tensor& got, const Tensor& want) {
  const std::vector<float> left = got.to_vector<float>();
  const std::vector<float> right = want.to_vector<float>();
  EXPECT_EQ(left.size(), right.size());
  double error = 0;
  double power = 0;
  for (size_t index = 0; index < std::min(left.size(), right.size()); ++index) {
    error += std::pow(static_cast<double>(left[index]) - right[index], 2);
    power += std::pow(right[index], 2);
  }
  return error / power;
}

struct Place {
  DeviceLocation location;
  DType kv_type;
};

std::vector<Place> places() {
  std::vector<Place> all;
  for (const DeviceLocation& location : found_devices()) {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::q8_0}) all.push_back({location, dtype});
  }
  return all;
}

class BatchTest : public ::testing::TestWithParam<Place> {
 protected:
  void SetUp() override {
    tiny_.head_dim = 32;
    tiny_.layers = 2;
    // The interpreter takes its time.
    interpreted_ = GetParam().location.kind == DeviceKind::reference;
    const std::filesystem::path path = folder_.path() / "tiny.gguf";
    write_tiny_model(tiny_, path);
    file_ = GgufFile::open(path);
    model_ = load_language_model(*file_, Device::open(GetParam().location), {.precise = true, .kv_type = GetParam().kv_type});
  }

  // The logits of the last of these tokens, by themselves.
  [[nodiscard]] Tensor alone(std::span<const int32_t> tokens) const {
    const auto sequence = model_->new_sequence(128);
    return model_->forward(tokens, *sequence, LogitRows::last);
  }
  void expect_alone(const Tensor& logits, std::span<const int32_t> tokens, const std::string& what) const {
    EXPECT_LE(normalized_error(logits, alone(tokens)), 1e-6) << what;
  }

  TemporaryFolder folder_;
  TinyModel tiny_;
  std::optional<GgufFile> file_;
  std::unique_ptr<LanguageModel> model_;
  std::mt19937 random_{7};
  bool interpreted_ = false;
};

TEST_P(BatchTest, MixedRequestsAreEachAlone) {
  const size_t count = interpreted_ ? 4 : 32;
  const auto pool = model_->new_pool(128, static_cast<int64_t>(count));
  std::vector<SequenceHandle> handles;
  std::vector<std::vector<int32_t>> texts(count);
  for (size_t index = 0; index < count; ++index) handles.push_back(pool->create());
  // Each joins with a prompt at another step, while those before it decode; one is there for its logits alone.
  const int steps = interpreted_ ? 3 : 6;
  for (int step = 0; step < steps; ++step) {
    Batch batch;
    std::vector<size_t> in;
    for (size_t index = 0; index < count; ++index) {
      if (static_cast<int>(index % 3) > step) continue;
      const bool joins = texts[index].empty();
      const int64_t most = interpreted_ ? 5 : 50;
      const std::vector<int32_t> more = random_tokens(random_, joins ? 1 + static_cast<int64_t>(index * 13) % most : 1, tiny_.vocab);
      batch.add(handles[index], std::ssize(texts[index]), more, Batch::Results::last);
      texts[index].insert(texts[index].end(), more.begin(), more.end());
      in.push_back(index);
    }
    const std::vector<int32_t> passing = random_tokens(random_, 3, tiny_.vocab);
    batch.add({}, 0, passing, Batch::Results::last);
    const Tensor logits = model_->forward(batch, *pool);
    ASSERT_EQ(logits.shape(), (Shape{std::ssize(in) + 1, tiny_.vocab}));
    for (size_t row = 0; row < in.size(); ++row) {
      if (step + 1 < steps && row % 5 != 0) continue;
      expect_alone(logits.narrow(0, static_cast<int64_t>(row), 1), texts[in[row]], "step " + std::to_string(step));
    }
    expect_alone(logits.narrow(0, std::ssize(in), 1), passing, "without a cache");
  }
  EXPECT_EQ(pool->live_sequences(), static_cast<int64_t>(count));
  for (const SequenceHandle handle : handles) pool->free(handle);
  EXPECT_EQ(pool->usage(0).used, 0);
}

TEST_P(BatchTest, PrefillThenDecodeIsPrefillOfAll) {
  const int64_t length = interpreted_ ? 9 : 70;
  const std::vector<int32_t> text = random_tokens(random_, length, tiny_.vocab);
  const auto sequence = model_->new_sequence(128);
  Tensor logits = model_->forward(std::span(text).first(text.size() - 3), *sequence, LogitRows::last);
  for (size_t at = text.size() - 3; at < text.size(); ++at) {
    logits = model_->forward(std::span(text).subspan(at, 1), *sequence, LogitRows::last);
  }
  expect_alone(logits, text, "one by one");
}

TEST_P(BatchTest, ForksTruncatedAndRestoredSequencesGoOnAsTheirTexts) {
  const std::vector<int32_t> text = random_tokens(random_, interpreted_ ? 7 : 45, tiny_.vocab);
  const auto pool = model_->new_pool(128, 4);
  const SequenceHandle first = pool->create();
  Batch prompt;
  prompt.add(first, 0, text, Batch::Results::none);
  EXPECT_EQ(model_->forward(prompt, *pool).shape(), (Shape{0, tiny_.vocab}));
  const SequenceHandle forked = pool->fork(first);
  const SequenceHandle restored = pool->restore(pool->save(first));
  const SequenceHandle shorter = pool->fork(restored);
  const int64_t kept = std::ssize(text) - 3;
  EXPECT_EQ(pool->truncate(shorter, kept), kept);
  const std::vector<SequenceHandle> all = {first, forked, restored, shorter};
  Batch batch;
  std::vector<std::vector<int32_t>> texts(all.size(), text);
  texts.back().resize(static_cast<size_t>(kept));
  for (size_t index = 0; index < all.size(); ++index) {
    const std::vector<int32_t> more = random_tokens(random_, 1 + static_cast<int64_t>(index), tiny_.vocab);
    batch.add(all[index], std::ssize(texts[index]), more, Batch::Results::last);
    texts[index].insert(texts[index].end(), more.begin(), more.end());
  }
  const Tensor logits = model_->forward(batch, *pool);
  for (size_t index = 0; index < all.size(); ++index) {
    expect_alone(logits.narrow(0, static_cast<int64_t>(index), 1), texts[index], "sequence " + std::to_string(index));
  }
}

std::string place_name(const ::testing::TestParamInfo<Place>& info) {
  std::string name = info.param.location.to_string() + "_" + std::string(to_string(info.param.kv_type));
  std::replace(name.begin(), name.end(), ':', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Devices, BatchTest, ::testing::ValuesIn(places()), place_name);

// How often the text is in the file.
size_t count_in(const std::filesystem::path& path, const std::string& text) {
  std::ifstream file(path);
  const std::string all(std::istreambuf_iterator<char>(file), {});
  size_t count = 0;
  for (size_t at = all.find(text); at != std::string::npos; at = all.find(text, at + 1)) ++count;
  return count;
}

class DeviceProductsTest : public ::testing::TestWithParam<DeviceLocation> {};

// Norms, attention and gates write the f16 that a device's own products read, but where somebody looks at what weights are multiplied by:
// there four copies a layer round f32 to it, and the logits are the same.
TEST_P(DeviceProductsTest, ReadWhatWasRoundedOnce) {
  constexpr int64_t kTokens = 132;  // that go through unpacked weights
  TinyModel tiny;
  tiny.layers = 1, tiny.width = 256, tiny.feed_forward = 512, tiny.heads = tiny.kv_heads = 2, tiny.head_dim = 128;
  tiny.dtype = DType::q4_k;
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "tiny.gguf", trace = folder.path() / "trace.json";
  write_tiny_model(tiny, path);
  std::mt19937 random{9};
  const std::vector<int32_t> tokens = random_tokens(random, kTokens, tiny.vocab);
  const auto run = [&](const InputObserver& observe) {
    std::vector<float> logits;
    {
      // What both runs launch is compiled once.
      const Device device =
          Device::open(GetParam(), {.cache_directory = (folder.path() / "kernels").string(), .trace_file = trace.string()});
      const auto model = load_language_model(GgufFile::open(path), device, {.observe = observe});
      const auto sequence = model->new_sequence(kTokens);
      logits = model->forward(tokens, *sequence, LogitRows::last).to_vector<float>();
    }
    // Each launch is there as it is queued and as it runs.
    return std::pair(logits, count_in(trace, "\"copy_f32_f16") / 2);
  };
  const auto [logits, copies] = run({});
  const auto [observed, more] = run([](const WeightInput& /*input*/) {});
  EXPECT_EQ(logits, observed);
  EXPECT_EQ(copies, 0U);
  EXPECT_EQ(more, static_cast<size_t>(4 * tiny.layers));
}

class DeviceMemoryTest : public ::testing::TestWithParam<DeviceLocation> {};

// Of weights that a device unpacks for its own product it keeps none: those of this model are 4.5 MiB unpacked. (Of a model of 8 billion
// weights, what comes on top is to be below 512 MiB.)
TEST_P(DeviceMemoryTest, IsForWeightsAndCacheAndLittleMore) {
  constexpr size_t kMore = size_t{7} << 19;  // activations, and one layer unpacked
  constexpr int64_t kTokens = 132;           // that go through unpacked weights
  TinyModel tiny;
  tiny.layers = 4, tiny.width = 256, tiny.feed_forward = 512, tiny.head_dim = 64;
  tiny.dtype = DType::q4_k;
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "tiny.gguf";
  write_tiny_model(tiny, path);
  const GgufFile file = GgufFile::open(path);
  const Device device = Device::open(GetParam());
  const size_t before = device.runtime().allocated_bytes(), peak_before = device.runtime().peak_allocated_bytes();
  const auto model = load_language_model(file, device);
  const auto sequence = model->new_sequence(2 * kTokens);
  std::mt19937 random{8};
  const std::vector<int32_t> tokens = random_tokens(random, kTokens, tiny.vocab);
  EXPECT_EQ(model->forward(tokens, *sequence, LogitRows::last).to_vector<float>().size(), static_cast<size_t>(tiny.vocab));
  const auto cache = static_cast<size_t>(sequence->pool().bytes());
  EXPECT_LE(device.runtime().peak_allocated_bytes(), std::max(peak_before, before + std::filesystem::file_size(path) + cache + kMore));
}

// Those that have products of their own.
std::vector<DeviceLocation> devices_with_products() {
  std::vector<DeviceLocation> devices = found_devices();
  std::erase_if(devices, [](const DeviceLocation& each) { return each.kind != DeviceKind::cuda && each.kind != DeviceKind::rocm; });
  return devices;
}

std::string location_name(const ::testing::TestParamInfo<DeviceLocation>& info) {
  std::string name = info.param.to_string();
  std::replace(name.begin(), name.end(), ':', '_');
  return name;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DeviceMemoryTest);
INSTANTIATE_TEST_SUITE_P(Devices, DeviceMemoryTest, ::testing::ValuesIn(devices_with_products()), location_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DeviceProductsTest);
INSTANTIATE_TEST_SUITE_P(Devices, DeviceProductsTest, ::testing::ValuesIn(devices_with_products()), location_name);

class BatchResultsTest : public ::testing::Test {
 protected:
  BatchResultsTest() {
    const std::filesystem::path path = folder_.path() / "tiny.gguf";
    write_tiny_model(tiny_, path);
    file_ = GgufFile::open(path);
    model_ = load_language_model(*file_, Device::cpu(), {.precise = true});
  }

  TemporaryFolder folder_;
  TinyModel tiny_;
  std::optional<GgufFile> file_;
  std::unique_ptr<LanguageModel> model_;
  std::mt19937 random_{3};
};

TEST_F(BatchResultsTest, RowsComeInTheOrderTheyAreAskedFor) {
  const std::vector<int32_t> text = random_tokens(random_, 20, tiny_.vocab);
  const auto pool = model_->new_pool(64);
  Batch batch;
  batch.add({}, 0, text, Batch::Results::all);
  const Tensor all = model_->forward(batch, *pool);
  batch.logit_rows = {7, 2, 19, 2};
  const Tensor some = model_->forward(batch, *pool);
  ASSERT_EQ(some.shape(), (Shape{4, tiny_.vocab}));
  for (size_t index = 0; index < batch.logit_rows.size(); ++index) {
    EXPECT_LE(normalized_error(some.get(static_cast<int64_t>(index)), all.get(batch.logit_rows[index])), 1e-9) << index;
  }
  EXPECT_EQ(pool->usage(0).used, 0);
}

// Also where a batch is processed in parts.
TEST_F(BatchResultsTest, PooledStatesAreTheMeansOfHiddenOnes) {
  const auto pool = model_->new_pool(600, 2);
  Batch batch;
  batch.add({}, 0, random_tokens(random_, 5, tiny_.vocab), Batch::Results::all);
  batch.add({}, 0, random_tokens(random_, 530, tiny_.vocab), Batch::Results::all);
  batch.add({}, 0, random_tokens(random_, 1, tiny_.vocab), Batch::Results::all);
  const Tensor hidden = model_->forward(batch, *pool, {.result = ModelResult::hidden});
  ASSERT_EQ(hidden.shape(), (Shape{536, tiny_.width}));
  batch.logit_rows.clear();
  const Tensor pooled = model_->forward(batch, *pool, {.result = ModelResult::pooled});
  ASSERT_EQ(pooled.shape(), (Shape{3, tiny_.width}));
  for (size_t index = 0; index < 3; ++index) {
    const SequenceSlice& slice = batch.sequences[index];
    EXPECT_LE(normalized_error(pooled.get(static_cast<int64_t>(index)), hidden.narrow(0, slice.first, slice.count).mean(0)), 1e-9);
  }
}

TEST_F(BatchResultsTest, ABatchThatFailsOrIsStoppedChangesNoSequence) {
  const auto pool = model_->new_pool(600, 2);
  const std::vector<int32_t> text = random_tokens(random_, 40, tiny_.vocab);
  const SequenceHandle first = pool->create();
  Batch prompt;
  prompt.add(first, 0, text, Batch::Results::last);
  (void)model_->forward(prompt, *pool);
  const int64_t used = pool->usage(0).used;

  const SequenceHandle second = pool->create();
  Batch batch;
  batch.add(first, 40, random_tokens(random_, 2, tiny_.vocab), Batch::Results::last);
  batch.add(second, 0, random_tokens(random_, 540, tiny_.vocab), Batch::Results::last);
  int questions = 0;
  const ForwardOptions stops{.stop = [&] { return ++questions == 3; }};
  EXPECT_FALSE(model_->forward(batch, *pool, stops).defined());
  Batch bad = batch;
  bad.tokens.back() = 5000;
  EXPECT_THROW((void)model_->forward(bad, *pool), Error);
  bad = batch;
  bad.positions.back() += 1;
  EXPECT_THROW((void)model_->forward(bad, *pool), Error);
  EXPECT_EQ(pool->length(first), 40);
  EXPECT_EQ(pool->length(second), 0);
  EXPECT_EQ(pool->usage(0).used, used);
  EXPECT_EQ(model_->forward(batch, *pool).dim(0), 2);
  EXPECT_EQ(pool->length(first), 42);
}

TEST_F(BatchResultsTest, APromptIsFoundAgain) {
  const auto pool = model_->new_pool(256, 2, true);
  const std::vector<int32_t> text = random_tokens(random_, 100, tiny_.vocab);
  std::optional<Tensor> first;
  for (const int64_t found : {0, 99}) {
    const SequenceHandle sequence = pool->create_from_prefix(std::span(text).first(99));
    ASSERT_EQ(pool->length(sequence), found);
    Batch batch;
    batch.add(sequence, found, std::span(text).subspan(static_cast<size_t>(found)), Batch::Results::last);
    const Tensor logits = model_->forward(batch, *pool);
    if (first) {
      EXPECT_LE(normalized_error(logits, *first), 1e-6);
    }
    first = logits;
    pool->free(sequence);
  }
}

}  // namespace
}  // namespace wick
