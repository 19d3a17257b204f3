// What holds for every architecture: it computes what transformers does, and in how many parts a text came in, and what else was in the
// batch, changes nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "model/golden_models.h"
#include "model/tiny_model.h"
#include "unit/temporary_folder.h"
#include "wick/convert/checkpoint_to_gguf.h"
#include "wick/model/architectures/architecture.h"
#include "wick/model/checkpoint/checkpoint.h"
#include "wick/model/checkpoint/hugging_face.h"
#include "wick/model/decoder_model.h"
#include "wick/model/language_model.h"

namespace wick {
namespace {

constexpr int64_t kVocab = 64;

std::vector<int32_t> text_of(int64_t count, int64_t seed) {
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < count; ++i) tokens.push_back(static_cast<int32_t>((i * 7919 + seed * 131 + 13) % kVocab));
  return tokens;
}

void expect_near(const std::vector<float>& got, const std::vector<float>& want, const char* what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  float largest = 1;
  for (const float value : want) largest = std::max(largest, std::fabs(value));
  for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-4 * largest) << what << ", element " << i;
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& letter : name) letter = std::isalnum(static_cast<unsigned char>(letter)) != 0 ? letter : '_';
  return name;
}

class ModelGoldens : public ::testing::TestWithParam<std::string> {
 protected:
  void expect_golden(const std::filesystem::path& path) const {
    const auto model = load_language_model(Checkpoint::open(path), Device::cpu(), {.precise = true});
    const auto sequence = model->new_sequence(64);
    std::vector<int32_t> next = golden_.input_ids();
    expect_near(model->forward(next, *sequence, LogitRows::all).to_vector<float>(), golden_.logits(), "logits");
    sequence->truncate(0);
    const std::vector<int32_t> text = golden_.greedy_ids();
    for (size_t at = next.size(); at < text.size(); ++at) {
      next = {argmax(model->forward(next, *sequence, LogitRows::last).to_vector<float>())};
      ASSERT_EQ(next.front(), text[at]) << "token " << at;
    }
  }

  TemporaryFolder folder_;
  GoldenModel golden_ = GoldenModel::read(GetParam());
};

TEST_P(ModelGoldens, TheFolderGivesTransformersLogitsAndText) {
  golden_.write(folder_.path() / "model");
  expect_golden(folder_.path() / "model");
}

TEST_P(ModelGoldens, TheGgufFileThatIsWrittenOfItGivesTheSame) {
  golden_.write(folder_.path() / "model", 3);
  write_gguf(Checkpoint::open(folder_.path() / "model"), folder_.path() / "model.gguf");
  expect_golden(folder_.path() / "model.gguf");
  EXPECT_EQ(describe_model(describe(Checkpoint::open(folder_.path() / "model.gguf"))).size(),
            describe_model(describe(Checkpoint::open(folder_.path() / "model"))).size());
}

INSTANTIATE_TEST_SUITE_P(All, ModelGoldens, ::testing::ValuesIn(GoldenModel::all()), test_name);

TEST(Architectures, EachWithAFormOfHuggingFaceHasAGolden) {
  std::set<std::string> covered;
  for (const std::string& name : GoldenModel::all()) {
    const nlohmann::json config = GoldenModel::read(name).json.at("config");
    const bool within = config.contains("text_config");
    const std::string class_name = within ? std::string(class_of_text_model(config.at("text_config").at("model_type").get<std::string>()))
                                          : config.at("architectures").at(0).get<std::string>();
    const Architecture* architecture = find_architecture_of_class(class_name);
    ASSERT_NE(architecture, nullptr) << class_name;
    covered.emplace(architecture->name);
  }
  for (const Architecture* architecture : architectures()) {
    // encoders_test.cpp and encoder_decoders_test.cpp have theirs.
    if (architecture->hugging_face.classes.empty() || architecture->encoder || architecture->encoder_decoder) continue;
    EXPECT_TRUE(covered.contains(std::string(architecture->name))) << architecture->name;
  }
}

// The goldens, and the architectures that have GGUF files alone, but for encoders (encoders_test.cpp) and recurrent ones, whose sizes a
// tiny model has not.
std::vector<std::string> every_model() {
  std::vector<std::string> names = GoldenModel::all();
  for (const Architecture* architecture : architectures()) {
    const bool is_tested = !architecture->recurrent && !architecture->encoder && !architecture->encoder_decoder;
    if (architecture->hugging_face.classes.empty() && is_tested) names.emplace_back(architecture->name);
  }
  return names;
}

class EveryModel : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::vector<std::string> goldens = GoldenModel::all();
    if (std::find(goldens.begin(), goldens.end(), GetParam()) != goldens.end()) {
      GoldenModel::read(GetParam()).write(folder_.path() / "model");
    } else {
      TinyModel tiny;
      tiny.architecture = GetParam();
      tiny.vocab = kVocab;
      tiny.context = 256;
      write_tiny_model(tiny, folder_.path() / "model");
    }
    model_ = load_language_model(Checkpoint::open(folder_.path() / "model"), Device::cpu(), {.precise = true});
  }
  [[nodiscard]] std::vector<float> last_of(std::span<const int32_t> tokens) const {
    const auto sequence = model_->new_sequence(128);
    return model_->forward(tokens, *sequence, LogitRows::last).to_vector<float>();
  }

  TemporaryFolder folder_;
  std::unique_ptr<LanguageModel> model_;
};

TEST_P(EveryModel, PrefillAndDecodeArePrefillOfAll) {
  const std::vector<int32_t> tokens = text_of(40, 1);
  const auto whole = model_->new_sequence(128);
  const std::vector<float> want = model_->forward(tokens, *whole, LogitRows::all).to_vector<float>();
  for (const int64_t chunk : {1, 7, 33}) {
    const auto sequence = model_->new_sequence(128);
    std::vector<float> got;
    for (int64_t first = 0; first < 40; first += chunk) {
      const auto part = std::span(tokens).subspan(static_cast<size_t>(first), static_cast<size_t>(std::min<int64_t>(chunk, 40 - first)));
      const std::vector<float> rows = model_->forward(part, *sequence, LogitRows::all).to_vector<float>();
      got.insert(got.end(), rows.begin(), rows.end());
    }
    expect_near(got, want, "in chunks");
  }
}

TEST_P(EveryModel, ABatchIsItsSequencesOneByOne) {
  const auto pool = model_->new_pool(128, 3);
  Batch batch;
  std::vector<std::vector<int32_t>> texts;
  std::vector<SequenceHandle> handles;
  for (int64_t index = 0; index < 3; ++index) {
    texts.push_back(text_of(5 + 11 * index, index));
    handles.push_back(pool->create());
    batch.add(handles.back(), 0, texts.back(), Batch::Results::last);
  }
  Tensor logits = model_->forward(batch, *pool);
  for (int32_t step = 0; step < 3; ++step) {
    for (int64_t index = 0; index < 3; ++index) {
      expect_near(logits.narrow(0, index, 1).to_vector<float>(), last_of(texts[static_cast<size_t>(index)]), "in a batch");
    }
    Batch next;
    for (size_t index = 0; index < 3; ++index) {
      const int32_t token = step * 3 + 1;
      next.add(handles[index], std::ssize(texts[index]), std::span(&token, 1), Batch::Results::last);
      texts[index].push_back(token);
    }
    logits = model_->forward(next, *pool);
  }
}

TEST_P(EveryModel, TwoRequestsInARowAreEqual) {
  const std::vector<int32_t> tokens = text_of(30, 4);
  const std::vector<float> first = last_of(tokens);
  EXPECT_EQ(last_of(tokens), first);
  const auto sequence = model_->new_sequence(128);
  (void)model_->forward(text_of(50, 9), *sequence, LogitRows::last);
  sequence->truncate(0);
  EXPECT_EQ(model_->forward(tokens, *sequence, LogitRows::last).to_vector<float>(), first);
}

TEST_P(EveryModel, PreparedWeightsGiveTheSame) {
  const std::vector<int32_t> tokens = text_of(20, 6);
  const std::vector<float> want = last_of(tokens);
  model_->device().runtime().finish_preparing();
  expect_near(last_of(tokens), want, "prepared");
}

TEST_P(EveryModel, ASavedSequenceGoesOnAsItWas) {
  const std::vector<int32_t> tokens = text_of(30, 5);
  const auto pool = model_->new_pool(128, 2);
  const SequenceHandle sequence = pool->create();
  Batch batch;
  batch.add(sequence, 0, std::span(tokens).first(25), Batch::Results::last);
  (void)model_->forward(batch, *pool);
  const SequenceHandle restored = pool->restore(pool->save(sequence));
  const auto rest = [&](SequenceHandle handle) {
    Batch more;
    more.add(handle, 25, std::span(tokens).subspan(25), Batch::Results::all);
    return model_->forward(more, *pool).to_vector<float>();
  };
  EXPECT_EQ(rest(restored), rest(sequence));
}

INSTANTIATE_TEST_SUITE_P(All, EveryModel, ::testing::ValuesIn(every_model()), test_name);

}  // namespace
}  // namespace wick
