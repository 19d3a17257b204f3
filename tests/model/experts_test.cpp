// Mixtures of experts: what is refused, each in one line that names key and value, and that a folder's experts must all be there.
#include <gtest/gtest.h>

#include "model/golden_models.h"
#include "unit/message_of.h"
#include "unit/temporary_folder.h"
#include "wick/model/checkpoint/checkpoint.h"
#include "wick/model/decoder_model.h"
#include "wick/model/language_model.h"

namespace wick {
namespace {

class RefusedExperts : public ::testing::Test {
 protected:
  [[nodiscard]] std::string message(const GoldenModel& model) {
    const std::filesystem::path path = folder_.path() / ("model" + std::to_string(count_++));
    model.write(path);
    return message_of([&] { (void)load_language_model(Checkpoint::open(path), Device::cpu()); });
  }
  void expect_refused(const std::string& golden, const char* key, const nlohmann::json& value, const std::vector<std::string>& parts) {
    GoldenModel model = GoldenModel::read(golden);
    model.json.at("config")[key] = value;
    const std::string text = message(model);
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
  }

  TemporaryFolder folder_;
  int count_ = 0;
};

TEST_F(RefusedExperts, AValueThatCannotBeNamesKeyAndValue) {
  expect_refused("mixtral", "num_experts_per_tok", 6, {"num_experts_per_tok = 6", "5 experts"});
  expect_refused("mixtral", "num_experts_per_tok", 0, {"num_experts_per_tok = 0"});
  expect_refused("mixtral", "num_local_experts", 7, {"block_sparse_moe.gate", "[5, 32]", "[7, 32]"});
  expect_refused("dots1", "n_group", 4, {"n_group = 4", "6 experts"});
  expect_refused("dots1", "topk_group", 4, {"topk_group = 4", "3 groups"});
  expect_refused("dots1", "num_experts_per_tok", 5, {"topk_group = 2", "5 experts"});
  expect_refused("qwen3moe", "norm_topk_prob", "sometimes", {"norm_topk_prob", "sometimes"});
  expect_refused("dots1", "scoring_func", "tanh", {"scoring_func", "tanh", "sigmoid"});
  expect_refused("deepseek-v2", "topk_method", "coin", {"topk_method", "coin", "group_limited_greedy"});
  expect_refused("deepseek-v3", "scoring_func", "coin", {"scoring_func", "coin"});
  expect_refused("phimoe", "num_experts_per_tok", 1, {"num_experts_per_tok = 1", "chooses 2 experts"});
  expect_refused("hunyuan-moe", "moe_topk", {2, 2, 1}, {"moe_topk = [2,2,1]"});
  expect_refused("minimax-m2", "attn_type_list", {1, 0, 1}, {"attn_type_list = [1,0,1]"});
  expect_refused("mixtral", "num_experts_per_tok", -1, {"num_experts_per_tok is the i64 -1"});
  expect_refused("mixtral", "num_experts_per_tok", 1.5, {"num_experts_per_tok is the f64 1.5"});
  expect_refused("qwen2moe", "num_experts", 5, {"mlp.gate.weight", "[6, 32]", "[5, 32]"});
  expect_refused("qwen2moe", "moe_intermediate_size", 25, {"mlp.experts", "[6, 24, 32]", "[6, 25, 32]"});
  expect_refused("mixtral", "hidden_act", "relu", {"hidden_act = relu", "experts"});
  expect_refused("gpt-oss", "swiglu_limit", 5.0, {"swiglu_limit = 5.0"});
  expect_refused("qwen3", "num_experts", 4, {"num_experts = 4"});
}

TEST_F(RefusedExperts, AnExpertThatIsMissingOrOfAnotherShapeIsNamed) {
  GoldenModel model = GoldenModel::read("mixtral");
  model.json.at("tensors").erase("model.layers.1.block_sparse_moe.experts.2.w1.weight");
  EXPECT_NE(message(model).find("'model.layers.1.block_sparse_moe.experts.3.w1.weight' is expert 3"), std::string::npos) << message(model);
  model = GoldenModel::read("mixtral");
  model.json.at("tensors")["model.layers.0.block_sparse_moe.experts.4.w2.weight"] = {32, 40};
  EXPECT_NE(message(model).find("experts.4.w2.weight' is expert 4"), std::string::npos) << message(model);
}

// Behind the layers of a folder, files may hold some that predict more tokens at once.
TEST_F(RefusedExperts, FurtherLayersAreDropped) {
  GoldenModel model = GoldenModel::read("glm4moe");
  model.json.at("tensors")["model.layers.3.eh_proj.weight"] = {32, 64};
  model.json.at("tensors")["model.layers.3.self_attn.q_proj.weight"] = {64, 32};
  EXPECT_EQ(message(model), "nothing was thrown");
}

}  // namespace
}  // namespace wick
