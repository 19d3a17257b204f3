// Folders of gpt-oss whose experts are four-bit floats give what the numbers that they stand for give.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "model/golden_models.h"
#include "model/precise_logits.h"
#include "unit/message_of.h"
#include "unit/temporary_folder.h"
#include "wick/convert/checkpoint_to_gguf.h"
#include "wick/model/checkpoint/checkpoint.h"
#include "wick/model/language_model.h"

namespace wick {
namespace {

// The golden's model with an expert width of whole blocks.
constexpr int64_t kExperts = 5, kWidth = 32, kInner = 64, kLayers = 4;

struct Bytes {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<uint8_t> values;
};

// Random codes, and scales between 1/8 and 1/4 (OCP Microscaling Formats 1.0: E8M0, of value 2^(scale − 127)).
std::pair<Bytes, Bytes> random_blocks(const std::string& name, int64_t rows, int64_t columns) {
  uint32_t state = 0;
  for (const char letter : name) state = state * 31 + static_cast<unsigned char>(letter);
  const auto next = [&] { return static_cast<uint8_t>((state = state * 1664525 + 1013904223) >> 24); };
  Bytes blocks{name + "_blocks", {kExperts, rows, columns / 32, 16}, {}}, scales{name + "_scales", {kExperts, rows, columns / 32}, {}};
  for (int64_t block = 0; block < kExperts * rows * columns / 32; ++block) {
    scales.values.push_back(static_cast<uint8_t>(124 + next() % 2));
    for (int byte = 0; byte < 16; ++byte) blocks.values.push_back(next());
  }
  return {blocks, scales};
}

// The numbers [experts, columns, rows], as unquantized folders have them.
std::vector<float> numbers_of(const Bytes& blocks, const Bytes& scales) {
  // E2M1, the sign in front; the first of two elements is the low half of their byte.
  constexpr float kMagnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  const int64_t rows = blocks.shape[1], columns = blocks.shape[2] * 32;
  std::vector<float> numbers(static_cast<size_t>(kExperts * rows * columns));
  for (int64_t expert = 0; expert < kExperts; ++expert) {
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < columns; ++column) {
        const auto at = static_cast<size_t>((expert * rows + row) * columns + column);
        const unsigned code = blocks.values[at / 2] >> (at % 2 * 4) & 15;
        const float number = std::ldexp(kMagnitudes[code & 7], scales.values[at / 32] - 127);
        numbers[static_cast<size_t>((expert * columns + column) * rows + row)] = code > 7 ? -number : number;
      }
    }
  }
  return numbers;
}

class Mxfp4Folder : public ::testing::Test {
 protected:
  void SetUp() override {
    golden_.json["config"]["intermediate_size"] = kInner;
    for (int64_t layer = 0; layer < kLayers; ++layer) {
      const std::string prefix = "model.layers." + std::to_string(layer) + ".mlp.experts.";
      packed_.push_back(random_blocks(prefix + "gate_up_proj", 2 * kInner, kWidth));
      packed_.push_back(random_blocks(prefix + "down_proj", kWidth, kInner));
      golden_.json["tensors"][prefix + "gate_up_proj_bias"] = {kExperts, 2 * kInner};
    }
  }
  void write(const std::filesystem::path& folder, bool packed) const {
    std::filesystem::create_directories(folder);
    nlohmann::json config = golden_.json.at("config");
    if (packed) config["quantization_config"] = {{"quant_method", "mxfp4"}, {"modules_to_not_convert", {"lm_head"}}};
    std::ofstream(folder / "config.json") << config.dump();
    SafetensorsWriter writer;
    std::vector<std::vector<float>> kept;
    kept.reserve(golden_.json.at("tensors").size());
    for (const auto& [tensor, shape] : golden_.json.at("tensors").items()) {
      if (tensor.ends_with("experts.gate_up_proj") || tensor.ends_with("experts.down_proj")) continue;
      kept.push_back(golden_weight(tensor, shape));
      writer.add_tensor(tensor, DType::f32, Shape(shape.get<std::vector<int64_t>>()), std::as_bytes(std::span(kept.back())));
    }
    for (const auto& [blocks, scales] : packed_) {
      if (packed) {
        for (const Bytes* each : {&blocks, &scales})
          writer.add_tensor(each->name, DType::u8, Shape(each->shape), std::as_bytes(std::span(each->values)));
        continue;
      }
      kept.push_back(numbers_of(blocks, scales));
      writer.add_tensor(blocks.name.substr(0, blocks.name.size() - 7), DType::f32, Shape{kExperts, blocks.shape[2] * 32, blocks.shape[1]},
                        std::as_bytes(std::span(kept.back())));
    }
    writer.write(folder / "model.safetensors");
  }
  [[nodiscard]] std::vector<float> logits(const std::filesystem::path& path) const { return precise_logits(path, golden_.input_ids()); }

  TemporaryFolder folder_;
  GoldenModel golden_ = GoldenModel::read("gpt-oss");
  std::vector<std::pair<Bytes, Bytes>> packed_;
};

TEST_F(Mxfp4Folder, GivesTheLogitsOfItsNumbers) {
  write(folder_.path() / "numbers", false);
  write(folder_.path() / "packed", true);
  write_gguf(Checkpoint::open(folder_.path() / "packed"), folder_.path() / "packed.gguf");
  EXPECT_EQ(Checkpoint::open(folder_.path() / "packed.gguf").find_tensor("blk.0.ffn_down_exps.weight")->dtype, DType::mxfp4);
  const std::vector<float> want = logits(folder_.path() / "numbers");
  for (const char* name : {"packed", "packed.gguf"}) {
    const std::vector<float> got = logits(folder_.path() / name);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-4) << name << ", element " << i;
  }
}

TEST_F(Mxfp4Folder, BlocksAndScalesThatDoNotFitAreNamed) {
  const auto message = [&] { return message_of([&] { (void)Checkpoint::open(folder_.path() / "packed"); }); };
  packed_[1].second.shape = {kExperts, kInner / 32, kWidth};
  write(folder_.path() / "packed", true);
  EXPECT_NE(message().find("'model.layers.0.mlp.experts.down_proj_scales'"), std::string::npos) << message();
  EXPECT_NE(message().find("[5, 2, 32]"), std::string::npos) << message();
  packed_[1].second.name = "model.layers.0.mlp.experts.down_proj_exponents";
  write(folder_.path() / "packed", true);
  EXPECT_NE(message().find("down_proj_scales"), std::string::npos) << message();
}

}  // namespace
}  // namespace wick
