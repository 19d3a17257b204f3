// Encoder–decoders: what transformers computes and writes, from a folder and from the GGUF file that is written of it, step by step and
// through an engine, and what they refuse.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/golden_models.h"
#include "unit/engine_samples.h"
#include "unit/message_of.h"
#include "unit/shared_data.h"
#include "unit/temporary_folder.h"
#include "wick/convert/checkpoint_to_gguf.h"
#include "wick/engine/chat.h"
#include "wick/engine/engine.h"
#include "wick/engine/generator.h"
#include "wick/formats/safetensors.h"
#include "wick/model/checkpoint/checkpoint.h"
#include "wick/model/decoder_model.h"
#include "wick/model/language_model.h"
#include "wick/text/tokenizer/tokenizer.h"

namespace wick {
namespace {

using Ids = std::vector<int32_t>;

std::unique_ptr<LanguageModel> load(const std::filesystem::path& path, bool precise = true) {
  return load_language_model(Checkpoint::open(path), Device::cpu(), {.precise = precise});
}

Ids joined(const Ids& first, std::span<const int32_t> second) {
  Ids all = first;
  all.insert(all.end(), second.begin(), second.end());
  return all;
}

// A slice of a sequence that has `position` tokens so far, with logits of the tokens of the target in it.
void add_slice(Batch& batch, SequenceHandle sequence, int64_t position, const Ids& tokens, int64_t source) {
  batch.add(sequence, position, tokens, Batch::Results::none);
  batch.sequences.back().source = source;
  for (int64_t index = std::max<int64_t>(0, source - position); index < std::ssize(tokens); ++index) {
    batch.logit_rows.push_back(static_cast<int32_t>(batch.sequences.back().first + index));
  }
}

std::vector<float> target_logits_of(const LanguageModel& model, const Ids& source, const Ids& target) {
  const auto pool = model.new_pool(std::ssize(source) + std::ssize(target));
  Batch batch;
  add_slice(batch, {}, 0, joined(source, target), std::ssize(source));
  return model.forward(batch, *pool).to_vector<float>();
}

void expect_near_all(std::span<const float> got, std::span<const float> want, double bound) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], bound) << "element " << i;
}

// Words "w0", "w1" …, of which the second one ends a text.
std::shared_ptr<const Tokenizer> words(int64_t count) {
  nlohmann::json vocabulary;
  for (int64_t word = 0; word < count; ++word) vocabulary["w" + std::to_string(word)] = word;
  const nlohmann::json json = {
      {"version", "1.0"},
      {"added_tokens", {{{"id", 1}, {"content", "w1"}, {"special", true}}}},
      {"pre_tokenizer", {{"type", "Whitespace"}}},
      {"post_processor",
       {{"type", "TemplateProcessing"},
        {"single", {{{"Sequence", {{"id", "A"}, {"type_id", 0}}}}, {{"SpecialToken", {{"id", "w1"}, {"type_id", 0}}}}}},
        {"pair", nlohmann::json::array()},
        {"special_tokens", {{"w1", {{"id", "w1"}, {"ids", {1}}, {"tokens", {"w1"}}}}}}}},
      {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "w3"}}}};
  return Tokenizer::parse(json.dump(), "tokenizer.json");
}

Request request_of(const Ids& source, int64_t count) {
  Request request = EngineSample::request(source, count);
  request.params.ignore_eos = true;
  return request;
}

Answer ask(Engine& engine, Request request) {
  Stream stream = engine.submit(std::move(request));
  Answer answer;
  while (!answer.take(stream)) (void)engine.step();
  return answer;
}

class EncoderDecoders : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { golden_.write(path()); }
  [[nodiscard]] std::filesystem::path path() const { return folder_.path() / "model"; }
  [[nodiscard]] Ids ids(const char* key) const { return golden_.json.at(key).get<Ids>(); }
  [[nodiscard]] Ids begin() const {
    const Ids target = ids("target_ids");
    return {target.begin(), target.begin() + golden_.json.at("begin").get<int64_t>()};
  }
  [[nodiscard]] std::vector<float> output() const {
    std::vector<float> all;
    for (const auto& row : golden_.json.at("output")) {
      for (const auto& value : row) all.push_back(value.get<float>());
    }
    return all;
  }

  TemporaryFolder folder_;
  GoldenModel golden_{.name = GetParam(),
                      .json = nlohmann::json::parse(std::ifstream(source_file("tests/data/encoder_decoders/" + GetParam() + ".json")))};
};

TEST_P(EncoderDecoders, TheFolderGivesTransformersLogits) {
  const auto model = load(path());
  expect_near_all(target_logits_of(*model, golden_.input_ids(), ids("target_ids")), output(), 1e-4);
  EXPECT_EQ(model->info().target_start, begin());
}

TEST_P(EncoderDecoders, TheGgufFileThatIsWrittenOfItGivesTheSame) {
  write_gguf(Checkpoint::open(path()), folder_.path() / "model.gguf");
  const auto model = load(folder_.path() / "model.gguf");
  expect_near_all(target_logits_of(*model, golden_.input_ids(), ids("target_ids")), output(), 1e-4);
  EXPECT_EQ(model->info().target_start, begin());
}

// Logits of the target, which comes in pieces after the source.
std::vector<float> logits_by_pieces(const LanguageModel& model, const Ids& source, const Ids& target, int64_t piece) {
  const auto sequence = model.new_sequence(std::ssize(source) + std::ssize(target));
  std::vector<float> all;
  const auto add = [&](const Ids& tokens) {
    Batch batch;
    add_slice(batch, sequence->handle(), sequence->length(), tokens, std::ssize(source));
    const std::vector<float> rows = model.forward(batch, sequence->pool()).to_vector<float>();
    all.insert(all.end(), rows.begin(), rows.end());
  };
  add(source);
  for (int64_t done = 0; done < std::ssize(target); done += piece) {
    add({target.begin() + done, target.begin() + std::min(done + piece, std::ssize(target))});
  }
  return all;
}

TEST_P(EncoderDecoders, TheTargetMayComeInPieces) {
  const auto model = load(path());
  for (const int64_t piece : {1, 4}) {
    expect_near_all(logits_by_pieces(*model, golden_.input_ids(), ids("target_ids"), piece), output(), 1e-4);
  }
}

TEST_P(EncoderDecoders, ATargetMayBeLongerThanItsSource) {
  const auto model = load(path());
  const Ids source{7, 9}, target = ids("target_ids");
  expect_near_all(target_logits_of(*model, source, target), logits_by_pieces(*model, source, target, 1), 1e-5);
}

TEST_P(EncoderDecoders, SequencesOfABatchAreComputedEachByItself) {
  const auto model = load(path());
  const Ids source = golden_.input_ids(), target = ids("target_ids");
  const Ids short_source(source.begin() + 2, source.begin() + 9), short_target(target.begin(), target.begin() + 4);
  const auto pool = model->new_pool(40, 4);
  const SequenceHandle running = pool->create();
  Batch first;
  add_slice(first, running, 0, joined(short_source, std::span(target).first(3)), 7);
  (void)model->forward(first, *pool);
  Batch batch;
  add_slice(batch, {}, 0, joined(source, target), std::ssize(source));
  add_slice(batch, running, 10, {target[3]}, 7);
  add_slice(batch, {}, 0, joined(short_source, short_target), 7);
  const std::vector<float> got = model->forward(batch, *pool).to_vector<float>();
  const std::vector<float> alone = target_logits_of(*model, short_source, short_target);
  const auto vocabulary = static_cast<size_t>(model->info().vocab_size), rows = target.size();
  expect_near_all(std::span(got).first(rows * vocabulary), output(), 1e-4);
  expect_near_all(std::span(got).subspan(rows * vocabulary, vocabulary), std::span(alone).subspan(3 * vocabulary), 1e-5);
  expect_near_all(std::span(got).subspan((rows + 1) * vocabulary), alone, 1e-5);
}

TEST_P(EncoderDecoders, AnEngineWritesTransformersGreedyTokens) {
  const auto model = load(path());
  Engine engine(*model, words(64), {});
  const Answer answer = ask(engine, request_of(golden_.input_ids(), 16));
  EXPECT_EQ(answer.only(), ids("greedy_ids"));
  ASSERT_TRUE(answer.prompt);
  EXPECT_EQ(answer.prompt->usage.prompt_tokens, std::ssize(golden_.input_ids()));
  engine.warm_up();
  // A prompt is a text as a whole, with the token that ends it.
  Request spelled{.prompt = "w5 w7"};
  spelled.params.max_tokens = 3;
  spelled.params.ignore_eos = true;
  spelled.params.sampling.temperature = 0;
  EXPECT_EQ(ask(engine, std::move(spelled)).only(), ask(engine, request_of({5, 7, 1}, 3)).only());
}

TEST_P(EncoderDecoders, RequestsAtOnceAndChoicesOfOneWriteWhatEachWritesAlone) {
  const auto model = load(path());
  const Ids source = golden_.input_ids();
  const std::vector<Ids> sources{source, {source.begin() + 3, source.begin() + 8}, {source.begin(), source.begin() + 17}};
  std::vector<std::vector<TokenId>> alone;
  Engine one(*model, words(64), {});
  for (const Ids& each : sources) alone.push_back(ask(one, request_of(each, 16)).only());
  Engine engine(*model, words(64), {});
  std::vector<Stream> streams;
  for (const Ids& each : sources) streams.push_back(engine.submit(request_of(each, 16)));
  Request twice = request_of(source, 16);
  twice.n = 2;
  streams.push_back(engine.submit(std::move(twice)));
  while (engine.step()) {}
  for (size_t index = 0; index < streams.size(); ++index) {
    Answer answer;
    EXPECT_TRUE(answer.take(streams[index]));
    for (const auto& tokens : answer.tokens) EXPECT_EQ(tokens, alone[index % sources.size()]);
    EXPECT_EQ(answer.tokens.size(), index < sources.size() ? 1U : 2U);
  }
}

// With room for one sequence the other one is preempted, and computed again from its source.
TEST_P(EncoderDecoders, APreemptedSequenceGoesOn) {
  const auto model = load(path());
  const Ids source = golden_.input_ids();
  KvPoolOptions room{.context = 96};
  Engine engine(*model, words(64), {.context = 80, .kv_bytes = KvPool::bytes_for(model->cache_layout(), room, 1)});
  Stream first = engine.submit(request_of(source, 16)), second = engine.submit(request_of(source, 16));
  while (engine.step()) {}
  Answer answer, other;
  EXPECT_TRUE(answer.take(first));
  EXPECT_TRUE(other.take(second));
  EXPECT_EQ(answer.only(), ids("greedy_ids"));
  EXPECT_EQ(other.only(), ids("greedy_ids"));
}

TEST_P(EncoderDecoders, AGeneratorWritesTheSame) {
  const auto model = load(path());
  Generator generator(*model, words(64), 64);
  std::string text;
  for (const int32_t token : golden_.input_ids()) text += "w" + std::to_string(token) + " ";
  GenerationParams params;
  params.max_tokens = 5;
  params.ignore_eos = true;
  params.sampling.temperature = 0;
  Engine engine(*model, words(64), {});
  EXPECT_EQ(generator.generate(text, params, {}).tokens, ask(engine, request_of(joined(golden_.input_ids(), Ids{1}), 5)).only());
}

INSTANTIATE_TEST_SUITE_P(All, EncoderDecoders, ::testing::Values("t5", "flan-t5", "mt5", "bart", "mbart"), [](const auto& param) {
  std::string name = param.param;
  std::erase(name, '-');
  return name;
});

// Checkpoints of random weights with what transformers computes for a source of 40 tokens and a target of 12.
class SharedEncoderDecoders : public ::testing::TestWithParam<std::pair<std::string, int32_t>> {
 protected:
  void SetUp() override {
    const auto folder = shared_data("data/hf2/" + GetParam().first);
    if (!folder) GTEST_SKIP() << kSharedDataMissing;
    folder_ = *folder;
    const auto golden = SafetensorsFile::open(folder_ / "golden.safetensors");
    source_ = ids(golden, "input_ids");
    target_ = ids(golden, "decoder_input_ids");
    const auto data = golden.get("output").data;
    output_.assign(reinterpret_cast<const float*>(data.data()), reinterpret_cast<const float*>(data.data() + data.size()));
  }
  static Ids ids(const SafetensorsFile& file, const char* name) {
    const auto data = file.get(name).data;
    const auto* first = reinterpret_cast<const int64_t*>(data.data());
    return {first, first + data.size() / sizeof(int64_t)};
  }
  std::filesystem::path folder_;
  Ids source_, target_;
  std::vector<float> output_;
};

TEST_P(SharedEncoderDecoders, TheFolderAndItsGgufFileGiveTransformersLogits) {
  expect_near_all(target_logits_of(*load(folder_), source_, target_), output_, 1e-4);
  const TemporaryFolder temporary;
  write_gguf(Checkpoint::open(folder_), temporary.path() / "model.gguf");
  expect_near_all(target_logits_of(*load(temporary.path() / "model.gguf"), source_, target_), output_, 1e-4);
}

TEST_P(SharedEncoderDecoders, TheDefaultPathIsNear) {
  const std::vector<float> got = target_logits_of(*load(folder_, false), source_, target_);
  ASSERT_EQ(got.size(), output_.size());
  double product = 0, of_got = 0, of_output = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    product += double{got[i]} * output_[i];
    of_got += double{got[i]} * got[i];
    of_output += double{output_[i]} * output_[i];
  }
  EXPECT_GE(product / std::sqrt(of_got * of_output), 0.9999);
}

TEST_P(SharedEncoderDecoders, AnEngineWritesTransformersGreedyTokens) {
  const auto model = load(folder_);
  Engine engine(*model, words(256), {});
  EXPECT_EQ(ask(engine, request_of(source_, 16)).only(), std::vector<TokenId>(16, GetParam().second));
}

// Both write one token 16 times.
INSTANTIATE_TEST_SUITE_P(Families, SharedEncoderDecoders, ::testing::Values(std::pair("t5", 1), std::pair("bart", 139)),
                         [](const auto& param) { return param.param.first; });

// --- What is refused ---

class EncoderDecoderRefusals : public ::testing::Test {
 protected:
  [[nodiscard]] static GoldenModel golden(const std::string& name) {
    return {.name = name, .json = nlohmann::json::parse(std::ifstream(source_file("tests/data/encoder_decoders/" + name + ".json")))};
  }
  [[nodiscard]] std::unique_ptr<LanguageModel> model(const GoldenModel& of) const {
    of.write(folder_.path());
    return load(folder_.path());
  }
  static void expect(const std::string& words, const std::function<void()>& call) {
    const std::string message = message_of(call);
    EXPECT_NE(message.find(words), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
  TemporaryFolder folder_;
};

TEST_F(EncoderDecoderRefusals, ABatchWithoutAWholeSource) {
  const auto bart = model(golden("bart"));
  const auto pool = bart->new_pool(60, 2);
  const auto run = [&](int64_t position, int64_t count, int64_t source, Batch::Results results = Batch::Results::none) {
    Batch batch;
    batch.add({}, position, Ids(static_cast<size_t>(count), 5), results);
    batch.sequences.back().source = source;
    (void)bart->forward(batch, *pool);
  };
  expect("it writes a text from a source, and none is given", [&] { run(0, 4, 0); });
  expect("rows for positions 0 to 4 with a source of 5 tokens", [&] { run(0, 4, 5); });
  expect("a source of 49 tokens and a target of 1;", [&] { run(0, 50, 49); });
  expect("takes 48 and 48", [&] { run(0, 52, 2); });
  expect("a result of row 0 is wanted, which is of a source", [&] { run(0, 4, 3, Batch::Results::all); });
  const auto sequence = bart->new_sequence(20);
  expect("it writes a text from a source, and none is given", [&] { (void)bart->forward(Ids{5, 6}, *sequence, LogitRows::last); });
}

TEST_F(EncoderDecoderRefusals, AStartTokenThatIsNotThere) {
  GoldenModel t5 = golden("t5");
  t5.json["config"]["decoder_start_token_id"] = 64;
  expect("decoder_start_token_id = 64: the vocabulary has 64 tokens", [&] { (void)model(t5); });
  t5.json["config"].erase("decoder_start_token_id");
  expect("decoder_start_token_id is missing", [&] { (void)model(t5); });
  // As transformers, it is BOS then.
  t5.json["config"]["bos_token_id"] = 9;
  EXPECT_EQ(model(t5)->info().target_start, Ids{9});
  // generation_config.json counts more.
  std::ofstream(folder_.path() / "generation_config.json") << R"({"decoder_start_token_id": 11, "forced_bos_token_id": 12})";
  EXPECT_EQ(load(folder_.path())->info().target_start, (Ids{11, 12}));
  std::ofstream(folder_.path() / "generation_config.json") << R"({"decoder_start_token_id": [1]})";
  expect("decoder_start_token_id is [1], but the id of one token is needed", [&] { (void)load(folder_.path()); });
}

TEST_F(EncoderDecoderRefusals, WhatAnEngineCannotDoWithThem) {
  const auto bart = model(golden("bart"));
  Engine engine(*bart, words(64), {});
  EXPECT_EQ(engine.info().source_tokens, 48);
  expect("gives no vectors or scores", [&] { (void)engine.submit({.task = Request::Task::embed, .tokens = {5, 6}}); });
  expect("the prompt has 49 tokens and the context holds 48", [&] { (void)engine.submit(request_of(Ids(49, 5), 4)); });
  Request logprobs = request_of({5, 6}, 4);
  logprobs.prompt_logprobs = 1;
  expect("whose prompt has no probabilities", [&] { (void)engine.submit(std::move(logprobs)); });
  expect("saves no sessions", [&] { (void)engine.save_session(Ids{5}, folder_.path() / "session"); });
  expect("saves no sessions", [&] { (void)engine.restore_session(folder_.path() / "session"); });
  expect("runs no adapters of encoder–decoders", [&] { engine.add_adapter("style", folder_.path() / "adapter.gguf", 1); });
  FakeLanguageModel decoder(64, 512, EngineSample::rule);
  expect("runs no draft model", [&] { Engine(*bart, words(64), {}, &decoder); });
  expect("it is no decoder (bart)", [&] { Engine(decoder, words(64), {.context = 64}, bart.get()); });
  expect("holds no conversation", [&] { Chat(*bart, words(64), ChatTemplate::parse("{{ messages }}", "own"), {}); });
  // A target ends where its positions do.
  const Answer answer = ask(engine, request_of({5, 6}, 500));
  EXPECT_EQ(answer.reason(), StopReason::context_full);
  EXPECT_EQ(std::ssize(answer.only()), 48 - 2 + 1);
}

}  // namespace
}  // namespace wick
