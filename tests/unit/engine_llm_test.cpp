#include "wick/engine/llm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "unit/greedy.h"
#include "unit/message_of.h"
#include "unit/shared_data.h"
#include "wick/base/error.h"
#include "wick/engine/generator.h"
#include "wick/engine/sampling.h"
#include "wick/formats/gguf.h"
#include "wick/text/tokenizer/tokenizer.h"

namespace wick {
namespace {

std::filesystem::path default_model() { return source_file("models/novelist-20m-q8_0.gguf"); }

TEST(Llm, TokenizesAsItsTokenizerDoesWithBosFirst) {
  const Llm model = Llm::load(default_model(), {.device = Device::cpu()});
  const auto tokenizer = Tokenizer::load(default_model());
  std::vector<TokenId> expected = tokenizer->encode("Once upon a time", {.add_special = false});
  if (tokenizer->adds_bos()) expected.insert(expected.begin(), *tokenizer->bos());
  const std::vector<TokenId> ids = model.tokenize("Once upon a time");
  EXPECT_EQ(ids, expected);
  EXPECT_EQ(model.detokenize(ids), "Once upon a time");
}

TEST(Llm, StreamsTheTextThatItReturns) {
  const Llm model = Llm::load(default_model(), {.device = Device::cpu()});
  std::string streamed;
  const GenerationResult result = model.generate("Once upon a time", greedy(20), [&](std::string_view piece) {
    streamed += piece;
    return true;
  });
  EXPECT_EQ(streamed, result.text);
  EXPECT_EQ(result.tokens.size(), 20U);
  EXPECT_EQ(result.stop_reason, StopReason::max_tokens);
}

TEST(Llm, SamplingItsLogitsByHandIsGreedyGeneration) {
  const Llm model = Llm::load(default_model(), {.device = Device::cpu(), .precise = true});
  const GenerationResult result = model.generate("Once upon a time", greedy(6));
  std::vector<TokenId> ids = model.tokenize("Once upon a time");
  const size_t prompt = ids.size();
  Sampler sampler({.temperature = 0});
  for (int i = 0; i < 6; ++i) {
    const Tensor logits = model.logits(ids);
    ASSERT_EQ(logits.dim(1), model.info().vocab_size);
    ids.push_back(sampler.sample(logits.get(logits.dim(0) - 1).to_vector<float>()));
  }
  EXPECT_EQ(std::vector<TokenId>(ids.begin() + static_cast<int64_t>(prompt), ids.end()), result.tokens);
}

TEST(Llm, CopiesShareTheModel) {
  const Llm model = Llm::load(default_model(), {.device = Device::cpu()});
  const Llm copy = model;  // NOLINT: a copy is what is tested
  EXPECT_EQ(&copy.tokenizer(), &model.tokenizer());
  EXPECT_EQ(copy.generate("A", greedy(5)).text, model.generate("A", greedy(5)).text);
}

TEST(Llm, RefusesWhatCannotBe) {
  EXPECT_EQ(code_of([] { (void)Llm::load("/no/such/model.gguf"); }), ErrorCode::not_found);
  EXPECT_EQ(code_of([] { (void)Llm::load(default_model(), {.device = Device::cpu(), .context = -1}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { (void)Llm::load(default_model(), {.device = Device::cpu(), .context = int64_t{1} << 40}); }),
            ErrorCode::invalid_argument);
  const Llm model = Llm::load(default_model(), {.device = Device::cpu(), .context = 8});
  EXPECT_EQ(code_of([&] { (void)model.logits({}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)model.logits(std::vector<TokenId>(9, 1)); }), ErrorCode::context_full);
  EXPECT_EQ(code_of([&] { (void)model.logits(std::vector<TokenId>{1 << 30}); }), ErrorCode::index_out_of_range);
  EXPECT_EQ(code_of([&] { (void)model.generate("one two three four five six seven eight nine ten"); }), ErrorCode::context_full);
  EXPECT_EQ(code_of([&] { (void)model.generate("\xff"); }), ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace wick
