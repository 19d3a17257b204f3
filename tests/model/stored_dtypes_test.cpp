// The dtypes in which files store weights, norms and biases: each gives what the same numbers give as f32, or is refused by name.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "model/golden_models.h"
#include "unit/message_of.h"
#include "unit/temporary_folder.h"
#include "wick/base/half.h"
#include "wick/convert/checkpoint_to_gguf.h"
#include "wick/model/checkpoint/checkpoint.h"
#include "wick/model/language_model.h"

namespace wick {
namespace {

template <class Number>
std::vector<std::byte> bytes_as(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(Number));
  for (size_t index = 0; index < values.size(); ++index) {
    const auto number = static_cast<Number>(values[index]);
    std::memcpy(bytes.data() + index * sizeof(Number), &number, sizeof(Number));
  }
  return bytes;
}

std::vector<std::byte> packed(DType dtype, const std::vector<float>& values) {
  switch (dtype) {
    case DType::f64: return bytes_as<double>(values);
    case DType::f16: return bytes_as<f16>(values);
    case DType::bf16: return bytes_as<bf16>(values);
    case DType::f8e4m3: return bytes_as<f8e4m3>(values);
    case DType::i8: return bytes_as<int8_t>(values);
    case DType::u8: return bytes_as<uint8_t>(values);
    case DType::i16: return bytes_as<int16_t>(values);
    case DType::i32: return bytes_as<int32_t>(values);
    case DType::i64: return bytes_as<int64_t>(values);
    case DType::u32: return bytes_as<uint32_t>(values);
    default: return bytes_as<float>(values);
  }
}

using Chosen = std::function<bool(const std::string&)>;

// A golden's folder, whose chosen tensors have that dtype. Their numbers are those of `rounded`, stored as f32 if `dtype` is f32.
void write_golden(const GoldenModel& golden, const std::filesystem::path& folder, DType dtype, const Chosen& chosen, DType rounded) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "config.json") << golden.json.at("config").dump(1);
  SafetensorsWriter writer;
  std::vector<std::vector<std::byte>> kept;
  kept.reserve(golden.json.at("tensors").size());
  for (const auto& [name, extents] : golden.json.at("tensors").items()) {
    std::vector<float> values = golden_weight(name, extents.get<std::vector<int64_t>>());
    if (chosen(name) && rounded == DType::f8e4m3) {
      for (float& value : values) value = f8e4m3(value);
    }
    const DType stored = chosen(name) ? dtype : DType::f32;
    kept.push_back(packed(stored, values));
    writer.add_tensor(name, stored, Shape(extents.get<std::vector<int64_t>>()), kept.back());
  }
  writer.write(folder / "model.safetensors");
}

std::vector<float> logits_of(const std::filesystem::path& path, const GoldenModel& golden) {
  const auto model = load_language_model(Checkpoint::open(path), Device::cpu(), {.precise = true});
  const auto sequence = model->new_sequence(64);
  return model->forward(golden.input_ids(), *sequence, LogitRows::all).to_vector<float>();
}

bool every_one(const std::string&) { return true; }

class StoredDTypes : public ::testing::TestWithParam<std::string> {
 protected:
  void expect_same(const std::filesystem::path& path, const std::vector<float>& want) const {
    const std::vector<float> got = logits_of(path, golden_);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-4) << path << ", element " << i;
  }

  TemporaryFolder folder_;
  GoldenModel golden_ = GoldenModel::read(GetParam());
};

TEST_P(StoredDTypes, EveryTensorInF64GivesTransformersLogits) {
  write_golden(golden_, folder_ / "model", DType::f64, every_one, DType::f64);
  expect_same(folder_ / "model", golden_.logits());
  write_gguf(Checkpoint::open(folder_ / "model"), folder_ / "model.gguf");
  expect_same(folder_ / "model.gguf", golden_.logits());
}

TEST_P(StoredDTypes, EveryTensorInF8GivesWhatTheSameNumbersGiveInF32) {
  write_golden(golden_, folder_ / "f32", DType::f32, every_one, DType::f8e4m3);
  write_golden(golden_, folder_ / "f8", DType::f8e4m3, every_one, DType::f8e4m3);
  const std::vector<float> want = logits_of(folder_ / "f32", golden_);
  expect_same(folder_ / "f8", want);
  write_gguf(Checkpoint::open(folder_ / "f8"), folder_ / "model.gguf");
  expect_same(folder_ / "model.gguf", want);
}

// Gemma's norms are stored less 1, GPT-2's matrices transposed, Falcon's queries, keys and values by group, DeepSeek's experts one by one.
INSTANTIATE_TEST_SUITE_P(Some, StoredDTypes,
                         ::testing::Values("llama", "gemma2", "gpt2", "falcon-40b", "deepseek-v2", "gptneox", "mpt", "llama4"),
                         [](const auto& entry) {
                           std::string name = entry.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(StoredIntegers, AreRefusedByNameInLoadAndConversion) {
  const TemporaryFolder folder;
  for (const char* name : {"llama", "gemma2"}) {
    const GoldenModel golden = GoldenModel::read(name);
    for (const DType dtype : {DType::u8, DType::u32, DType::i8, DType::i16, DType::i32, DType::i64}) {
      for (const std::string tensor : {"model.norm.weight", "model.embed_tokens.weight", "model.layers.1.self_attn.q_proj.weight",
                                       "model.layers.0.mlp.down_proj.weight", "model.layers.2.input_layernorm.weight"}) {
        const std::filesystem::path path = folder.path() / name / to_string(dtype) / tensor;
        write_golden(golden, path, dtype, [&](const std::string& each) { return each == tensor; }, dtype);
        for (const std::string& text :
             {message_of(ErrorCode::unsupported, [&] { (void)logits_of(path, golden); }),
              message_of(ErrorCode::unsupported, [&] { write_gguf(Checkpoint::open(path), folder / "out.gguf"); })}) {
          EXPECT_NE(text.find("'" + tensor + "' has type"), std::string::npos) << text;
          EXPECT_NE(text.find("F32, F16, BF16"), std::string::npos) << text;
        }
      }
    }
  }
}

}  // namespace
}  // namespace wick
