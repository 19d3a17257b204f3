// Checkpoints as Hugging Face folders, and the GGUF files that are written of them, against logits and greedy ids of transformers in f32.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "model/golden_models.h"
#include "unit/shared_data.h"
#include "unit/temporary_folder.h"
#include "wick/convert/checkpoint_to_gguf.h"
#include "wick/formats/safetensors.h"
#include "wick/model/checkpoint/checkpoint.h"
#include "wick/model/language_model.h"

namespace wick {
namespace {

template <class T>
std::vector<T> copy_of(const SafetensorsFile& file, const char* tensor) {
  std::vector<T> values(file.get(tensor).data.size() / sizeof(T));
  std::memcpy(values.data(), file.get(tensor).data.data(), file.get(tensor).data.size());
  return values;
}

class FolderGoldens : public ::testing::TestWithParam<std::string> {
 protected:
  void expect_goldens(const Checkpoint& checkpoint, const std::filesystem::path& folder) {
    const SafetensorsFile golden = SafetensorsFile::open(folder / "golden.safetensors");
    const auto wide = copy_of<int64_t>(golden, "input_ids");
    const std::vector<int32_t> ids(wide.begin(), wide.end());
    const auto model = load_language_model(checkpoint, Device::cpu(), {.precise = true});
    const auto sequence = model->new_sequence(128);
    const std::vector<float> got = model->forward(ids, *sequence, LogitRows::all).to_vector<float>();
    const auto want = copy_of<float>(golden, "output");
    ASSERT_EQ(got.size(), want.size());
    float largest = 1;
    for (const float value : want) largest = std::max(largest, std::fabs(value));
    for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-4 * largest) << "element " << i;
    expect_greedy(*model, *sequence, ids, copy_of<int64_t>(golden, "greedy_ids"));
  }

  // The prompt is in the sequence; `expected` are its ids and those that follow.
  static void expect_greedy(const LanguageModel& model, CachedSequence& sequence, const std::vector<int32_t>& prompt,
                            const std::vector<int64_t>& expected) {
    sequence.truncate(0);
    const bool with_prompt = std::equal(prompt.begin(), prompt.end(), expected.begin());
    std::vector<int32_t> next = prompt;
    for (size_t at = with_prompt ? prompt.size() : 0; at < expected.size(); ++at) {
      next = {argmax(model.forward(next, sequence, LogitRows::last).to_vector<float>())};
      ASSERT_EQ(next.front(), expected[at]) << "token " << at;
    }
  }
};

TEST_P(FolderGoldens, TheFolderGivesTransformersLogitsAndText) {
  const auto folder = shared_data("data/" + GetParam());
  if (!folder) GTEST_SKIP() << kSharedDataMissing;
  expect_goldens(Checkpoint::open(*folder), *folder);
}

TEST_P(FolderGoldens, TheGgufFileThatIsWrittenOfItGivesTheSame) {
  const auto folder = shared_data("data/" + GetParam());
  if (!folder) GTEST_SKIP() << kSharedDataMissing;
  const TemporaryFolder temporary;
  write_gguf(Checkpoint::open(*folder), temporary.path() / "model.gguf");
  expect_goldens(Checkpoint::open(temporary.path() / "model.gguf"), *folder);
}

INSTANTIATE_TEST_SUITE_P(All, FolderGoldens,
                         ::testing::Values("hf-tiny/llama", "hf-tiny/llama3-rope", "hf-tiny/mistral", "hf-tiny/qwen2", "hf-tiny/qwen3",
                                           "hf-tiny/gemma2", "hf-tiny/phi3", "hf2/olmo3", "hf2/lfm2", "hf2/mamba2", "hf2/falcon-h1",
                                           "hf2/granite-hybrid", "hf2/nemotron-h", "hf2/qwen3-next", "hf2/jamba", "hf2/gemma3n",
                                           "hf2/gemma4"),
                         [](const auto& info) {
                           std::string name = info.param.substr(info.param.find('/') + 1);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace wick
