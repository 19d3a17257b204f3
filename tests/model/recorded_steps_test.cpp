// Recorded decode steps against the same steps queued anew, on every device that runs kernels.
#include "wick/model/recorded_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "model/golden_models.h"
#include "model/tiny_adapter.h"
#include "model/tiny_model.h"
#include "unit/found_devices.h"
#include "unit/temporary_folder.h"
#include "wick/model/architectures/architecture.h"
#include "wick/model/checkpoint/checkpoint.h"
#include "wick/model/language_model.h"
#include "wick/model/lora/lora_adapter.h"

namespace wick {
namespace {

// Σ (got - want)² / Σ want².
double error_of(const Tensor& got, const Tensor& want) {
  const std::vector<float> left = got.to_vector<float>(), right = want.to_vector<float>();
  EXPECT_EQ(left.size(), right.size());
  double error = 0, power = 0;
  for (size_t index = 0; index < std::min(left.size(), right.size()); ++index) {
    error += std::pow(static_cast<double>(left[index]) - right[index], 2);
    power += std::pow(right[index], 2);
  }
  return error / power;
}

class RecordedStepsTest : public ::testing::TestWithParam<DeviceLocation> {
 protected:
  void SetUp() override {
    interpreted_ = GetParam().kind == DeviceKind::reference;
    tiny_.layers = 1;
    tiny_.feed_forward = 64;
    tiny_.heads = 2;
    tiny_.kv_heads = 1;
    tiny_.head_dim = 32;
    tiny_.context = 2048;
    write_tiny_model(tiny_, folder_.path() / "tiny.gguf");
    file_ = GgufFile::open(folder_.path() / "tiny.gguf");
    device_ = Device::open(GetParam());
    recorded_ = load(true);
    plain_ = load(false);
  }

  [[nodiscard]] std::unique_ptr<LanguageModel> load(bool record) const {
    return load_language_model(*file_, *device_, {.precise = true, .record = record});
  }
  [[nodiscard]] std::vector<int32_t> text(int64_t count) {
    std::vector<int32_t> tokens(static_cast<size_t>(count));
    for (int32_t& token : tokens) token = static_cast<int32_t>(random_() % static_cast<unsigned>(tiny_.vocab));
    return tokens;
  }

  // The same sequences in a pool of each model.
  struct Pair {
    std::unique_ptr<KvPool> recorded, plain;
    std::vector<SequenceHandle> first = {}, second = {};
    std::vector<int64_t> lengths = {};
  };
  [[nodiscard]] Pair begin(const std::vector<int64_t>& lengths) {
    const int64_t count = std::ssize(lengths), context = std::min<int64_t>(1024, recorded_->info().context_length);
    Pair pair{.recorded = recorded_->new_pool(context, count), .plain = plain_->new_pool(context, count)};
    for (const int64_t length : lengths) {
      pair.first.push_back(pair.recorded->create());
      pair.second.push_back(pair.plain->create());
      pair.lengths.push_back(length);
      const std::vector<int32_t> prompt = text(length);
      Batch batch;
      batch.add(pair.first.back(), 0, prompt, Batch::Results::none);
      (void)recorded_->forward(batch, *pair.recorded);
      batch.sequences[0].sequence = pair.second.back();
      (void)plain_->forward(batch, *pair.plain);
    }
    return pair;
  }
  // One token of each, or of the first few, through these adapters; the error between the two models.
  double step(Pair& pair, size_t sequences, const std::vector<std::vector<AdapterUse>>& uses = {}) {
    Batch batch, other;
    for (size_t index = 0; index < sequences; ++index) {
      const std::vector<int32_t> next = text(1);
      const std::span<const AdapterUse> adapters = uses.empty() ? std::span<const AdapterUse>() : uses[index];
      batch.add(pair.first[index], pair.lengths[index], next, Batch::Results::last, adapters);
      other.add(pair.second[index], pair.lengths[index], next, Batch::Results::last, adapters);
      ++pair.lengths[index];
    }
    return error_of(recorded_->forward(batch, *pair.recorded), plain_->forward(other, *pair.plain));
  }

  TemporaryFolder folder_;
  TinyModel tiny_;
  std::optional<GgufFile> file_;
  std::optional<Device> device_;
  std::unique_ptr<LanguageModel> recorded_, plain_;
  std::mt19937 random_{9};
  bool interpreted_ = false;
};

TEST_P(RecordedStepsTest, TokensAcrossTwoBordersOfLengthAreThoseOfPlainSteps) {
  Pair pair = begin({interpreted_ ? 250 : 230});
  const int tokens = interpreted_ ? 12 : 300;
  for (int token = 0; token < tokens; ++token) ASSERT_LE(step(pair, 1), 1e-6) << token;
  const RecordedSteps& steps = pair.recorded->recorded_steps();
  EXPECT_LE(steps.recordings(), 3);
  EXPECT_GE(steps.replays(), tokens - 6);
  EXPECT_EQ(pair.plain->recorded_steps().recordings(), 0);
}

TEST_P(RecordedStepsTest, StepsOfOtherSequencesShareARecording) {
  Pair pair = begin({3, 40, 17, 90, 61, 33, 7});
  const std::vector<size_t> counts = interpreted_ ? std::vector<size_t>{3, 4, 3} : std::vector<size_t>{3, 4, 3, 5, 7, 6, 2, 1, 7, 3};
  for (const size_t count : counts) ASSERT_LE(step(pair, count), 1e-6) << count;
  EXPECT_GE(pair.recorded->recorded_steps().replays(), interpreted_ ? 1 : 3);
  EXPECT_LE(pair.recorded->recorded_steps().recordings(), 3);
}

TEST_P(RecordedStepsTest, RowsOfARecordingGoThroughTheAdaptersOfEachStep) {
  const auto add = [&](const std::string& name, const std::vector<std::string>& weights, int64_t rank) {
    const auto path = folder_.path() / (name + ".gguf");
    TinyAdapter(tiny_, weights, rank, static_cast<unsigned>(rank)).write(path);
    for (LanguageModel* model : {recorded_.get(), plain_.get()})
      model->add_adapter(name, LoraAdapter::open(path, *find_architecture("llama")), 1);
  };
  add("first", {"attn_q", "ffn_down"}, 3);
  add("second", {"attn_output"}, 2);
  Pair pair = begin({5, 9});
  using Uses = std::vector<std::vector<AdapterUse>>;
  const std::vector<Uses> steps = {
      {{{1, 1}}, {}}, {{{1, 1}}, {{2, 1}}}, {{{2, -0.5F}}, {{1, 0.25F}}}, {{}, {{2, 1}}}, {{{1, 0}}, {{1, 2}}}};
  for (const Uses& uses : steps) ASSERT_LE(step(pair, 2, uses), 1e-6);
  const RecordedSteps& recorded = pair.recorded->recorded_steps();
  EXPECT_EQ(recorded.recordings(), 1);
  EXPECT_EQ(recorded.replays(), 3);
  // Steps without adapters, and those of two for a row, are other ones.
  ASSERT_LE(step(pair, 2), 1e-6);
  ASSERT_LE(step(pair, 2, {{{1, 1}, {2, 1}}, {{2, 1}}}), 1e-6);
  EXPECT_EQ(recorded.replays(), 3);
  // So are those of a model that has got a further one: its matrices are new.
  add("third", {"attn_q"}, 5);
  for (int count = 0; count < 3; ++count) ASSERT_LE(step(pair, 2, {{{3, 1}}, {{1, 1}}}), 1e-6);
  EXPECT_EQ(recorded.recordings(), 2);
  EXPECT_EQ(recorded.replays(), 4);
}

// The slabs that hold the states of its sequences change with each step.
TEST_P(RecordedStepsTest, StepsOfModelsWithStatesAreReplayed) {
  std::vector<const char*> models = {"mamba2", "qwen3next", "lfm2"};
  if (!interpreted_) models.insert(models.end(), {"mamba", "falcon-h1", "kimi-linear", "rwkv7", "recurrent-gemma", "minimax-01"});
  for (const char* name : models) {
    SCOPED_TRACE(name);
    const GoldenModel golden = GoldenModel::read(name);
    golden.write(folder_.path() / name);
    const Checkpoint checkpoint = Checkpoint::open(folder_.path() / name);
    recorded_ = load_language_model(checkpoint, *device_, {.precise = true, .record = true});
    plain_ = load_language_model(checkpoint, *device_, {.precise = true, .record = false});
    tiny_.vocab = golden.vocab();
    Pair pair = begin({3, 9, 5});
    const std::vector<size_t> counts =
        interpreted_ ? std::vector<size_t>{2, 2, 2, 1, 2} : std::vector<size_t>{3, 3, 3, 1, 3, 2, 2, 2, 1, 1, 3};
    for (const size_t count : counts) ASSERT_LE(step(pair, count), 1e-6) << count << " sequences";
    const RecordedSteps& steps = pair.recorded->recorded_steps();
    EXPECT_EQ(steps.recordings(), interpreted_ ? 1 : 3);
    EXPECT_EQ(steps.replays(), interpreted_ ? 2 : 5);
    // Rows of a prompt are not recorded.
    Batch batch;
    batch.add(pair.first[0], pair.lengths[0], text(2), Batch::Results::all);
    (void)recorded_->forward(batch, *pair.recorded);
    EXPECT_EQ(steps.recordings(), interpreted_ ? 1 : 3);
    EXPECT_EQ(pair.plain->recorded_steps().recordings(), 0);
  }
}

// A recording is one device's.
TEST_P(RecordedStepsTest, AModelSharedWithTheCpuIsNotRecordedAndGivesTheSame) {
  recorded_ = load_language_model(*file_, *device_, {.precise = true, .placement = {.host = Device::cpu(), .device_layers = 1}});
  Pair pair = begin({5, 9});
  for (int token = 0; token < 4; ++token) ASSERT_LE(step(pair, 2), 1e-6) << token;
  EXPECT_EQ(pair.recorded->recorded_steps().recordings(), 0);
  EXPECT_EQ(pair.plain->recorded_steps().recordings(), 0);
}

TEST_P(RecordedStepsTest, AResultStaysWhatItWas) {
  Pair pair = begin({5});
  for (int token = 0; token < 3; ++token) ASSERT_LE(step(pair, 1), 1e-6);
  Batch batch;
  batch.add(pair.first[0], pair.lengths[0], text(1), Batch::Results::last);
  const Tensor before = recorded_->forward(batch, *pair.recorded);
  const std::vector<float> numbers = before.to_vector<float>();
  batch.tokens = text(1);
  ++batch.positions[0];
  (void)recorded_->forward(batch, *pair.recorded);
  EXPECT_EQ(before.to_vector<float>(), numbers);
}

// Whatever is recorded: here a sum of the step's numbers.
TEST_P(RecordedStepsTest, OfManyShapesTheLatestAreKept) {
  RecordedSteps steps;
  const auto run = [&](int64_t rows, int32_t value) {
    const std::vector<int32_t> numbers(static_cast<size_t>(rows), value);
    const Tensor sum = steps.run(*device_, {.model = 1, .shape = {rows, 1, 256}}, numbers,
                                 [](const Tensor& on_device) { return on_device.to_dtype(DType::f32).sum_keepdim(0); });
    return sum.to_vector<float>().front();
  };
  for (int64_t rows = 1; rows <= 40; ++rows) {
    for (int32_t value = 1; value <= 3; ++value) ASSERT_EQ(run(rows, value), static_cast<float>(value * rows));
  }
  EXPECT_EQ(steps.size(), RecordedSteps::kMax);
  EXPECT_EQ(steps.runs(), 120);
  EXPECT_EQ(steps.recordings(), 40);
  EXPECT_EQ(steps.replays(), 40);
  EXPECT_EQ(run(40, 7), 280);
  EXPECT_EQ(steps.replays(), 41);
  EXPECT_EQ(run(1, 7), 7);  // was forgotten
  EXPECT_EQ(steps.replays(), 41);
}

INSTANTIATE_TEST_SUITE_P(Devices, RecordedStepsTest, ::testing::ValuesIn(found_kernel_devices()), device_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RecordedStepsTest);

}  // namespace
}  // namespace wick
