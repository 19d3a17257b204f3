// How a model's files say that its tokens are chosen: generation_config.json of a folder, and "general.sampling.…" of GGUF files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "model/tiny_folder.h"
#include "unit/message_of.h"
#include "unit/temporary_folder.h"
#include "wick/convert/checkpoint_to_gguf.h"
#include "wick/engine/model_sampling.h"
#include "wick/model/checkpoint/checkpoint.h"

namespace wick {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class ModelSamplingOf : public testing::Test {
 protected:
  void SetUp() override { tiny_folder("LlamaForCausalLM").write(path()); }
  [[nodiscard]] std::filesystem::path path() const { return folder_.path() / "model"; }
  [[nodiscard]] ModelSampling read(const std::string& json) const {
    std::ofstream(path() / "generation_config.json") << json;
    return read_model_sampling(Checkpoint::open(path()));
  }
  [[nodiscard]] std::string message(const std::string& json) const {
    return message_of([&] { (void)read(json); });
  }
  // The file with such metadata.
  [[nodiscard]] ModelSampling read_gguf(const std::function<void(GgufWriter&)>& add) const {
    const std::filesystem::path file = folder_.path() / "model.gguf";
    GgufWriter writer;
    writer.add_string("general.architecture", "llama");
    add(writer);
    writer.write(file);
    return read_model_sampling(Checkpoint::open(file));
  }

  TemporaryFolder folder_;
};

TEST_F(ModelSamplingOf, WithoutAWordIsTheUsualOne) {
  const ModelSampling model = read_model_sampling(Checkpoint::open(path()));
  EXPECT_EQ(model.said, "");
  EXPECT_EQ(model.params.temperature, SamplingParams{}.temperature);
  EXPECT_EQ(model.params.top_k, SamplingParams{}.top_k);
  EXPECT_EQ(read(R"({"eos_token_id": [1, 2], "transformers_version": "5.0.0", "temperature": null})").said, "");
}

TEST_F(ModelSamplingOf, FolderIsWhatItsGenerationConfigSays) {
  const ModelSampling model =
      read(R"({"do_sample": true, "temperature": 0.6, "top_k": 20, "top_p": 0.9, "min_p": 0.01, "repetition_penalty": 1.05})");
  EXPECT_EQ(model.params.temperature, 0.6F);
  EXPECT_EQ(model.params.top_k, 20);
  EXPECT_EQ(model.params.top_p, 0.9F);
  EXPECT_EQ(model.params.min_p, 0.01F);
  // Transformers penalizes tokens of the whole text.
  EXPECT_EQ(model.params.repetition_penalty, 1.05F);
  EXPECT_EQ(model.params.penalty_window, -1);
  EXPECT_EQ(model.said, "temperature 0.6, top_k 20, top_p 0.9, min_p 0.01, repetition_penalty 1.05, penalty_window -1");
}

TEST_F(ModelSamplingOf, WhatIsSaidIsAllThatChanges) {
  const SamplingParams params = read(R"({"top_p": 0.5, "repetition_penalty": 1.0})").params;
  EXPECT_EQ(params.top_p, 0.5F);
  EXPECT_EQ(params.temperature, SamplingParams{}.temperature);
  EXPECT_EQ(params.penalty_window, SamplingParams{}.penalty_window);
}

TEST_F(ModelSamplingOf, ModelThatDoesNotSampleIsGreedy) {
  EXPECT_EQ(read(R"({"do_sample": false, "temperature": 0.6})").params.temperature, 0);
}

TEST_F(ModelSamplingOf, FolderIsThatOfTheFileMadeOfIt) {
  const std::string said = read(R"({"temperature": 0.25, "top_k": 20, "repetition_penalty": 1.5})").said;
  const std::filesystem::path file = folder_.path() / "model.gguf";
  write_gguf(Checkpoint::open(path()), file);
  EXPECT_EQ(read_model_sampling(Checkpoint::open(file)).said, said);
  const GgufFile written = GgufFile::open(file);
  EXPECT_EQ(written.find("general.sampling.temp")->type(), GgufType::f32);
  EXPECT_EQ(written.find("general.sampling.top_k")->type(), GgufType::i32);
}

TEST_F(ModelSamplingOf, GgufFileIsByLlamaCppsKeys) {
  const ModelSampling model = read_gguf([](GgufWriter& writer) {
    writer.add("general.sampling.top_k", {int32_t{-1}});
    writer.add("general.sampling.penalty_last_n", {int32_t{128}});
    writer.add("general.sampling.mirostat", {int32_t{2}});
    writer.add_float("general.sampling.mirostat_tau", 4.5F);
    writer.add_float("general.sampling.xtc_probability", 0.5F);
    writer.add_string("general.sampling.sequence", "penalties;top_k;temperature");
  });
  EXPECT_EQ(model.params.top_k, 0);  // all
  EXPECT_EQ(model.params.penalty_window, 128);
  EXPECT_EQ(model.params.mirostat, 2);
  EXPECT_EQ(model.params.mirostat_tau, 4.5F);
  EXPECT_EQ(model.params.xtc_probability, 0.5F);
  EXPECT_THAT(model.params.order, ElementsAre(SamplingStep::penalties, SamplingStep::top_k, SamplingStep::temperature));
}

TEST_F(ModelSamplingOf, WhatCannotBeIsRefusedByFileAndKey) {
  EXPECT_THAT(message("[1]"), AllOf(HasSubstr("generation_config.json"), HasSubstr("not a JSON object")));
  EXPECT_THAT(message(R"({"temperature": "hot"})"),
              AllOf(HasSubstr("generation_config.json: temperature"), HasSubstr("\"hot\", but a number is needed")));
  EXPECT_THAT(message(R"({"top_k": 2.5})"), AllOf(HasSubstr("generation_config.json: top_k"), HasSubstr("a whole number is needed")));
  EXPECT_THAT(message(R"({"temperature": 700})"),
              AllOf(HasSubstr("generation_config.json: temperature is 700"), HasSubstr("from 0 to 100")));
  EXPECT_THAT(message(R"({"repetition_penalty": -1})"), HasSubstr("generation_config.json: repetition_penalty is -1"));
  const auto of_file = [&](const std::function<void(GgufWriter&)>& add) { return message_of([&] { (void)read_gguf(add); }); };
  EXPECT_THAT(of_file([](GgufWriter& writer) { writer.add_float("general.sampling.top_p", 2); }),
              AllOf(HasSubstr("model.gguf"), HasSubstr("general.sampling.top_p is 2"), HasSubstr("from 0 to 1")));
  EXPECT_THAT(of_file([](GgufWriter& writer) { writer.add_string("general.sampling.temp", "hot"); }), HasSubstr("general.sampling.temp"));
  EXPECT_THAT(of_file([](GgufWriter& writer) { writer.add_string("general.sampling.sequence", "top_k;astrology"); }),
              AllOf(HasSubstr("general.sampling.sequence"), HasSubstr("'astrology'")));
}

}  // namespace
}  // namespace wick
