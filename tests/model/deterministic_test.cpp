// With --deterministic a token's logits have the same bits however its text got there, on every device.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "model/tiny_model.h"
#include "unit/found_devices.h"
#include "unit/temporary_folder.h"
#include "wick/model/language_model.h"

namespace wick {
namespace {

std::vector<int32_t> random_text(std::mt19937& random, int64_t count, int64_t vocab) {
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  for (int32_t& token : tokens) token = static_cast<int32_t>(random() % static_cast<unsigned>(vocab));
  return tokens;
}

struct Case {
  DeviceLocation location;
  DType weights, kv_type;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const DeviceLocation& location : found_devices()) {
    const bool host = location.kind == DeviceKind::cpu;
    for (const DType weights : {DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::q4_0, DType::q4_k, DType::q6_k, DType::tq2_0}) {
      // Software drivers compile each kernel for seconds, and the interpreter takes its time.
      if (!host && weights != DType::q8_0 && weights != DType::q4_k && weights != DType::f16) continue;
      if (location.kind == DeviceKind::reference && weights != DType::q8_0) continue;
      all.push_back({location, weights, DType::f16});
    }
    for (const DType kv_type : {DType::f32, DType::bf16, DType::q8_0}) {
      if (host) all.push_back({location, DType::q8_0, kv_type});
    }
  }
  return all;
}

class DeterministicTest : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    interpreted_ = GetParam().location.kind == DeviceKind::reference;
    tiny_.width = 256;
    tiny_.feed_forward = 512;
    tiny_.heads = 8;
    tiny_.head_dim = 32;
    tiny_.context = 2048;
    tiny_.dtype = GetParam().weights;
    write_tiny_model(tiny_, folder_.path() / "tiny.gguf");
    file_ = GgufFile::open(folder_.path() / "tiny.gguf");
    model_ = load(0);
    host_ = GetParam().location.kind == DeviceKind::cpu;
    text_ = random_text(random_, interpreted_ ? 20 : host_ ? 700 : 280, tiny_.vocab);
  }

  [[nodiscard]] std::unique_ptr<LanguageModel> load(int threads) const {
    return load_language_model(*file_, Device::open(GetParam().location, {.threads = threads}),
                               {.deterministic = true, .kv_type = GetParam().kv_type});
  }

  // The last token's logits, and the sequence in `pool` that has been given the text in pieces of `at_once` tokens.
  static std::vector<float> run(const LanguageModel& model, KvPool& pool, SequenceHandle sequence, std::span<const int32_t> text,
                                int64_t at_once) {
    std::vector<float> last;
    for (int64_t at = pool.length(sequence); at < std::ssize(text);) {
      const int64_t count = std::min(at_once, std::ssize(text) - at);
      Batch batch;
      batch.add(sequence, at, text.subspan(static_cast<size_t>(at), static_cast<size_t>(count)), Batch::Results::last);
      last = model.forward(batch, pool).to_vector<float>();
      at += count;
    }
    return last;
  }
  [[nodiscard]] std::vector<float> alone(std::span<const int32_t> text, int64_t at_once) const {
    const auto pool = model_->new_pool(1024);
    return run(*model_, *pool, pool->create(), text, at_once);
  }

  TemporaryFolder folder_;
  TinyModel tiny_;
  std::optional<GgufFile> file_;
  std::unique_ptr<LanguageModel> model_;
  std::mt19937 random_{5};
  std::vector<int32_t> text_;
  bool interpreted_ = false, host_ = false;
};

TEST_P(DeterministicTest, APromptCutAnywhereGivesTheSameBits) {
  const std::vector<float> whole = alone(text_, std::ssize(text_));
  for (const int64_t at_once : {5, 17, 64, 333}) {
    if ((interpreted_ && at_once != 5) || (!interpreted_ && !host_ && at_once != 64)) continue;
    EXPECT_EQ(alone(text_, at_once), whole) << at_once;
  }
  // One by one: what decoding does.
  const std::span<const int32_t> beginning = std::span(text_).first(static_cast<size_t>(interpreted_ ? 6 : 40));
  EXPECT_EQ(alone(beginning, 1), alone(beginning, 100));
}

TEST_P(DeterministicTest, OtherSequencesThreadsAndLayoutsChangeNothing) {
  const size_t others = interpreted_ ? 2 : 12;
  const std::vector<float> expected = alone(text_, std::ssize(text_));
  const auto pool = model_->new_pool(1024, 16);
  std::vector<SequenceHandle> handles;
  std::vector<std::vector<int32_t>> texts;
  for (size_t index = 0; index < others; ++index) {
    handles.push_back(pool->create());
    texts.push_back(random_text(random_, 1 + static_cast<int64_t>(index * 7) % (interpreted_ ? 4 : 60), tiny_.vocab));
    (void)run(*model_, *pool, handles.back(), texts.back(), 1000);
  }
  const SequenceHandle ours = pool->create();
  std::vector<float> got;
  // The others decode while ours reads its prompt in three parts.
  const int64_t part = (std::ssize(text_) + 2) / 3;
  for (int64_t at = 0; at < std::ssize(text_); at += part) {
    Batch batch;
    for (size_t index = 0; index < others; ++index) {
      const std::vector<int32_t> next = random_text(random_, 1, tiny_.vocab);
      batch.add(handles[index], std::ssize(texts[index]), next, Batch::Results::last);
      texts[index].push_back(next[0]);
    }
    const int64_t count = std::min(part, std::ssize(text_) - at);
    batch.add(ours, at, std::span(text_).subspan(static_cast<size_t>(at), static_cast<size_t>(count)), Batch::Results::last);
    const Tensor logits = model_->forward(batch, *pool);
    got = logits.get(static_cast<int64_t>(others)).to_vector<float>();
    for (size_t index = 0; index < others; index += 5) {
      EXPECT_EQ(logits.get(static_cast<int64_t>(index)).to_vector<float>(), alone(texts[index], 1000)) << index;
    }
  }
  EXPECT_EQ(got, expected);
  if (GetParam().location.kind != DeviceKind::cpu) return;
  const auto threaded = load(1);
  const auto own = threaded->new_pool(1024, 2);
  EXPECT_EQ(run(*threaded, *own, own->create(), text_, 100), expected) << "one thread";
  threaded->device().runtime().finish_preparing();
  EXPECT_EQ(run(*threaded, *own, own->create_from_prefix({}), text_, 1), expected) << "prepared";
}

TEST_P(DeterministicTest, SoDoTextsThatAreFoundForkedOrGivenUpAndReadAgain) {
  const std::vector<float> expected = alone(text_, std::ssize(text_));
  const auto pool = model_->new_pool(1024, 4, true);
  const SequenceHandle first = pool->create();
  EXPECT_EQ(run(*model_, *pool, first, text_, 50), expected);
  // A fork goes back, and on as before.
  const SequenceHandle fork = pool->fork(first);
  EXPECT_EQ(pool->truncate(fork, std::ssize(text_) - 9), std::ssize(text_) - 9);
  EXPECT_EQ(run(*model_, *pool, fork, text_, 2), expected);
  // Saved and restored but for its last token.
  pool->truncate(fork, std::ssize(text_) - 1);
  const SequenceHandle restored = pool->restore(pool->save(fork));
  EXPECT_EQ(run(*model_, *pool, restored, text_, 1), expected);
  for (const SequenceHandle handle : {first, fork, restored}) pool->free(handle);
  // What a preempted request does: its text is found as far as blocks of it are left, or read again.
  const SequenceHandle found = pool->create_from_prefix(std::span(text_).first(text_.size() - 1));
  EXPECT_EQ(pool->length(found), std::ssize(text_) - 1);
  EXPECT_EQ(run(*model_, *pool, found, text_, 1000), expected);
  pool->free(found);
  // Another text is found up to the token in which it differs, inside a block, and the first one is still there.
  std::vector<int32_t> other = text_;
  const size_t differs = text_.size() * 2 / 3;
  other[differs] = (other[differs] + 1) % static_cast<int32_t>(tiny_.vocab);
  const SequenceHandle second = pool->create_from_prefix(std::span(other).first(other.size() - 1));
  EXPECT_EQ(pool->length(second), static_cast<int64_t>(differs));
  EXPECT_EQ(run(*model_, *pool, second, other, 1000), alone(other, std::ssize(other)));
  pool->free(second);
  const SequenceHandle again = pool->create_from_prefix(std::span(text_).first(text_.size() - 1));
  EXPECT_EQ(pool->length(again), std::ssize(text_) - 1);
  EXPECT_EQ(run(*model_, *pool, again, text_, 1000), expected);
}

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  std::string name =
      info.param.location.to_string() + "_" + std::string(to_string(info.param.weights)) + "_" + std::string(to_string(info.param.kv_type));
  std::replace(name.begin(), name.end(), ':', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Devices, DeterministicTest, ::testing::ValuesIn(cases()), case_name);

}  // namespace
}  // namespace wick
