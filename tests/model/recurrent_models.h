// Small models with recurrent layers, one of each family, under an engine.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "model/golden_models.h"
#include "unit/engine_samples.h"
#include "unit/temporary_folder.h"
#include "wick/model/checkpoint/checkpoint.h"
#include "wick/model/language_model.h"

namespace wick {

constexpr const char* kRecurrentModels[] = {"lfm2",         "mamba2", "falcon-h1",       "granite-hybrid", "nemotron-h", "nemotron3",
                                            "bamba",        "mamba",  "qwen3next",       "qwen35",         "jamba",      "kimi-linear",
                                            "falcon-mamba", "rwkv7",  "recurrent-gemma", "minimax-01"};

inline std::string recurrent_name(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

constexpr int32_t kRecurrentVocabulary = 600;
constexpr int64_t kRecurrentPositions = 256;

// The golden's model with more tokens, so that a tokenizer fits it, and more positions.
[[nodiscard]] inline GoldenModel wide_recurrent_model(const std::string& name) {
  GoldenModel golden = GoldenModel::read(name);
  golden.json["config"]["vocab_size"] = kRecurrentVocabulary;
  for (const char* key : {"max_position_embeddings", "model_max_length"}) {
    if (golden.json["config"].contains(key)) golden.json["config"][key] = kRecurrentPositions;
  }
  for (auto& [tensor, shape] : golden.json["tensors"].items()) {
    const bool table = tensor.find("embed") != std::string::npos && tensor.find("norm") == std::string::npos;
    if (table || tensor == "lm_head.weight") shape[0] = kRecurrentVocabulary;
  }
  return golden;
}

class RecurrentModel : public ::testing::TestWithParam<const char*> {
 protected:
  static constexpr int32_t kVocabulary = kRecurrentVocabulary;
  static constexpr int64_t kPositions = kRecurrentPositions;

  void SetUp() override {
    wide_recurrent_model(GetParam()).write(folder_.path() / "model");
    model_ = load_language_model(Checkpoint::open(folder_.path() / "model"), Device::cpu(), {.deterministic = true});
  }
  [[nodiscard]] static std::vector<TokenId> text_of(int64_t count, uint32_t seed) {
    std::mt19937 random(seed);
    return EngineSample::random_tokens(random, count);
  }
  [[nodiscard]] static Request request(std::vector<TokenId> tokens, int64_t count) {
    Request made = EngineSample::request(std::move(tokens), count);
    made.params.ignore_eos = true;
    return made;
  }
  [[nodiscard]] static Answer finish(Engine& engine, Stream stream) {
    Answer answer;
    for (int steps = 0; !answer.take(stream) && steps < 10000; ++steps) (void)engine.step();
    EXPECT_FALSE(answer.error) << answer.error->message;
    return answer;
  }
  // By itself, nothing being kept.
  [[nodiscard]] std::vector<TokenId> alone(const std::vector<TokenId>& tokens, int64_t count, int64_t context = 128) const {
    Engine engine(*model_, tokenizer_, {.context = context, .sequences = 1, .prefix_cache = false, .speculation = {.most = 0}});
    return finish(engine, engine.submit(request(tokens, count))).only();
  }

  TemporaryFolder folder_;
  std::unique_ptr<LanguageModel> model_;
  std::shared_ptr<const Tokenizer> tokenizer_ = fake_tokenizer(kVocabulary);
};

}  // namespace wick
