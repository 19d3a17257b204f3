// What a request is answered does not depend on what runs beside it: lengths, samplers, forms, adapters and cancelled ones, mixed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "model/tiny_adapter.h"
#include "unit/engine_samples.h"
#include "unit/message_of.h"
#include "unit/temporary_folder.h"
#include "wick/formats/gguf.h"
#include "wick/model/architectures/architecture.h"
#include "wick/model/language_model.h"
#include "wick/model/lora/lora_adapter.h"
#include "wick/text/grammar/token_constraint.h"

namespace wick {
namespace {

using testing::HasSubstr;

class EngineMixed : public testing::TestWithParam<DType> {
 protected:
  EngineMixed() : tokenizer_(fake_tokenizer(600)) {
    tiny_.vocab = 600;
    tiny_.head_dim = 32;
    tiny_.dtype = GetParam();
    write_tiny_model(tiny_, folder_.path() / "tiny.gguf");
    file_ = GgufFile::open(folder_.path() / "tiny.gguf");
    model_ = load_language_model(*file_, Device::cpu(), {.deterministic = true});
    TinyAdapter(tiny_, {"attn_q", "attn_v", "ffn_gate"}, 5, 1).write(folder_.path() / "first.gguf");
    TinyAdapter(tiny_, {"attn_q", "attn_output", "ffn_down"}, 2, 2).write(folder_.path() / "second.gguf");
    for (const char* name : {"first", "second"}) {
      const auto path = folder_.path() / (std::string(name) + ".gguf");
      model_->add_adapter(name, LoraAdapter::open(path, *find_architecture("llama")), 1);
    }
  }

  [[nodiscard]] Request mixed(size_t index) {
    std::mt19937 random(static_cast<uint32_t>(index) + 1);
    Request request;
    if (index % 4 == 0) {
      std::mt19937 shared(99);
      request.tokens = EngineSample::random_tokens(shared, 70);
    }
    const int64_t more = 1 + static_cast<int64_t>(index * 11 % 90);
    for (const TokenId token : EngineSample::random_tokens(random, more)) request.tokens.push_back(token);
    GenerationParams& params = request.params;
    params.max_tokens = 5 + static_cast<int64_t>(index * 37 % 90);
    params.ignore_eos = true;
    params.sampling.seed = index;
    if (index % 3 != 0) params.sampling.temperature = 0;
    if (index % 5 == 0) params.sampling.frequency_penalty = 0.5F;
    if (index % 7 == 0) params.stop = {"e"};
    if (index % 6 == 0) request.n = 2;
    if (index % 9 == 4) {
      params.constraint = compiler_.compile({.kind = OutputFormat::Kind::regex, .text = "([a-f]+ )*[0-9]{4}"});
    } else if (index % 9 == 7) {
      params.constraint = compiler_.compile({.kind = OutputFormat::Kind::json});
    }
    if (index % 2 == 1) params.adapters = {{index % 4 == 1 ? "first" : "second", {}}};
    if (index % 8 == 6) params.adapters = {{"second", 0.5F}, {"first", -0.25F}};
    request.priority = static_cast<int32_t>(index % 2);
    return request;
  }
  static bool is_cancelled(size_t index) { return index % 8 == 5; }

  TemporaryFolder folder_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  ConstraintCompiler compiler_{tokenizer_};
  TinyModel tiny_;
  std::optional<GgufFile> file_;
  std::unique_ptr<LanguageModel> model_;
};

TEST_P(EngineMixed, EachOf32RequestsIsAnsweredAsAlone) {
  std::vector<Answer> alone(32);
  for (size_t index = 0; index < alone.size(); ++index) {
    Engine engine(*model_, tokenizer_, {.context = 256, .sequences = 2, .prefix_cache = false, .speculation = {.most = 0}});
    Stream stream = engine.submit(mixed(index));
    while (engine.step()) {}
    ASSERT_TRUE(alone[index].take(stream));
    ASSERT_FALSE(alone[index].error) << alone[index].error->message;
  }
  // All at once, with too little memory for all, prefixes, speculation and host memory.
  EngineOptions options{.context = 256, .sequences = 12, .cache_ram_bytes = 1 << 24};
  options.kv_bytes = KvPool::bytes_for(model_->cache_layout(), {.context = 256}, 2);
  options.speculation.adaptive = false;
  Engine engine(*model_, tokenizer_, options);
  std::vector<Stream> streams;
  std::vector<Answer> together(alone.size());
  for (size_t index = 0; index < alone.size(); ++index) streams.push_back(engine.submit(mixed(index)));
  while (engine.step()) {
    for (size_t index = 0; index < alone.size(); ++index) {
      (void)together[index].take(streams[index]);
      if (is_cancelled(index) && together[index].tokens.size() == 1 && together[index].only().size() >= 3) streams[index].cancel();
    }
  }
  for (size_t index = 0; index < alone.size(); ++index) {
    ASSERT_TRUE(together[index].take(streams[index]));
    if (is_cancelled(index)) {
      const auto& tokens = together[index].only();
      EXPECT_EQ(tokens, std::vector<TokenId>(alone[index].only().begin(), alone[index].only().begin() + std::ssize(tokens))) << index;
      continue;
    }
    EXPECT_EQ(together[index].tokens, alone[index].tokens) << index;
    EXPECT_EQ(together[index].texts, alone[index].texts) << index;
  }
  const EngineMetrics metrics = engine.metrics();
  EXPECT_GT(metrics.preemptions, 0U);
  EXPECT_GT(metrics.prefix_hit_tokens, 0U);
  EXPECT_GT(metrics.draft_tokens, 0U);
  EXPECT_EQ(metrics.kv_blocks_used, 0);
}

INSTANTIATE_TEST_SUITE_P(Weights, EngineMixed, testing::Values(DType::f32, DType::q8_0, DType::f16),
                         [](const testing::TestParamInfo<DType>& info) { return std::string(to_string(info.param)); });

class EngineAdapters : public EngineMixed {};

TEST_P(EngineAdapters, PrefixesAreThoseOfTheAdapterAndItsScale) {
  Engine engine(*model_, tokenizer_, {.context = 256});
  std::mt19937 random(5);
  const std::vector<TokenId> prompt = EngineSample::random_tokens(random, 100);
  const auto cached = [&](const std::vector<AdapterChoice>& adapters) {
    Request request = EngineSample::request(prompt, 4);
    request.params.adapters = adapters;
    Stream stream = engine.submit(std::move(request));
    while (engine.step()) {}
    Answer answer;
    EXPECT_TRUE(answer.take(stream));
    return answer.finishes.at(0).usage.cached_tokens;
  };
  EXPECT_EQ(cached({}), 0);
  EXPECT_EQ(cached({}), 99);
  EXPECT_EQ(cached({{"first", {}}}), 0);
  EXPECT_EQ(cached({{"first", 1}}), 99);
  EXPECT_EQ(cached({{"first", 0.5F}}), 0);
  EXPECT_EQ(cached({{"second", {}}}), 0);
  EXPECT_EQ(cached({{"second", {}}, {"first", {}}}), 0);
  EXPECT_EQ(cached({{"first", {}}}), 99);
}

TEST_P(EngineAdapters, OneIsAddedWhileTheEngineRuns) {
  Engine engine(*model_, tokenizer_, {.context = 256});
  engine.start();
  Request request = EngineSample::request({1, 2, 3}, 200);
  request.params.ignore_eos = true;
  Stream stream = engine.submit(request);
  engine.add_adapter("third", folder_.path() / "first.gguf", 0.5F);
  EXPECT_EQ(engine.adapters().size(), 3U);
  const auto told = [&](const std::vector<AdapterChoice>& adapters) {
    request.params.adapters = adapters;
    Stream one = engine.submit(request);
    Answer answer;
    while (std::optional<StreamEvent> event = one.next()) answer.add(std::move(*event));
    return answer.only();
  };
  EXPECT_EQ(told({{"third", {}}}), told({{"first", 0.5F}}));
  EXPECT_THAT(message_of([&] { engine.add_adapter("third", folder_.path() / "first.gguf"); }), HasSubstr("there is one of that name"));
  EXPECT_THAT(message_of([&] { engine.add_adapter("fourth", folder_.path() / "none.gguf"); }), HasSubstr("none.gguf"));
  Answer answer;
  while (std::optional<StreamEvent> event = stream.next()) answer.add(std::move(*event));
  EXPECT_EQ(answer.only().size(), 200U);
}

TEST_P(EngineAdapters, OnesThatAreNotThereAreNamed) {
  Engine engine(*model_, tokenizer_, {.context = 256});
  const auto message = [&](const std::vector<AdapterChoice>& adapters) {
    Request request = EngineSample::request({1}, 1);
    request.params.adapters = adapters;
    return message_of([&] { (void)engine.submit(request); });
  };
  EXPECT_THAT(message({{"furst", {}}}), AllOf(HasSubstr("'furst'"), HasSubstr("'first', 'second'")));
  EXPECT_THAT(message({{"first", {}}, {"first", 2}}), HasSubstr("named twice"));
  EXPECT_THAT(message({{"first", std::numeric_limits<float>::infinity()}}), HasSubstr("finite"));
}

INSTANTIATE_TEST_SUITE_P(Weights, EngineAdapters, testing::Values(DType::q8_0),
                         [](const testing::TestParamInfo<DType>& info) { return std::string(to_string(info.param)); });

}  // namespace
}  // namespace wick
