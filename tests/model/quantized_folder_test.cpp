// Quantized matrices of folders, against their values by other programs and by their published formulas.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <map>

#include "model/precise_logits.h"
#include "model/tiny_folder.h"
#include "unit/message_of.h"
#include "unit/shared_data.h"
#include "unit/temporary_folder.h"
#include "wick/convert/checkpoint_to_gguf.h"
#include "wick/formats/safetensors.h"
#include "wick/model/checkpoint/checkpoint.h"
#include "wick/model/checkpoint/hugging_face_quantized.h"
#include "wick/model/language_model.h"
#include "wick/quant/block_format.h"

namespace wick {
namespace {

struct Stored {
  DType dtype = DType::f32;
  Shape shape = {};
  std::vector<std::byte> data = {};
};
using Parts = std::map<std::string, Stored>;

const SafetensorsFile& layouts() {
  static const SafetensorsFile kFile = SafetensorsFile::open(source_file("tests/data/formats/quantized/layouts.safetensors"));
  return kFile;
}

// "m.qweight" and the others of a layout.
Parts parts_of(const std::string& layout) {
  Parts parts;
  for (const SafetensorsTensor& tensor : layouts().tensors()) {
    const std::string name(tensor.name);
    if (name.starts_with(layout + ".m."))
      parts[name.substr(layout.size() + 1)] = {tensor.dtype, tensor.shape, {tensor.data.begin(), tensor.data.end()}};
  }
  return parts;
}

std::vector<float> values_of(const SafetensorsTensor& tensor) {
  std::vector<float> values(tensor.data.size() / sizeof(float));
  std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

QuantizationConfig config_of(const std::string& layout) {
  QuantizationConfig config{.method = QuantizationMethod::packed_rows, .name = layout, .bits = 4, .group_size = 32};
  if (layout.starts_with("gptq")) config.method = QuantizationMethod::gptq;
  if (layout == "awq") config.method = QuantizationMethod::awq;
  if (layout == "gptq8") config.bits = 8;
  config.zeros_less_one = layout != "gptq4-v2";
  if (layout == "int8") config.group_size = -1;
  if (layout.starts_with("fp8")) config.method = QuantizationMethod::float8;
  if (layout == "fp8-block") config.block_rows = 6, config.block_columns = 48;
  return config;
}

class QuantizedLayouts : public ::testing::Test {
 protected:
  // The matrix of the parts; `check` gets it while its files are open.
  void open(const Parts& parts, const QuantizationConfig& config, const std::function<void(const QuantizedMatrix&)>& check) const {
    SafetensorsWriter writer;
    for (const auto& [name, part] : parts) writer.add_tensor(name, part.dtype, part.shape, part.data);
    writer.write(folder_.path() / "model.safetensors");
    const ShardedSafetensors stored = ShardedSafetensors::open(folder_.path());
    const QuantizedFolder folder(stored, config, "folder");
    int matrices = 0;
    for (const SafetensorsTensor& tensor : stored.tensors()) {
      if (folder.is_part(tensor.name)) continue;
      const std::optional<QuantizedMatrix> matrix = folder.find_matrix(tensor);
      ASSERT_TRUE(matrix.has_value()) << tensor.name;
      ++matrices;
      check(*matrix);
    }
    EXPECT_EQ(matrices, 1);
  }
  [[nodiscard]] std::string message(const std::string& layout, const std::function<void(Parts&, QuantizationConfig&)>& edit) const {
    Parts parts = parts_of(layout);
    QuantizationConfig config = config_of(layout);
    edit(parts, config);
    return message_of([&] { open(parts, config, [](const QuantizedMatrix&) {}); });
  }

  TemporaryFolder folder_;
};

TEST_F(QuantizedLayouts, HoldTheValuesOfTheirReferences) {
  const std::map<std::string, DType> formats = {{"gptq4", DType::q4_0},          {"gptq4-asymmetric", DType::q5_0},
                                                {"gptq4-act-order", DType::f16}, {"gptq4-v2", DType::q5_0},
                                                {"gptq8", DType::q8_0},          {"awq", DType::q5_0},
                                                {"int4", DType::q4_0},           {"int4-asymmetric", DType::q5_0},
                                                {"int8", DType::q8_0},           {"fp8-block", DType::f16},
                                                {"fp8-channel", DType::f16},     {"fp8-tensor", DType::f16}};
  for (const auto& [layout, format] : formats) {
    SCOPED_TRACE(layout);
    open(parts_of(layout), config_of(layout), [&](const QuantizedMatrix& matrix) {
      EXPECT_EQ(matrix.dtype, format);
      EXPECT_EQ(matrix.shape, (Shape{8, 64}));
      std::vector<std::byte> bytes(static_cast<size_t>(storage_bytes(matrix.dtype, 8 * 64)));
      matrix.write(matrix.dtype, bytes);
      std::vector<float> got(8 * 64);
      find_block_format(matrix.dtype)->unpack(bytes.data(), got);
      const std::vector<float> want = values_of(layouts().get(layout + ".want"));
      for (size_t i = 0; i < want.size(); ++i) {
        // f16 rounds once.
        ASSERT_EQ(got[i], matrix.dtype == DType::f16 ? static_cast<float>(f16(want[i])) : want[i]) << i;
      }
    });
  }
}

TEST_F(QuantizedLayouts, PartsThatAreMissingOrDoNotFitAreNamed) {
  EXPECT_NE(
      message("gptq4", [](Parts& parts, auto&) { parts.erase("m.scales"); }).find("'m.scales' is missing, which belongs to 'm.qweight'"),
      std::string::npos);
  EXPECT_NE(
      message("gptq4", [](Parts&, QuantizationConfig& config) { config.group_size = 16; }).find("group_size 16 (gptq4) needs f16 [4, 8]"),
      std::string::npos);
  EXPECT_NE(message("gptq4", [](Parts& parts, auto&) { parts["m.qzeros"].shape = {1, 2}; }).find("'m.qzeros' is i32 [1, 2]"),
            std::string::npos);
  EXPECT_NE(message("gptq4", [](Parts& parts, auto&) { parts["m.qzeros"].dtype = DType::f32; }).find("'m.qzeros' is f32"),
            std::string::npos);
  EXPECT_NE(
      message("gptq4", [](Parts& parts, auto&) { parts["m.g_idx"].data[4] = std::byte{9}; }).find("column 1 is of group 9, out of 0 to 1"),
      std::string::npos);
  EXPECT_NE(message("awq", [](Parts& parts, auto&) { parts.erase("m.qzeros"); }).find("'m.qzeros' is missing"), std::string::npos);
  EXPECT_NE(message("awq", [](Parts&, QuantizationConfig& config) { config.group_size = 64; }).find("group_size 64"), std::string::npos);
  EXPECT_NE(message("int4", [](Parts& parts, auto&) { parts.erase("m.weight_shape"); }).find("'m.weight_shape' is missing"),
            std::string::npos);
  EXPECT_NE(message("int4", [](Parts& parts, auto&) { parts["m.weight_shape"].data[8] = std::byte{63}; }).find("of a matrix [8, 63]"),
            std::string::npos);
  EXPECT_NE(
      message("int4-asymmetric", [](Parts& parts, auto&) { parts["m.weight_zero_point"].dtype = DType::f32; }).find("weight_zero_point"),
      std::string::npos);
  EXPECT_NE(message("fp8-block", [](Parts& parts, auto&) { parts.erase("m.weight_scale_inv"); }).find("'m.weight_scale' is missing"),
            std::string::npos);
  EXPECT_NE(message("fp8-block", [](Parts&, QuantizationConfig& config) { config.block_columns = 16; }).find("blocks of [6, 16]"),
            std::string::npos);
}

class QuantizedFolders : public ::testing::Test {
 protected:
  // A small Llama whose matrices are in GPTQ's layout; or unquantized, with the same values.
  void write(const std::filesystem::path& path, bool quantized, const nlohmann::json& config) const {
    TinyFolder made = tiny_folder("LlamaForCausalLM");
    made.config.update({{"hidden_size", 64}, {"intermediate_size", 64}, {"head_dim", 16}});
    if (quantized) made.config["quantization_config"] = config;
    std::filesystem::create_directories(path);
    std::ofstream(path / "config.json") << made.config.dump(1);
    SafetensorsWriter writer;
    std::vector<std::vector<std::byte>> kept;
    kept.reserve(8 * made.tensors.size());
    const auto add = [&](const std::string& name, DType dtype, const Shape& shape, std::vector<std::byte> data) {
      kept.push_back(std::move(data));
      writer.add_tensor(name, dtype, shape, kept.back());
    };
    for (const auto& [name, shape] : made.tensors) {
      const std::string module = name.substr(0, name.size() - std::string_view(".weight").size());
      if (!name.ends_with("_proj.weight")) {
        add(name, DType::f32, shape.size() == 1 ? Shape{64} : Shape{shape[0], 64},
            random_weights(name, DType::f32, shape.size() == 1 ? 1 : shape[0], 64));
        continue;
      }
      const int64_t rows = name.find("k_proj") != std::string::npos || name.find("v_proj") != std::string::npos ? 32 : 64;
      std::vector<uint32_t> codes(static_cast<size_t>(8 * rows)), zeros(static_cast<size_t>(2 * rows / 8), 0x77777777U);
      std::vector<uint16_t> scales(static_cast<size_t>(2 * rows));
      uint64_t state = std::hash<std::string>()(module);
      const auto next = [&] { return (state = state * 6364136223846793005U + 1442695040888963407U) >> 33; };
      for (uint32_t& word : codes) word = static_cast<uint32_t>(next() ^ next() << 16);
      for (uint16_t& scale : scales) scale = f16(0.005F + static_cast<float>(next() % 100) * 0.0002F).bits;
      const auto bytes = [](const auto& values) {
        const auto span = std::as_bytes(std::span(values));
        return std::vector<std::byte>(span.begin(), span.end());
      };
      if (quantized) {
        add(module + ".qweight", DType::i32, {8, rows}, bytes(codes));
        add(module + ".qzeros", DType::i32, {2, rows / 8}, bytes(zeros));
        add(module + ".scales", DType::f16, {2, rows}, bytes(scales));
        continue;
      }
      std::vector<float> values;
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t column = 0; column < 64; ++column) {
          const auto code = static_cast<int>(codes[static_cast<size_t>(column / 8 * rows + row)] >> (4 * (column % 8)) & 15);
          values.push_back(f16_bits_to_float(scales[static_cast<size_t>(column / 32 * rows + row)]) * static_cast<float>(code - 8));
        }
      }
      add(name, DType::f32, {rows, 64}, bytes(values));
    }
    writer.write(path / "model.safetensors");
  }
  [[nodiscard]] static std::vector<float> logits_of(const std::filesystem::path& path) {
    return precise_logits(path, std::vector<int32_t>{1, 5, 9, 40, 2, 17});
  }

  TemporaryFolder folder_;
  nlohmann::json gptq_ = {{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 32}, {"desc_act", false}, {"sym", true}};
};

TEST_F(QuantizedFolders, GiveTheLogitsOfTheirValuesAndAreConverted) {
  write(folder_.path() / "plain", false, {});
  write(folder_.path() / "quantized", true, gptq_);
  write_gguf(Checkpoint::open(folder_.path() / "quantized"), folder_.path() / "quantized.gguf");
  EXPECT_EQ(GgufFile::open(folder_.path() / "quantized.gguf").find_tensor("blk.1.ffn_up.weight")->dtype, DType::q4_0);
  const std::vector<float> want = logits_of(folder_.path() / "plain");
  for (const char* name : {"quantized", "quantized.gguf"}) {
    const std::vector<float> got = logits_of(folder_.path() / name);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-4) << name << ", element " << i;
  }
}

TEST_F(QuantizedFolders, MethodsAndFormsThatAreNotKnownAreRefusedByName) {
  const auto message = [&](const nlohmann::json& config) {
    const std::filesystem::path path = folder_.path() / "refused";
    write(path, true, config);
    return message_of([&] { (void)Checkpoint::open(path); });
  };
  for (const char* method : {"bitsandbytes", "hqq", "torchao", "fbgemm_fp8", "bitnet", "aqlm", "quanto", "eetq"}) {
    const std::string text = message({{"quant_method", method}});
    EXPECT_NE(text.find(std::string("quantization_config.quant_method = '") + method + "' is not supported"), std::string::npos) << text;
    EXPECT_NE(text.find("a GGUF file of it"), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos);
  }
  EXPECT_NE(message({{"load_in_4bit", true}}).find("'bitsandbytes'"), std::string::npos);
  EXPECT_NE(message({{"quant_method", "gptq"}, {"bits", 3}}).find("bits = 3 of gptq"), std::string::npos);
  EXPECT_NE(message({{"quant_method", "gptq"}, {"checkpoint_format", "marlin"}}).find("checkpoint_format = 'marlin'"), std::string::npos);
  EXPECT_NE(message({{"quant_method", "awq"}, {"version", "gemv"}}).find("version = 'gemv'"), std::string::npos);
  EXPECT_NE(message({{"quant_method", "compressed-tensors"}, {"format", "nvfp4-pack-quantized"}}).find("format = 'nvfp4-pack-quantized'"),
            std::string::npos);
  EXPECT_NE(message({{"quant_method", "modelopt"}, {"quant_algo", "NVFP4"}}).find("quant_algo = 'NVFP4'"), std::string::npos);
  EXPECT_NE(message({{"quant_method", "fp8"}, {"weight_block_size", {0, 128}}}).find("weight_block_size = [0,128]"), std::string::npos);
  EXPECT_NE(message({{"quant_method", "gptq"}, {"group_size", 0}}).find("group_size = 0"), std::string::npos);
  EXPECT_NE(message({{"bits", 4}}).find("no text quant_method"), std::string::npos);
}

}  // namespace
}  // namespace wick
