// Encoders, rerankers and classifiers compute what transformers does, from a folder and from the GGUF file that is written of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/golden_models.h"
#include "unit/message_of.h"
#include "unit/temporary_folder.h"
#include "wick/convert/checkpoint_to_gguf.h"
#include "wick/model/checkpoint/checkpoint.h"
#include "wick/model/decoder_model.h"
#include "wick/model/language_model.h"

namespace wick {
namespace {

std::vector<std::string> encoder_goldens() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(source_file("tests/data/encoders"))) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

GoldenModel read_encoder_golden(const std::string& name) {
  GoldenModel golden{.name = name, .json = nlohmann::json::parse(std::ifstream(source_file("tests/data/encoders/" + name + ".json")))};
  // As renamed() in make_goldens.py.
  constexpr std::array<std::pair<std::string_view, const char*>, 2> kNorms = {{{"LayerNorm", "norm"}, {"_ln.", "_norm."}}};
  for (const auto& [tensor, shape] : golden.json.at("tensors").items()) {
    std::string name_of_weights = tensor;
    for (const auto& [part, norm] : kNorms) {
      for (size_t at = name_of_weights.find(part); at != std::string::npos; at = name_of_weights.find(part)) {
        name_of_weights.replace(at, part.size(), norm);
      }
    }
    if (name_of_weights != tensor) golden.renamed.emplace(tensor, name_of_weights);
  }
  return golden;
}

class EncodersOfTransformers : public ::testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] bool is_classifier() const {
    return golden_.json.at("config").at("architectures").at(0).get<std::string>().find("Classification") != std::string::npos;
  }
  [[nodiscard]] std::vector<float> output_of(const LanguageModel& model) const {
    const std::vector<int32_t> ids = golden_.input_ids();
    const auto pool = model.new_pool(std::ssize(ids), 2);
    Batch batch;
    batch.add({}, 0, ids, Batch::Results::all);
    batch.sequences.back().second = golden_.json.at("second").get<int64_t>();
    const ModelResult result = is_classifier() ? ModelResult::pooled : ModelResult::hidden;
    return model.forward(batch, *pool, {.result = result, .pooling = {}, .stop = {}}).to_vector<float>();
  }
  void expect_golden(const std::filesystem::path& path) const {
    const auto model = load_language_model(Checkpoint::open(path), Device::cpu(), {.precise = true});
    const std::vector<float> got = output_of(*model);
    std::vector<float> want;
    for (const auto& row : golden_.json.at("output")) {
      for (const auto& value : row) want.push_back(value.get<float>());
    }
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-4) << "element " << i;
    if (!is_classifier()) return;
    ASSERT_TRUE(model->info().classifier.has_value());
    const nlohmann::json labels = golden_.json.at("config").at("id2label");
    for (size_t label = 0; label < labels.size(); ++label) {
      EXPECT_EQ(model->info().classifier->labels.at(label), labels.at(std::to_string(label)).get<std::string>());
    }
    EXPECT_EQ(model->info().classifier->labels.size(), labels.size());
    EXPECT_TRUE(model->info().headless);
  }

  TemporaryFolder folder_;
  GoldenModel golden_ = read_encoder_golden(GetParam());
};

TEST_P(EncodersOfTransformers, TheFolderGivesTheSame) {
  golden_.write(folder_.path() / "model");
  expect_golden(folder_.path() / "model");
}

TEST_P(EncodersOfTransformers, TheGgufFileThatIsWrittenOfItGivesTheSame) {
  golden_.write(folder_.path() / "model");
  write_gguf(Checkpoint::open(folder_.path() / "model"), folder_.path() / "model.gguf");
  expect_golden(folder_.path() / "model.gguf");
}

TEST_P(EncodersOfTransformers, TextsOfABatchAreComputedEachByItself) {
  golden_.write(folder_.path() / "model");
  const auto model = load_language_model(Checkpoint::open(folder_.path() / "model"), Device::cpu(), {.precise = true});
  const std::vector<int32_t> ids = golden_.input_ids();
  const std::vector<std::vector<int32_t>> texts{{ids.begin(), ids.begin() + 5}, ids, {ids.begin() + 3, ids.begin() + 14}};
  const auto results_of = [&](size_t first, size_t count) {
    const auto pool = model->new_pool(std::ssize(ids), 3);
    Batch batch;
    for (size_t text = first; text < first + count; ++text) {
      batch.add({}, 0, texts[text], Batch::Results::all);
      if (is_classifier()) batch.sequences.back().second = 4;
    }
    const ModelResult result = is_classifier() ? ModelResult::pooled : ModelResult::hidden;
    return model->forward(batch, *pool, {.result = result, .pooling = {}, .stop = {}}).to_vector<float>();
  };
  std::vector<float> alone;
  for (size_t text = 0; text < texts.size(); ++text) {
    const std::vector<float> one = results_of(text, 1);
    alone.insert(alone.end(), one.begin(), one.end());
  }
  const std::vector<float> together = results_of(0, texts.size());
  ASSERT_EQ(together.size(), alone.size());
  for (size_t i = 0; i < alone.size(); ++i) ASSERT_NEAR(together[i], alone[i], 1e-5) << "element " << i;
}

INSTANTIATE_TEST_SUITE_P(All, EncodersOfTransformers, ::testing::ValuesIn(encoder_goldens()), [](const auto& param) {
  std::string name = param.param;
  for (char& letter : name) letter = std::isalnum(static_cast<unsigned char>(letter)) != 0 ? letter : '_';
  return name;
});

TEST(Classifiers, AnotherNumberOfLabelsThanRowsIsNamed) {
  GoldenModel golden = read_encoder_golden("bert-classify");
  golden.json["config"]["id2label"] = {{"0", "a"}, {"1", "b"}};
  const TemporaryFolder folder;
  golden.write(folder.path());
  const std::string message = message_of([&] { (void)load_language_model(Checkpoint::open(folder.path()), Device::cpu()); });
  EXPECT_NE(message.find("id2label has 2 labels, and the head that scores them, cls.output.weight, has 3 rows"), std::string::npos)
      << message;
}

std::string refusal_of(const GoldenModel& golden) {
  const TemporaryFolder folder;
  golden.write(folder.path());
  return message_of([&] { (void)load_language_model(Checkpoint::open(folder.path()), Device::cpu()); });
}

TEST(Classifiers, ANumberOfLabelsThatContradictsThemIsNamed) {
  GoldenModel golden = read_encoder_golden("bert-classify");
  golden.json["config"]["num_labels"] = 3;
  EXPECT_EQ(refusal_of(golden), "nothing was thrown");
  golden.json["config"]["num_labels"] = 2;
  EXPECT_NE(refusal_of(golden).find("config.json: num_labels = 2: id2label has 3 labels"), std::string::npos) << refusal_of(golden);
  golden.json["config"].erase("id2label");
  EXPECT_NE(refusal_of(golden).find("num_labels has 2 labels, and the head that scores them, cls.output.weight, has 3 rows"),
            std::string::npos)
      << refusal_of(golden);
}

TEST(Classifiers, TwoLabelsOfOneNameAreNamed) {
  GoldenModel golden = read_encoder_golden("bert-classify");
  golden.json["config"]["id2label"]["2"] = "sad";
  EXPECT_NE(refusal_of(golden).find("id2label: labels 0 and 2 are both 'sad'"), std::string::npos) << refusal_of(golden);
}

TEST(Classifiers, APoolingModuleThatContradictsTheClassIsNamed) {
  const GoldenModel golden = read_encoder_golden("bert-classify");
  const TemporaryFolder folder;
  golden.write(folder.path());
  std::filesystem::create_directory(folder.path() / "1_Pooling");
  std::ofstream(folder.path() / "1_Pooling" / "config.json") << R"({"pooling_mode": "mean"})";
  std::ofstream(folder.path() / "modules.json") << R"([{"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}])";
  const std::string message = message_of([&] { (void)Checkpoint::open(folder.path()); });
  EXPECT_NE(message.find("modules.json: a Pooling module makes vectors of texts"), std::string::npos) << message;
}

TEST(BothWays, ADecoderThatSeesAPartOfThePositionsIsNamed) {
  GoldenModel golden = read_encoder_golden("qwen3-both-ways");
  golden.json["config"]["sliding_window"] = 8;
  golden.json["config"]["use_sliding_window"] = true;
  golden.json["config"]["layer_types"] = {"full_attention", "sliding_attention", "sliding_attention"};
  EXPECT_NE(refusal_of(golden).find("config.json: is_causal = false: tokens would see later ones"), std::string::npos)
      << refusal_of(golden);
}

TEST(Classifiers, AnUnknownProblemIsNamed) {
  GoldenModel golden = read_encoder_golden("bert-classify");
  golden.json["config"]["problem_type"] = "ranking";
  const TemporaryFolder folder;
  golden.write(folder.path());
  const std::string message = message_of([&] { (void)load_language_model(Checkpoint::open(folder.path()), Device::cpu()); });
  EXPECT_NE(message.find("problem_type = 'ranking' is not supported"), std::string::npos) << message;
}

}  // namespace
}  // namespace wick
