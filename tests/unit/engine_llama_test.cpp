// An engine over a real model: what it answers together is what it answers alone.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "model/tiny_model.h"
#include "unit/engine_samples.h"
#include "unit/temporary_folder.h"
#include "wick/formats/gguf.h"
#include "wick/model/language_model.h"
#include "wick/text/grammar/token_constraint.h"

namespace wick {
namespace {

class EngineLlama : public testing::Test {
 protected:
  EngineLlama() : tokenizer_(fake_tokenizer(600)) {
    TinyModel tiny;
    tiny.vocab = 600;
    tiny.head_dim = 32;
    const std::filesystem::path path = folder_.path() / "tiny.gguf";
    write_tiny_model(tiny, path);
    file_ = GgufFile::open(path);
    model_ = load_language_model(*file_, Device::cpu(), {.precise = true});
  }

  // Prompts of many lengths, some of which begin alike; greedy and sampled, with penalties and stop strings.
  static Request mixed(size_t index) {
    std::mt19937 random(static_cast<uint32_t>(index) + 1);
    Request request;
    if (index % 4 == 0) {
      std::mt19937 shared(99);
      request.tokens = EngineSample::random_tokens(shared, 70);
    }
    for (const TokenId token : EngineSample::random_tokens(random, 1 + static_cast<int64_t>(index * 11 % 90)))
      request.tokens.push_back(token);
    request.params.max_tokens = 5 + static_cast<int64_t>(index * 37 % 90);
    request.params.ignore_eos = true;
    SamplingParams& sampling = request.params.sampling;
    if (index % 3 != 0) {
      sampling.temperature = 0;
    } else {
      sampling.seed = index;
    }
    if (index % 5 == 0) sampling.frequency_penalty = 0.5F;
    if (index % 7 == 0) request.params.stop = {"e"};
    if (index % 6 == 0) request.n = 2;
    request.priority = static_cast<int32_t>(index % 2);
    return request;
  }

  TemporaryFolder folder_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::optional<GgufFile> file_;
  std::unique_ptr<LanguageModel> model_;
};

TEST_F(EngineLlama, EachOf32MixedRequestsIsWhatItIsAlone) {
  std::vector<Answer> alone(32);
  for (size_t index = 0; index < alone.size(); ++index) {
    Engine engine(*model_, tokenizer_, {.context = 256, .sequences = 2, .prefix_cache = false, .speculation = {.most = 0}});
    Stream stream = engine.submit(mixed(index));
    while (engine.step()) {}
    EXPECT_TRUE(alone[index].take(stream));
  }
  // All at once, with too little memory for all, prefixes, speculation, host memory, and some that are cancelled.
  EngineOptions options{.context = 256, .sequences = 12, .cache_ram_bytes = 1 << 24};
  KvPoolOptions pool{.context = 256};
  options.kv_bytes = KvPool::bytes_for(model_->cache_layout(), pool, 2);
  Engine engine(*model_, tokenizer_, options);
  std::vector<Stream> streams;
  std::vector<Answer> together(alone.size());
  for (size_t index = 0; index < alone.size(); ++index) streams.push_back(engine.submit(mixed(index)));
  while (engine.step()) {
    for (size_t index = 0; index < alone.size(); ++index) {
      (void)together[index].take(streams[index]);
      if (index % 8 == 5 && together[index].tokens.size() == 1 && together[index].only().size() >= 3) streams[index].cancel();
    }
  }
  for (size_t index = 0; index < alone.size(); ++index) {
    ASSERT_TRUE(together[index].take(streams[index]));
    if (index % 8 == 5) {
      const auto& tokens = together[index].only();
      EXPECT_EQ(tokens, std::vector<TokenId>(alone[index].only().begin(), alone[index].only().begin() + std::ssize(tokens))) << index;
      continue;
    }
    EXPECT_EQ(together[index].tokens, alone[index].tokens) << index;
    EXPECT_EQ(together[index].texts, alone[index].texts) << index;
  }
  EXPECT_GT(engine.metrics().preemptions, 0U);
  EXPECT_GT(engine.metrics().prefix_hit_tokens, 0U);
  EXPECT_EQ(engine.metrics().kv_blocks_used, 0);
}

TEST_F(EngineLlama, EmbeddingsAreTheModelsBesideOthersTokens) {
  Engine engine(*model_, tokenizer_, {.context = 256, .sequences = 2});
  Request text = mixed(1);
  Stream beside = engine.submit(std::move(text));
  std::vector<Stream> streams;
  std::vector<std::vector<TokenId>> prompts;
  for (int64_t length : {1, 40, 200}) {
    std::mt19937 random(static_cast<uint32_t>(length));
    prompts.push_back(EngineSample::random_tokens(random, length));
    streams.push_back(engine.submit({.task = Request::Task::embed, .tokens = prompts.back()}));
  }
  while (engine.step()) {}
  EXPECT_TRUE(Answer().take(beside));
  for (size_t index = 0; index < streams.size(); ++index) {
    Answer answer;
    ASSERT_TRUE(answer.take(streams[index]));
    Batch batch;
    batch.add({}, 0, prompts[index], Batch::Results::none);
    const auto pool = model_->new_pool(256);
    const std::vector<float> want = model_->forward(batch, *pool, {.result = ModelResult::pooled, .stop = {}}).to_vector<float>();
    const std::vector<float>& got = answer.finishes.at(0).embedding;
    ASSERT_EQ(got.size(), want.size());
    for (size_t at = 0; at < want.size(); ++at) EXPECT_NEAR(got[at], want[at], 1e-4F * (1 + std::abs(want[at])));
    EXPECT_EQ(answer.prompt->usage.prompt_tokens, std::ssize(prompts[index]));
  }
}

TEST_F(EngineLlama, AConstraintHoldsForEachChoiceWithSpeculationBesideOthers) {
  Engine engine(*model_, tokenizer_, {.context = 256, .sequences = 6});
  ConstraintCompiler compiler(tokenizer_);
  Request request{.prompt = "Yes or no?"};
  request.params.constraint = compiler.compile({.kind = OutputFormat::Kind::choices, .choices = {"yes yes yes yes yes yes", "no", "none"}});
  request.n = 4;
  request.params.max_tokens = 60;
  request.params.sampling.temperature = 2;
  request.params.sampling.seed = 3;
  Stream beside = engine.submit(mixed(2));
  Stream stream = engine.submit(std::move(request));
  while (engine.step()) {}
  Answer answer;
  ASSERT_TRUE(answer.take(stream));
  ASSERT_FALSE(answer.error) << answer.error->message;
  ASSERT_EQ(answer.finishes.size(), 4U);
  for (const std::string& text : answer.texts) {
    EXPECT_TRUE(text == "yes yes yes yes yes yes" || text == "no" || text == "none") << text;
  }
  for (const FinishEvent& finish : answer.finishes) EXPECT_EQ(finish.reason, StopReason::end_of_sequence);
  EXPECT_TRUE(Answer().take(beside));
}

}  // namespace
}  // namespace wick
