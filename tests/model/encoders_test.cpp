// Encoders: hidden states and scores of transformers, texts that are computed whole, and what encoders cannot do.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "unit/message_of.h"
#include "unit/shared_data.h"
#include "unit/temporary_folder.h"
#include "wick/convert/checkpoint_to_gguf.h"
#include "wick/engine/prompt.h"
#include "wick/engine/text_vectors.h"
#include "wick/formats/safetensors.h"
#include "wick/model/checkpoint/checkpoint.h"
#include "wick/model/decoder_model.h"
#include "wick/model/language_model.h"
#include "wick/text/tokenizer/tokenizer.h"

namespace wick {
namespace {

template <class T>
std::vector<T> golden_values(const SafetensorsFile& file, const char* name) {
  const auto data = file.get(name).data;
  const auto* first = reinterpret_cast<const T*>(data.data());
  return {first, first + data.size() / sizeof(T)};
}

// A checkpoint of random weights with what transformers computes for 40 tokens.
class Encoder {
 public:
  explicit Encoder(const std::filesystem::path& folder) : folder_(folder) {
    const auto golden = SafetensorsFile::open(folder / "golden.safetensors");
    const auto wide = golden_values<int64_t>(golden, "input_ids");
    ids_.assign(wide.begin(), wide.end());
    output_ = golden_values<float>(golden, "output");
  }
  [[nodiscard]] std::unique_ptr<LanguageModel> load(bool precise = true) const {
    return load_language_model(Checkpoint::open(folder_), Device::cpu(), {.precise = precise});
  }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  [[nodiscard]] const std::vector<int32_t>& ids() const { return ids_; }
  [[nodiscard]] const std::vector<float>& output() const { return output_; }

 private:
  std::filesystem::path folder_;
  std::vector<int32_t> ids_;
  std::vector<float> output_;
};

std::vector<float> hidden_states_of(const LanguageModel& model, std::span<const int32_t> ids) {
  const auto pool = model.new_pool(std::ssize(ids));
  Batch batch;
  batch.add({}, 0, ids, Batch::Results::all);
  return model.forward(batch, *pool, {.result = ModelResult::hidden, .pooling = {}, .stop = {}}).to_vector<float>();
}

std::vector<float> pooled_of(const LanguageModel& model, const std::vector<std::vector<int32_t>>& texts, std::optional<Pooling> pooling) {
  const auto pool = model.new_pool(64, std::ssize(texts));
  Batch batch;
  for (const std::vector<int32_t>& text : texts) batch.add({}, 0, text, Batch::Results::none);
  return model.forward(batch, *pool, {.result = ModelResult::pooled, .pooling = pooling, .stop = {}}).to_vector<float>();
}

void expect_all_near(const std::vector<float>& got, std::span<const float> want, double bound) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], bound) << "element " << i;
}

double cosine_of(const std::vector<float>& left, const std::vector<float>& right) {
  double product = 0, of_left = 0, of_right = 0;
  for (size_t i = 0; i < left.size(); ++i) {
    product += double{left[i]} * right[i];
    of_left += double{left[i]} * left[i];
    of_right += double{right[i]} * right[i];
  }
  return product / std::sqrt(of_left * of_right);
}

class EncoderGoldens : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const auto folder = shared_data("data/hf2/" + GetParam());
    if (!folder) GTEST_SKIP() << kSharedDataMissing;
    encoder_ = std::make_unique<Encoder>(*folder);
  }
  std::unique_ptr<Encoder> encoder_;
};

TEST_P(EncoderGoldens, TheFolderGivesTransformersHiddenStates) {
  const auto model = encoder_->load();
  EXPECT_TRUE(model->info().headless);
  expect_all_near(hidden_states_of(*model, encoder_->ids()), encoder_->output(), 1e-4);
}

TEST_P(EncoderGoldens, TheDefaultPathIsNear) {
  const auto model = encoder_->load(false);
  const std::vector<float> got = hidden_states_of(*model, encoder_->ids());
  ASSERT_EQ(got.size(), encoder_->output().size());
  EXPECT_GE(cosine_of(got, encoder_->output()), 0.9999);
}

TEST_P(EncoderGoldens, TheGgufFileThatIsWrittenOfItGivesTheSame) {
  const TemporaryFolder temporary;
  write_gguf(Checkpoint::open(encoder_->folder()), temporary.path() / "model.gguf");
  const auto model = load_language_model(Checkpoint::open(temporary.path() / "model.gguf"), Device::cpu(), {.precise = true});
  expect_all_near(hidden_states_of(*model, encoder_->ids()), encoder_->output(), 1e-4);
}

TEST_P(EncoderGoldens, TextsOfABatchAreComputedEachByItself) {
  const auto model = encoder_->load();
  const std::vector<int32_t>& ids = encoder_->ids();
  const std::vector<int32_t> part(ids.begin(), ids.begin() + 7);
  const std::vector<float> together = pooled_of(*model, {part, ids, part}, Pooling::mean);
  const auto width = static_cast<size_t>(model->info().width);
  expect_all_near(pooled_of(*model, {part}, Pooling::mean), std::span(together).first(width), 1e-5);
  expect_all_near(pooled_of(*model, {ids}, Pooling::mean), std::span(together).subspan(width, width), 1e-5);
  expect_all_near(pooled_of(*model, {part}, Pooling::mean), std::span(together).subspan(2 * width), 1e-5);
}

TEST_P(EncoderGoldens, MoreTextsThanGoThroughTheLayersTogetherAreTheSame) {
  const auto model = encoder_->load();
  const std::vector<float> alone = pooled_of(*model, {encoder_->ids()}, Pooling::cls);
  // 600 rows, in parts of whole texts.
  const std::vector<std::vector<int32_t>> texts(15, encoder_->ids());
  const std::vector<float> many = pooled_of(*model, texts, Pooling::cls);
  const size_t width = alone.size();
  for (size_t text = 0; text < texts.size(); ++text) expect_all_near(alone, std::span(many).subspan(text * width, width), 1e-5);
}

TEST_P(EncoderGoldens, TheCacheHasRoomForOneLayer) {
  const auto model = encoder_->load();
  EXPECT_EQ(model->cache_layout().layers.size(), 1U);
}

TEST_P(EncoderGoldens, ATextIsNotContinuedAndHasNoLogits) {
  const auto model = encoder_->load();
  const auto sequence = model->new_sequence(32);
  const std::vector<int32_t> ids(encoder_->ids().begin(), encoder_->ids().begin() + 4);
  EXPECT_NE(message_of([&] { (void)model->forward(ids, *sequence, LogitRows::last); }).find("no logits"), std::string::npos);
  Batch batch;
  batch.add(sequence->handle(), 0, ids, Batch::Results::last);
  (void)model->forward(batch, sequence->pool(), {.result = ModelResult::hidden, .pooling = {}, .stop = {}});
  Batch more;
  more.add(sequence->handle(), 4, ids, Batch::Results::last);
  const std::string message =
      message_of([&] { (void)model->forward(more, sequence->pool(), {.result = ModelResult::hidden, .pooling = {}, .stop = {}}); });
  EXPECT_NE(message.find("is an encoder: give each text whole"), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(Families, EncoderGoldens, ::testing::Values("xlm-roberta", "nomic-bert", "modernbert"), [](const auto& param) {
  std::string name = param.param;
  std::erase(name, '-');
  return name;
});

class Rerankers : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto folder = shared_data("data/hf2/xlm-roberta-rerank");
    if (!folder) GTEST_SKIP() << kSharedDataMissing;
    encoder_ = std::make_unique<Encoder>(*folder);
  }
  std::unique_ptr<Encoder> encoder_;
};

TEST_F(Rerankers, TheFolderAndItsGgufFileGiveTransformersScore) {
  const auto model = encoder_->load();
  EXPECT_EQ(model->info().pooling, Pooling::rank);
  expect_all_near(pooled_of(*model, {encoder_->ids()}, {}), encoder_->output(), 1e-4);
  const TemporaryFolder temporary;
  write_gguf(Checkpoint::open(encoder_->folder()), temporary.path() / "model.gguf");
  const auto converted = load_language_model(Checkpoint::open(temporary.path() / "model.gguf"), Device::cpu(), {.precise = true});
  EXPECT_EQ(converted->info().pooling, Pooling::rank);
  expect_all_near(pooled_of(*converted, {encoder_->ids()}, {}), encoder_->output(), 1e-4);
}

TEST_F(Rerankers, AModelWithoutAHeadForItHasNoScores) {
  const auto folder = shared_data("data/hf2/xlm-roberta");
  if (!folder) GTEST_SKIP() << kSharedDataMissing;
  const auto model = Encoder(*folder).load();
  EXPECT_NE(message_of([&] { (void)pooled_of(*model, {{3, 4}}, Pooling::rank); }).find("no head"), std::string::npos);
}

std::shared_ptr<const Tokenizer> tokenizer_of(const char* kind, const char* begin, const char* end) {
  const nlohmann::json json = {
      {"version", "1.0"},
      {"added_tokens", {{{"id", 0}, {"content", begin}, {"special", true}}, {{"id", 1}, {"content", end}, {"special", true}}}},
      {"pre_tokenizer", {{"type", "Whitespace"}}},
      {"post_processor", {{"type", kind}, {"cls", {begin, 0}}, {"sep", {end, 1}}}},
      {"model", {{"type", "WordLevel"}, {"vocab", {{begin, 0}, {end, 1}, {"cat", 2}, {"pet", 3}, {"?", 4}}}, {"unk_token", "?"}}}};
  return Tokenizer::parse(json.dump(), "tokenizer.json");
}

TEST(Pairs, AreJoinedAsTransformersTokenizersJoinThem) {
  const auto roberta = tokenizer_of("RobertaProcessing", "<s>", "</s>");
  EXPECT_EQ(encode_pair(*roberta, "pet", "cat cat").tokens, (std::vector<TokenId>{0, 3, 1, 1, 2, 2, 1}));
  const auto bert = tokenizer_of("BertProcessing", "[CLS]", "[SEP]");
  EXPECT_EQ(encode_pair(*bert, "pet", "cat cat").tokens, (std::vector<TokenId>{0, 3, 1, 2, 2, 1}));
  EXPECT_EQ(encode_pair(*bert, "pet", "cat cat").second, 3);
}

TEST(Truncation, LeavesOutTheEndOrTheStartAndKeepsSpecialTokens) {
  const auto bert = tokenizer_of("BertProcessing", "[CLS]", "[SEP]");
  const std::vector<TokenId> text{0, 2, 3, 2, 3, 1};
  EXPECT_EQ(truncated(*bert, text, 6, Truncation::end), text);
  EXPECT_EQ(truncated(*bert, text, 4, Truncation::none), text);
  EXPECT_EQ(truncated(*bert, text, 4, Truncation::end), (std::vector<TokenId>{0, 2, 3, 1}));
  EXPECT_EQ(truncated(*bert, text, 3, Truncation::start), (std::vector<TokenId>{0, 3, 1}));
  const TextPair pair = encode_pair(*bert, "pet", "cat cat cat");
  EXPECT_EQ(truncated(*bert, pair.tokens, 5, Truncation::end, pair.second), (std::vector<TokenId>{0, 3, 1, 2, 1}));
  const std::string message = message_of([&] { (void)truncated(*bert, pair.tokens, 3, Truncation::end, pair.second); });
  EXPECT_NE(message.find("of the 7 tokens, 4 cannot be left out, and the context holds 3"), std::string::npos) << message;
}

TEST(Vectors, OfManyTextsAreThoseOfEach) {
  const auto folder = shared_data("data/hf2/xlm-roberta");
  if (!folder) GTEST_SKIP() << kSharedDataMissing;
  const Encoder encoder(*folder);
  const auto model = encoder.load();
  std::vector<TextPair> texts;
  for (size_t index = 0; index < 40; ++index) {
    texts.push_back({{encoder.ids().begin(), encoder.ids().begin() + static_cast<ptrdiff_t>(3 + index * 7 % 37)}});
  }
  const std::vector<std::vector<float>> vectors = text_vectors(*model, texts, Pooling::mean);
  for (size_t index = 0; index < texts.size(); ++index) {
    expect_all_near(pooled_of(*model, {texts[index].tokens}, Pooling::mean), vectors[index], 1e-5);
  }
}

// RoBERTa counts positions after that of its padding token: their rows are no positions of a text.
TEST(RobertaPositions, TheRowsOfPaddingAreNoPositions) {
  const auto folder = shared_data("data/hf2/xlm-roberta");
  if (!folder) GTEST_SKIP() << kSharedDataMissing;
  const Checkpoint checkpoint = Checkpoint::open(*folder);
  EXPECT_EQ(checkpoint.get_uint("bert.context_length"), 257U);  // 258 rows, pad_token_id 0
  EXPECT_EQ(checkpoint.find_tensor("position_embd.weight")->shape[0], 257);
  EXPECT_EQ(describe(checkpoint).context_length, 257);
}

}  // namespace
}  // namespace wick
