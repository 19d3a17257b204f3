// What holds for every architecture (architectures_test.cpp), on the other devices: a sample of the models, each with parts of its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "model/golden_models.h"
#include "unit/found_devices.h"
#include "unit/temporary_folder.h"
#include "wick/model/checkpoint/checkpoint.h"
#include "wick/model/language_model.h"

namespace wick {
namespace {

struct ModelOnDevice {
  DeviceLocation device;
  std::string model;
};

// Gated convolutions beside attention; Mamba 2 side by side with attention, and alone by groups; the delta rule, Mamba, lightning
// attention. Windows and two ropes; ALiBi and layer norms; experts; latent attention with experts that all tokens share; sinks and clamped
// experts. All of them where the time is there: scripts/gpu_check sets the variable.
std::vector<ModelOnDevice> samples() {
  std::vector<std::string> models = {"lfm2",   "falcon-h1", "mamba2-groups", "qwen3next",        "falcon-mamba", "minimax-01",
                                     "gemma3", "bloom",     "qwen3moe",      "deepseek-v2-lite", "gpt-oss"};
  if (std::getenv("WICK_TEST_ALL_ARCHITECTURES") != nullptr) models = GoldenModel::all();
  std::vector<ModelOnDevice> found;
  for (const DeviceLocation& device : found_kernel_devices()) {
    for (const std::string& model : models) found.push_back({device, model});
  }
  return found;
}

class ArchitectureOnDevice : public ::testing::TestWithParam<ModelOnDevice> {
 protected:
  void SetUp() override {
    golden_ = GoldenModel::read(GetParam().model);
    golden_.write(folder_.path() / "model");
    model_ = load_language_model(Checkpoint::open(folder_.path() / "model"), Device::open(GetParam().device), {.precise = true});
    ids_ = golden_.input_ids();
    want_ = golden_.logits();
    for (const float logit : want_) largest_ = std::max(largest_, std::abs(logit));
  }
  // `got` are rows of the golden's logits, from row `first` on.
  void expect_rows(const std::vector<float>& got, int64_t first, const char* what) const {
    const auto offset = static_cast<size_t>(first * golden_.vocab());
    ASSERT_LE(offset + got.size(), want_.size()) << what;
    for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want_[offset + i], 2e-4 * largest_) << what << ", element " << i;
  }

  TemporaryFolder folder_;
  GoldenModel golden_;
  std::unique_ptr<LanguageModel> model_;
  std::vector<int32_t> ids_;
  std::vector<float> want_;
  float largest_ = 1;  // of the logits, but at least 1
};

TEST_P(ArchitectureOnDevice, GivesTransformersLogitsInPartsInABatchAndRestored) {
  const auto whole = model_->new_sequence(64);
  expect_rows(model_->forward(ids_, *whole, LogitRows::all).to_vector<float>(), 0, "whole");
  whole->truncate(0);
  const std::span<const int32_t> text = ids_;
  expect_rows(model_->forward(text.first(13), *whole, LogitRows::all).to_vector<float>(), 0, "first part");
  // One by one: the later steps are recorded where the device records.
  for (int64_t at = 13; at < std::ssize(text); ++at) {
    expect_rows(model_->forward(text.subspan(static_cast<size_t>(at), 1), *whole, LogitRows::all).to_vector<float>(), at, "one by one");
  }
  const auto pool = model_->new_pool(64, 3);
  const SequenceHandle first = pool->create(), other = pool->create();
  Batch prompt;
  prompt.add(first, 0, text.first(9), Batch::Results::none);
  prompt.add(other, 0, text.subspan(4, 5), Batch::Results::none);
  (void)model_->forward(prompt, *pool);
  const SequenceHandle restored = pool->restore(pool->save(first));
  Batch rest;
  rest.add(first, 9, text.subspan(9), Batch::Results::all);
  rest.add(restored, 9, text.subspan(9), Batch::Results::all);
  rest.add(other, 5, text.subspan(9, 2), Batch::Results::none);
  const Tensor both = model_->forward(rest, *pool);
  expect_rows(both.narrow(0, 0, std::ssize(text) - 9).to_vector<float>(), 9, "in a batch");
  expect_rows(both.narrow(0, std::ssize(text) - 9, std::ssize(text) - 9).to_vector<float>(), 9, "restored");
}

std::string sample_name(const ::testing::TestParamInfo<ModelOnDevice>& info) {
  std::string name = std::string(to_string(info.param.device.kind)) + std::to_string(info.param.device.index) + "_" + info.param.model;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Devices, ArchitectureOnDevice, ::testing::ValuesIn(samples()), sample_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ArchitectureOnDevice);

}  // namespace
}  // namespace wick
