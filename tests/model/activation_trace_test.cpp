// Where two runs first differ.
#include <gtest/gtest.h>

#include "model/golden_models.h"
#include "unit/temporary_folder.h"
#include "wick/cli/measure/activation_trace.h"
#include "wick/convert/checkpoint_to_gguf.h"
#include "wick/model/checkpoint/checkpoint.h"

namespace wick {
namespace {

ActivationTrace trace_of(const Checkpoint& checkpoint) {
  ActivationTrace trace;
  const auto model = load_language_model(checkpoint, Device::cpu(), {.precise = true, .observe = trace.observer()});
  const std::vector<int32_t> tokens = {3, 1, 4, 1, 5, 9, 2, 6};
  trace.run(*model, tokens);
  return trace;
}

class TraceOfAModel : public ::testing::Test {
 protected:
  void SetUp() override { GoldenModel::read("qwen3").write(folder_.path() / "model"); }
  TemporaryFolder folder_;
};

TEST_F(TraceOfAModel, AFolderAndItsGgufFileAgreeAtEveryPoint) {
  write_gguf(Checkpoint::open(folder_.path() / "model"), folder_.path() / "model.gguf");
  const ActivationTrace folder = trace_of(Checkpoint::open(folder_.path() / "model"));
  const ActivationTrace file = trace_of(Checkpoint::open(folder_.path() / "model.gguf"));
  EXPECT_FALSE(folder.first_difference(file, 1e-12).has_value());
  EXPECT_EQ(folder.agreement(file).points, 3 * 7 + 1);  // seven matrices a layer, and the logits
}

TEST_F(TraceOfAModel, AChangedMatrixShowsInTheInputOfTheNextOne) {
  const ActivationTrace whole = trace_of(Checkpoint::open(folder_.path() / "model"));
  // The same name gives the same weights: another one, others.
  GoldenModel other = GoldenModel::read("qwen3");
  other.renamed = {{"model.layers.1.mlp.down_proj.weight", "model.layers.2.mlp.down_proj.weight"}};
  other.write(folder_.path() / "other");
  const auto difference = whole.first_difference(trace_of(Checkpoint::open(folder_.path() / "other")), 1e-6);
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->point, "blk.2.attn_q");
}

TEST_F(TraceOfAModel, ASavedTraceIsTheSame) {
  const ActivationTrace trace = trace_of(Checkpoint::open(folder_.path() / "model"));
  trace.save(folder_.path() / "trace.safetensors");
  const ActivationTrace loaded = ActivationTrace::load(folder_.path() / "trace.safetensors");
  EXPECT_FALSE(trace.first_difference(loaded, 0).has_value());
  EXPECT_EQ(trace.agreement(loaded).points, 3 * 7 + 1);
}

}  // namespace
}  // namespace wick
