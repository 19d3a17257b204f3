// Forms in which GGUF files hold the same model: the logits are those of the usual form.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>

#include "model/golden_models.h"
#include "unit/temporary_folder.h"
#include "wick/convert/checkpoint_to_gguf.h"
#include "wick/formats/gguf.h"
#include "wick/formats/gguf_writer.h"
#include "wick/model/checkpoint/checkpoint.h"
#include "wick/model/language_model.h"

namespace wick {
namespace {

class GgufForms : public ::testing::Test {
 protected:
  GgufForms() : file_(make_file(folder_.path())) {}

  static GgufFile make_file(const std::filesystem::path& folder) {
    GoldenModel::read("qwen3moe").write(folder / "model");
    write_gguf(Checkpoint::open(folder / "model"), folder / "usual.gguf");
    return GgufFile::open(folder / "usual.gguf");
  }

  // A copy of the file; `edit` takes a tensor over by returning true.
  using Edit = std::function<bool(GgufWriter& writer, const GgufTensor& tensor)>;
  void write_copy(const Edit& edit) const {
    GgufWriter writer;
    for (const auto& [key, value] : file_.metadata()) writer.add(key, value);
    for (const GgufTensor& tensor : file_.tensors()) {
      if (!edit(writer, tensor)) writer.add_tensor(tensor.name, tensor.dtype, tensor.shape, tensor.data);
    }
    writer.write(folder_.path() / "other.gguf");
  }

  [[nodiscard]] std::vector<float> logits_of(const char* name) const {
    const auto model = load_language_model(Checkpoint::open(folder_.path() / name), Device::cpu(), {.precise = true});
    const auto sequence = model->new_sequence(32);
    const std::vector<int32_t> tokens = {1, 5, 9, 40, 2, 17};
    return model->forward(tokens, *sequence, LogitRows::all).to_vector<float>();
  }

  void expect_equal() const {
    const std::vector<float> want = logits_of("usual.gguf"), got = logits_of("other.gguf");
    ASSERT_EQ(got.size(), want.size());
    for (size_t index = 0; index < want.size(); ++index) ASSERT_NEAR(got[index], want[index], 1e-5) << index;
  }

  TemporaryFolder folder_;
  GgufFile file_;
};

TEST_F(GgufForms, GateAndUpOfExpertsMayBeOneStack) {
  std::vector<std::vector<std::byte>> joined;
  joined.reserve(file_.tensors().size());
  write_copy([&](GgufWriter& writer, const GgufTensor& tensor) {
    const std::string name(tensor.name);
    const size_t at = name.find("ffn_gate_exps");
    if (name.find("ffn_up_exps") != std::string::npos) return true;
    if (at == std::string::npos) return false;
    const std::string stem = name.substr(0, at);
    const GgufTensor* up = nullptr;
    for (const GgufTensor& other : file_.tensors()) {
      if (other.name == stem + "ffn_up_exps.weight") up = &other;
    }
    const int64_t experts = tensor.shape[0];
    const size_t bytes = tensor.data.size() / static_cast<size_t>(experts);
    std::vector<std::byte>& both = joined.emplace_back();
    for (size_t expert = 0; expert < static_cast<size_t>(experts); ++expert) {
      for (const GgufTensor* half : {&tensor, up}) {
        const auto part = half->data.subspan(expert * bytes, bytes);
        both.insert(both.end(), part.begin(), part.end());
      }
    }
    writer.add_tensor(stem + "ffn_gate_up_exps.weight", tensor.dtype, {experts, 2 * tensor.shape[1], tensor.shape[2]}, both);
    return true;
  });
  expect_equal();
}

TEST_F(GgufForms, EachExpertMayHaveAScale) {
  std::vector<std::vector<float>> numbers;
  numbers.reserve(2 * file_.tensors().size());
  write_copy([&](GgufWriter& writer, const GgufTensor& tensor) {
    const std::string name(tensor.name);
    if (name.find("_exps.weight") == std::string::npos) return false;
    const auto experts = static_cast<size_t>(tensor.shape[0]);
    std::vector<float>& weights = numbers.emplace_back(tensor.data.size() / sizeof(float));
    std::memcpy(weights.data(), tensor.data.data(), tensor.data.size());
    std::vector<float>& scales = numbers.emplace_back();
    const size_t each = weights.size() / experts;
    for (size_t expert = 0; expert < experts; ++expert) {
      scales.push_back(static_cast<float>(1 << (expert % 4)));
      for (size_t index = 0; index < each; ++index) weights[expert * each + index] /= scales.back();
    }
    writer.add_tensor(name, DType::f32, tensor.shape, std::as_bytes(std::span(weights)));
    writer.add_tensor(name.substr(0, name.size() - 6) + "scale", DType::f32, {tensor.shape[0]}, std::as_bytes(std::span(scales)));
    return true;
  });
  expect_equal();
}

}  // namespace
}  // namespace wick
