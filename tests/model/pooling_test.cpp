// Vectors of texts: the file says how the tokens' vectors become one, in each form that files have for it, and a caller may say otherwise.
#include <gtest/gtest.h>

#include <cmath>

#include "model/golden_models.h"
#include "unit/message_of.h"
#include "unit/shared_data.h"
#include "unit/temporary_folder.h"
#include "wick/convert/checkpoint_to_gguf.h"
#include "wick/formats/gguf_writer.h"
#include "wick/model/checkpoint/checkpoint.h"
#include "wick/model/checkpoint/pooling.h"
#include "wick/model/language_model.h"

namespace wick {
namespace {

using Json = nlohmann::json;

class PooledVectors : public ::testing::Test {
 protected:
  PooledVectors() { golden_.write(model()); }

  [[nodiscard]] std::filesystem::path model() const { return folder_.path() / "model"; }
  [[nodiscard]] std::filesystem::path gguf() const { return folder_.path() / "model.gguf"; }
  void write_modules(const Json& pooling, const Json& more = Json::array()) const {
    Json modules = {{{"idx", 0}, {"name", "0"}, {"path", ""}, {"type", "sentence_transformers.models.Transformer"}},
                    {{"idx", 1}, {"name", "1"}, {"path", "1_Pooling"}, {"type", "sentence_transformers.models.Pooling"}},
                    {{"idx", 2}, {"name", "2"}, {"path", "2_Normalize"}, {"type", "sentence_transformers.models.Normalize"}}};
    for (const Json& each : more) modules.push_back(each);
    std::ofstream(model() / "modules.json") << modules.dump();
    std::filesystem::create_directories(model() / "1_Pooling");
    std::ofstream(model() / "1_Pooling" / "config.json") << pooling.dump();
  }
  void expect_pooled(const std::filesystem::path& path, const char* kind, const std::optional<Pooling>& asked = {}) const {
    SCOPED_TRACE(kind);
    const auto loaded = load_language_model(Checkpoint::open(path), Device::cpu(), {.precise = true});
    const std::vector<int32_t> ids = golden_.input_ids();
    const auto pool = loaded->new_pool(64, 2);
    Batch batch;
    batch.add({}, 0, std::span(ids).first(3), Batch::Results::none);
    batch.add({}, 0, ids, Batch::Results::none);
    const std::vector<float> got =
        loaded->forward(batch, *pool, {.result = ModelResult::pooled, .pooling = asked, .stop = {}}).narrow(0, 1, 1).to_vector<float>();
    const auto want = golden_.json.at("vectors").at(kind).get<std::vector<float>>();
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-4) << "element " << i;
  }
  [[nodiscard]] std::string message() const {
    return message_of([&] { (void)load_language_model(Checkpoint::open(model()), Device::cpu()); });
  }

  TemporaryFolder folder_;
  GoldenModel golden_{.name = "qwen3", .json = Json::parse(std::ifstream(source_file("tests/data/embeddings/qwen3.json")))};
};

TEST_F(PooledVectors, AFolderWithoutModulesGivesTheMean) { expect_pooled(model(), "mean"); }

TEST_F(PooledVectors, SentenceTransformersModulesDecideAndAreConverted) {
  const std::vector<std::pair<const char*, const char*>> modes = {{"pooling_mode_lasttoken", "last"},
                                                                  {"pooling_mode_cls_token", "cls"},
                                                                  {"pooling_mode_mean_tokens", "mean"},
                                                                  {"pooling_mode_max_tokens", "max"},
                                                                  {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt"},
                                                                  {"pooling_mode_weightedmean_tokens", "weighted_mean"}};
  for (const auto& [key, kind] : modes) {
    Json pooling = {{"word_embedding_dimension", 32}, {"pooling_mode_cls_token", false}, {"include_prompt", true}};
    pooling[key] = true;
    write_modules(pooling);
    expect_pooled(model(), kind);
    write_gguf(Checkpoint::open(model()), gguf());
    expect_pooled(gguf(), kind);
  }
  write_modules({{"pooling_mode", "lasttoken"}});
  expect_pooled(model(), "last");
  write_gguf(Checkpoint::open(model()), gguf());
  const GgufFile file = GgufFile::open(gguf());
  EXPECT_EQ(file.find("qwen3.pooling_type")->type(), GgufType::u32);
  EXPECT_EQ(file.get_uint("qwen3.pooling_type"), 3U);
}

TEST_F(PooledVectors, DenseLayersAndPromptsOfSentenceTransformersCount) {
  write_modules({{"pooling_mode_mean_tokens", true}}, {{{"path", "3_Dense"}, {"type", "sentence_transformers.models.Dense"}}});
  std::filesystem::create_directories(model() / "3_Dense");
  std::ofstream(model() / "3_Dense" / "config.json") << R"({"activation_function": "torch.nn.modules.activation.Tanh"})";
  const auto mean = golden_.json.at("vectors").at("mean").get<std::vector<float>>();
  const std::vector<float> matrix = golden_weight("dense", {8, std::ssize(mean)}), bias = golden_weight("bias", {8});
  SafetensorsWriter writer;
  writer.add_tensor("linear.weight", DType::f32, {8, std::ssize(mean)},
                    [&](const SafetensorsWriter::Sink& sink) { sink(std::as_bytes(std::span(matrix))); });
  writer.add_tensor("linear.bias", DType::f32, {8}, [&](const SafetensorsWriter::Sink& sink) { sink(std::as_bytes(std::span(bias))); });
  writer.write(model() / "3_Dense" / "model.safetensors");
  std::ofstream(model() / "config_sentence_transformers.json")
      << R"({"prompts": {"query": "query: ", "passage": ""}, "default_prompt_name": "query"})";
  write_gguf(Checkpoint::open(model()), gguf());
  for (const std::filesystem::path& path : {model(), gguf()}) {
    const auto loaded = load_language_model(Checkpoint::open(path), Device::cpu(), {.precise = true});
    EXPECT_EQ(loaded->info().vector_width, 8);
    EXPECT_EQ(loaded->info().prompts.find({}), "query: ");
    EXPECT_NE(message_of([&] { (void)loaded->info().prompts.find("other"); }).find("it has query"), std::string::npos);
    const auto pool = loaded->new_pool(64);
    Batch batch;
    batch.add({}, 0, golden_.input_ids(), Batch::Results::none);
    const std::vector<float> got =
        loaded->forward(batch, *pool, {.result = ModelResult::pooled, .pooling = {}, .stop = {}}).to_vector<float>();
    ASSERT_EQ(got.size(), 8U);
    for (size_t row = 0; row < 8; ++row) {
      double sum = bias[row];
      for (size_t column = 0; column < mean.size(); ++column) sum += double{matrix[row * mean.size() + column]} * mean[column];
      EXPECT_NEAR(got[row], std::tanh(sum), 1e-4);
    }
  }
}

TEST_F(PooledVectors, ACallerSaysOtherwise) {
  write_modules({{"pooling_mode_lasttoken", true}});
  expect_pooled(model(), "cls", Pooling::cls);
  expect_pooled(model(), "mean", Pooling::mean);
}

TEST_F(PooledVectors, AModelWithoutAHeadHasNoLogits) {
  const auto loaded = load_language_model(Checkpoint::open(model()), Device::cpu(), {.precise = true});
  const auto sequence = loaded->new_sequence(32);
  const std::string text = message_of([&] { (void)loaded->forward(golden_.input_ids(), *sequence, LogitRows::last); });
  EXPECT_NE(text.find("no head"), std::string::npos) << text;
}

TEST_F(PooledVectors, WhatIsNotKnownIsNamed) {
  write_modules({{"pooling_mode_lasttoken", true}, {"pooling_mode_mean_tokens", true}});
  EXPECT_NE(message().find("1_Pooling/config.json: 2 modes of pooling"), std::string::npos) << message();
  write_modules({{"pooling_mode", "attention"}});
  EXPECT_NE(message().find("pooling_mode = \"attention\""), std::string::npos) << message();
  write_modules({{"pooling_mode_lasttoken", "yes"}});
  EXPECT_NE(message().find("pooling_mode_lasttoken is \"yes\""), std::string::npos) << message();
  write_modules({{"pooling_mode_lasttoken", true}}, {{{"path", "3_LSTM"}, {"type", "sentence_transformers.models.LSTM"}}});
  EXPECT_NE(message().find("a module of type 'LSTM'"), std::string::npos) << message();
  write_modules({{"pooling_mode_lasttoken", true}}, {{{"path", "3_Dense"}, {"type", "sentence_transformers.models.Dense"}}});
  EXPECT_NE(message().find("3_Dense/config.json: the file is missing"), std::string::npos) << message();
  std::filesystem::remove(model() / "1_Pooling" / "config.json");
  write_modules({{"pooling_mode_lasttoken", true}});
  std::filesystem::remove(model() / "1_Pooling" / "config.json");
  EXPECT_NE(message().find("1_Pooling/config.json: the file is missing"), std::string::npos) << message();
}

TEST_F(PooledVectors, WhatContradictsTheModelIsNamed) {
  for (const char* key : {"word_embedding_dimension", "embedding_dimension"}) {
    write_modules({{"pooling_mode_mean_tokens", true}, {key, 384}});
    EXPECT_NE(
        message().find("1_Pooling/config.json: " + std::string(key) + " = 384, and the vectors of config.json's model have 32 numbers"),
        std::string::npos)
        << message();
  }
  write_modules({{"pooling_mode", "mean"}, {"pooling_mode_cls_token", true}});
  EXPECT_NE(message().find("pooling_mode_cls_token is true and pooling_mode = \"mean\""), std::string::npos) << message();
  write_modules({{"pooling_mode", "mean"}, {"pooling_mode_mean_tokens", true}});
  EXPECT_EQ(message(), "nothing was thrown");
  write_modules({{"pooling_mode_mean_tokens", true}}, {{{"path", "1_Pooling"}, {"type", "sentence_transformers.models.Pooling"}}});
  EXPECT_NE(message().find("modules.json: two Pooling modules"), std::string::npos) << message();
}

TEST_F(PooledVectors, GgufNumbersAreThoseOfLlamaCpp) {
  write_gguf(Checkpoint::open(model()), gguf());
  const auto with = [&](uint32_t number) {
    const GgufFile source = GgufFile::open(gguf());
    GgufWriter writer;
    for (const auto& [key, value] : source.metadata()) writer.add(key, value);
    writer.add_uint("qwen3.pooling_type", number);
    for (const GgufTensor& tensor : source.tensors()) writer.add_tensor(tensor.name, tensor.dtype, tensor.shape, tensor.data);
    const std::filesystem::path path = folder_.path() / ("pooling" + std::to_string(number) + ".gguf");
    writer.write(path);
    return path;
  };
  expect_pooled(with(0), "mean");
  expect_pooled(with(1), "mean");
  expect_pooled(with(2), "cls");
  expect_pooled(with(3), "last");
  const std::filesystem::path rank = with(4);
  EXPECT_NE(message_of([&] { expect_pooled(rank, "mean"); }).find("reranker"), std::string::npos);
  expect_pooled(rank, "last", Pooling::last);
  const std::filesystem::path beyond = with(9);
  EXPECT_NE(message_of([&] { expect_pooled(beyond, "mean"); }).find("pooling_type is the u32 9"), std::string::npos);
}

}  // namespace
}  // namespace wick
