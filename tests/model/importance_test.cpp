// What an importance matrix has of each architecture: an entry for each weight that is quantized, of its columns and matrices.
#include <gtest/gtest.h>

#include <cctype>
#include <numeric>

#include "model/golden_models.h"
#include "unit/temporary_folder.h"
#include "wick/convert/checkpoint_to_gguf.h"
#include "wick/convert/importance_collector.h"
#include "wick/formats/gguf.h"
#include "wick/model/checkpoint/checkpoint.h"
#include "wick/model/language_model.h"

namespace wick {
namespace {

using Importance = std::map<std::string, ImportanceEntry, std::less<>>;

Importance importance_of(const std::filesystem::path& path, const std::vector<int32_t>& tokens) {
  ImportanceCollector collector;
  const auto model = load_language_model(Checkpoint::open(path), Device::cpu(),
                                         {.precise = true, .observe = [&](const WeightInput& input) { collector.add(input); }});
  const auto sequence = model->new_sequence(64);
  (void)model->forward(tokens, *sequence, LogitRows::last);
  return collector.entries();
}

class ImportanceOf : public ::testing::TestWithParam<std::string> {
 protected:
  TemporaryFolder folder_;
  GoldenModel golden_ = GoldenModel::read(GetParam());
};

TEST_P(ImportanceOf, EntriesAreThoseOfTheFilesMatrices) {
  golden_.write(folder_ / "model");
  write_gguf(Checkpoint::open(folder_ / "model"), folder_ / "model.gguf");
  const Importance entries = importance_of(folder_ / "model.gguf", golden_.input_ids());
  const GgufFile file = GgufFile::open(folder_ / "model.gguf");
  for (const auto& [name, entry] : entries) {
    const GgufTensor* tensor = file.find_tensor(name);
    ASSERT_NE(tensor, nullptr) << name << " is in no file";
    const int64_t matrices = tensor->shape.rank() > 2 ? tensor->shape[0] : 1;
    EXPECT_EQ(std::ssize(entry.sums), matrices * tensor->shape.last()) << name;
    EXPECT_EQ(std::ssize(entry.counts), matrices) << name;
  }
  for (const GgufTensor& tensor : file.tensors()) {
    // Kernels, shares of neighbouring rows, and what no layer reads.
    const bool convolved = tensor.name.ends_with("conv.weight") || tensor.name.find(".ssm_conv1d") != std::string_view::npos ||
                           tensor.name.find(".time_mix_lerp") != std::string_view::npos || tensor.name.starts_with("blk.0.time_mix_v1") ||
                           tensor.name.starts_with("blk.0.time_mix_v2");
    const bool multiplied = !convolved && tensor.shape.rank() > 1 && tensor.name.starts_with("blk.") && tensor.name.ends_with(".weight") &&
                            tensor.name.find("norm") == std::string_view::npos;
    // Coefficients of alternating updates are few, and no type but floats holds them.
    if (!multiplied || tensor.name.find(".altup_") != std::string_view::npos) continue;
    EXPECT_TRUE(entries.contains(tensor.name)) << tensor.name << " has no importance";
  }
}

INSTANTIATE_TEST_SUITE_P(All, ImportanceOf, ::testing::ValuesIn(GoldenModel::all()), [](const auto& entry) {
  std::string name = entry.param;
  for (char& letter : name) letter = std::isalnum(static_cast<unsigned char>(letter)) != 0 ? letter : '_';
  return name;
});

// Each token goes to two of four experts, whose inputs are the router's.
TEST(Importance, ExpertsHaveSumsOfTheirOwn) {
  const TemporaryFolder folder;
  const GoldenModel golden = GoldenModel::read("mixtral");
  golden.write(folder / "model");
  const Importance entries = importance_of(folder / "model", golden.input_ids());
  const ImportanceEntry& router = entries.at("blk.0.ffn_gate_inp.weight");
  const ImportanceEntry& gate = entries.at("blk.0.ffn_gate_exps.weight");
  const auto used = golden.json.at("config").at("num_experts_per_tok").get<float>();
  EXPECT_GT(gate.counts.size(), 1U);
  EXPECT_EQ(std::accumulate(gate.counts.begin(), gate.counts.end(), 0.0F), used * router.counts.at(0));
  EXPECT_EQ(entries.at("blk.0.ffn_down_exps.weight").counts, gate.counts);
  for (size_t column = 0; column < router.sums.size(); ++column) {
    float sum = 0;
    for (size_t expert = 0; expert < gate.counts.size(); ++expert) sum += gate.sums[expert * router.sums.size() + column];
    EXPECT_NEAR(sum, used * router.sums[column], 1e-4 * used * router.sums[column]) << column;
  }
}

}  // namespace
}  // namespace wick
