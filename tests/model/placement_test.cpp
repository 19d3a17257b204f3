// Models split over two devices give the logits of transformers.
#include "wick/model/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/golden_models.h"
#include "model/tiny_adapter.h"
#include "model/tiny_model.h"
#include "unit/found_devices.h"
#include "unit/message_of.h"
#include "unit/temporary_folder.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/cli/console.h"
#include "wick/model/architectures/architecture.h"
#include "wick/model/language_model.h"
#include "wick/model/lora/lora_adapter.h"
#include "wick/model/shared_placement.h"

namespace wick {
namespace {

using testing::HasSubstr;

TEST(Placement, CountsLayersFromTheLast) {
  const Device cpu = Device::cpu(), other = Device::reference();
  const std::vector<bool> layers(4, false);
  const auto described = [&](std::optional<int64_t> count) {
    return Placement::of(layers, other, {.host = cpu, .device_layers = count}).describe();
  };
  EXPECT_EQ(described(0), "all on cpu");
  EXPECT_EQ(described(1), "layers 0-2, embedding and head on cpu, layers 3 on reference:0");
  EXPECT_EQ(described(4), "embedding and head on cpu, layers 0-3 on reference:0");
  EXPECT_EQ(described(5), "all on reference:0");
  EXPECT_EQ(described(99), "all on reference:0");
  EXPECT_EQ(described(std::nullopt), "all on reference:0");
}

TEST(Placement, MovesTheExpertsOfTheFirstLayers) {
  const Device cpu = Device::cpu(), other = Device::reference();
  const std::vector<bool> layers = {false, true, true, false, true};
  const auto described = [&](int64_t experts, std::optional<int64_t> count) {
    return Placement::of(layers, other, {.host = cpu, .device_layers = count, .host_expert_layers = experts}).describe();
  };
  EXPECT_EQ(described(1, std::nullopt), "all on reference:0");
  EXPECT_EQ(described(3, std::nullopt), "layers 0-4, embedding and head on reference:0, experts of layers 1-2 on cpu");
  EXPECT_EQ(described(PlacementOptions::kAllLayers, 3),
            "layers 0-1, embedding and head on cpu, layers 2-4 on reference:0, experts of layers 2, 4 on cpu");
}

TEST(Placement, RefusesNumbersBelowZeroAndAMissingHost) {
  const Device other = Device::reference();
  const std::vector<bool> layers(2, true);
  const auto message = [&](const PlacementOptions& options) { return message_of([&] { (void)Placement::of(layers, other, options); }); };
  EXPECT_THAT(message({.host = Device::cpu(), .device_layers = -1}), HasSubstr("-1 layers on the device"));
  EXPECT_THAT(message({.host = Device::cpu(), .host_expert_layers = -2}), HasSubstr("experts of -2 layers"));
  EXPECT_THAT(message({.device_layers = 1}), HasSubstr("not to be on reference:0, and no other device was given"));
}

TEST(Placement, IsSharedWithTheCpuByTwoNumbers) {
  const Device other = Device::reference();
  EXPECT_FALSE(share_with_cpu(other, std::nullopt, 0, "load").host.has_value());
  const std::vector<bool> layers(3, true);
  EXPECT_EQ(Placement::of(layers, other, share_with_cpu(other, 1, 3, "load")).describe(),
            "layers 0-1, embedding and head on cpu, layers 2 on reference:0, experts of layers 2 on cpu");
  EXPECT_THAT(message_of([] { (void)share_with_cpu(Device::cpu(), 1, 0, "load"); }), HasSubstr("load: gpu_layers"));
}

TEST(Placement, IsPrintedBehindTheLayers) {
  const TemporaryFolder folder;
  GoldenModel::read("mixtral").write(folder.path() / "model");
  const auto inspect = [&](const std::vector<std::string>& flags) {
    std::istringstream in;
    std::ostringstream out, err;
    Console console{.name = "wick", .executable = {}, .in = in, .out = out, .err = err, .output_is_terminal = false};
    Arguments arguments = {"inspect", "--layers", (folder.path() / "model").string()};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return run_wick(console, arguments) == 0 ? out.str() : err.str();
  };
  EXPECT_EQ(inspect({}).find("placement"), std::string::npos) << inspect({});
  EXPECT_THAT(inspect({"--device", "reference", "--ngl", "1"}),
              HasSubstr("\nplacement: layers 0-1, embedding and head on cpu, layers 2 on reference:0\n"));
  EXPECT_THAT(inspect({"--device", "reference", "--cpu-moe", "--json"}), HasSubstr("experts of layers 0-2 on cpu\""));
  EXPECT_THAT(inspect({"--device", "cpu", "--ngl", "1"}), HasSubstr("--gpu-layers 1: the device is cpu"));
}

class SharedModel : public testing::TestWithParam<DeviceLocation> {
 protected:
  [[nodiscard]] std::unique_ptr<LanguageModel> load(const std::filesystem::path& path, std::optional<int64_t> layers,
                                                    int64_t experts) const {
    return load_language_model(
        Checkpoint::open(path), device_,
        {.precise = true, .placement = {.host = Device::cpu(), .device_layers = layers, .host_expert_layers = experts}});
  }
  void expect_golden(const GoldenModel& golden, const LanguageModel& model) const {
    const auto sequence = model.new_sequence(64);
    std::vector<int32_t> next = golden.input_ids();
    const std::vector<float> want = golden.logits(), got = model.forward(next, *sequence, LogitRows::all).to_vector<float>();
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) {
      ASSERT_NEAR(got[i], want[i], 1e-4) << golden.name << ", " << model.placement()->describe() << ", element " << i;
    }
    sequence->truncate(0);
    const std::vector<int32_t> text = golden.greedy_ids();
    // The interpreter is slow.
    const size_t end = device_.kind() == DeviceKind::reference ? std::min(text.size(), next.size() + 2) : text.size();
    for (size_t at = next.size(); at < end; ++at) {
      const std::vector<float> logits = model.forward(next, *sequence, LogitRows::last).to_vector<float>();
      next = {static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin())};
      ASSERT_EQ(next.front(), text[at]) << golden.name << ", " << model.placement()->describe() << ", token " << at;
    }
  }

  TemporaryFolder folder_;
  Device device_ = Device::open(GetParam());
};

TEST_P(SharedModel, GivesTransformersLogitsAndText) {
  struct Case {
    const char* name;
    std::optional<int64_t> layers;
    int64_t experts;
  };
  // Windows, softcaps, latent attention, tied heads; experts beside a shared one. A driver compiles kernels for each anew.
  const bool compiles = device_.kind() != DeviceKind::reference;
  for (const Case& one : {Case{"llama", 1, 0}, Case{"gemma2", 2, 0}, Case{"mixtral", 3, 2}, Case{"gpt-oss", std::nullopt, 9},
                          Case{"deepseek-v2-lite", 2, 2}}) {
    if (compiles && one.name != std::string_view("gemma2") && one.name != std::string_view("mixtral")) continue;
    const GoldenModel golden = GoldenModel::read(one.name);
    golden.write(folder_.path() / one.name);
    const auto model = load(folder_.path() / one.name, one.layers, one.experts);
    ASSERT_FALSE(model->placement()->is_single()) << one.name;
    expect_golden(golden, *model);
    if (HasFatalFailure()) return;
  }
}

// Positions on both devices follow a sequence that is cut, copied, and saved.
TEST_P(SharedModel, ForksAndRestoresWhatBothDevicesKeep) {
  GoldenModel golden = GoldenModel::read("gemma2");
  golden.write(folder_.path() / "model");
  const auto model = load(folder_.path() / "model", 2, 0);
  const std::vector<int32_t> ids = golden.input_ids();
  const std::vector<float> want = golden.logits();
  const auto vocab = golden.vocab();
  const auto pool = model->new_pool(64, 4);
  EXPECT_EQ(pool->keys(0).device().location(), DeviceLocation{});
  EXPECT_EQ(pool->keys(2).device().location(), GetParam());
  const SequenceHandle first = pool->create();
  Batch prompt;
  prompt.add(first, 0, std::span(ids).first(10), Batch::Results::none);
  (void)model->forward(prompt, *pool);
  const SequenceHandle fork = pool->fork(first);
  const SequenceHandle restored = pool->restore(pool->save(first));
  // The first goes another way, in the block that the fork shares.
  Batch other;
  other.add(first, 10, std::vector<int32_t>{1, 2, 3}, Batch::Results::none);
  (void)model->forward(other, *pool);
  Batch rest;
  rest.add(fork, 10, std::span(ids).subspan(10), Batch::Results::all);
  rest.add(restored, 10, std::span(ids).subspan(10), Batch::Results::all);
  const std::vector<float> got = model->forward(rest, *pool).to_vector<float>();
  const size_t count = (ids.size() - 10) * static_cast<size_t>(vocab);
  ASSERT_EQ(got.size(), 2 * count);
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[10 * static_cast<size_t>(vocab) + i % count], 1e-4) << i;
  const auto wrong = load(folder_.path() / "model", 1, 0)->new_pool(64);
  Batch one;
  one.add({}, 0, ids, Batch::Results::last);
  EXPECT_THAT(message_of([&] { (void)model->forward(one, *wrong); }), HasSubstr("layer 1 of the pool is on cpu"));
}

TEST_P(SharedModel, AdaptersChangeTheLayersOfBothDevices) {
  TinyModel tiny;
  tiny.tied = true;
  write_tiny_model(tiny, folder_.path() / "model.gguf");
  TinyAdapter(tiny, {"attn_q", "ffn_down"}, 3, 5).write(folder_.path() / "adapter.gguf");
  const auto shared = load(folder_.path() / "model.gguf", 1, 0);
  const auto alone = load_language_model(Checkpoint::open(folder_.path() / "model.gguf"), Device::cpu(), {.precise = true});
  const std::vector<int32_t> text = {5, 17, 3, 80, 41};
  std::vector<std::vector<float>> logits;
  for (LanguageModel* model : {shared.get(), alone.get()}) {
    model->add_adapter("one", LoraAdapter::open(folder_.path() / "adapter.gguf", *find_architecture("llama")), 1);
    const std::vector<AdapterUse> use{{1, 2}};
    Batch batch;
    batch.add({}, 0, text, Batch::Results::none);
    batch.add({}, 0, text, Batch::Results::all, use);
    logits.push_back(model->forward(batch, *model->new_pool(32, 2)).to_vector<float>());
  }
  ASSERT_EQ(logits[0].size(), logits[1].size());
  for (size_t i = 0; i < logits[0].size(); ++i) ASSERT_NEAR(logits[0][i], logits[1][i], 2e-4) << i;
}

INSTANTIATE_TEST_SUITE_P(Devices, SharedModel, testing::ValuesIn(found_kernel_devices()), device_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SharedModel);

}  // namespace
}  // namespace wick
