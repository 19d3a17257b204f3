// Quantized matrices of folders, against their values by other programs and by their published formulas.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

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
#include "wick/quant/unpack_row.h"

namespace wick {
namespace {

struct Stored {
  DType dtype = DType::f32;
  Shape shape = {};
  std::vector<std::byte> data = {};
};
using Parts = std::map<std::string, Stored>;

// What programs packed, and what NumPy did by published formulas.
const std::vector<SafetensorsFile>& layouts() {
  static const std::vector<SafetensorsFile> kFiles = [] {
    std::vector<SafetensorsFile> files;
    for (const char* name : {"layouts", "numpy_layouts"})
      files.push_back(SafetensorsFile::open(source_file(std::string("tests/data/formats/quantized/") + name + ".safetensors")));
    return files;
  }();
  return kFiles;
}

// "m.qweight" and the others of a layout; "want" has its values.
Parts parts_of(const std::string& layout, const std::string& prefix = "m.") {
  Parts parts;
  for (const SafetensorsFile& file : layouts()) {
    for (const SafetensorsTensor& tensor : file.tensors()) {
      const std::string name(tensor.name);
      if (name.starts_with(layout + "." + prefix))
        parts[name.substr(layout.size() + 1)] = {tensor.dtype, tensor.shape, {tensor.data.begin(), tensor.data.end()}};
    }
  }
  return parts;
}

std::vector<float> values_of(const Stored& tensor) {
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
  if (layout == "nvfp4" || layout == "nvfp4-narrow") config.method = QuantizationMethod::float8;
  if (layout.starts_with("nf4") || layout.starts_with("fp4") || layout == "bnb8") config.method = QuantizationMethod::bitsandbytes;
  if (layout.starts_with("hqq")) config.method = QuantizationMethod::hqq;
  if (layout.starts_with("bitnet")) config.method = QuantizationMethod::bitnet;
  config.divides_by_scale = layout == "bitnet-divided";
  if (layout.starts_with("mlx")) {
    config.method = QuantizationMethod::mlx;
    config.bits = layout[3] - '0';
    config.group_size = layout == "mlx4" ? 32 : 64;
  }
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
  const std::map<std::string, DType> formats = {
      {"gptq4", DType::q4_0},
      {"gptq4-asymmetric", DType::q5_0},
      {"gptq4-act-order", DType::f16},
      {"gptq4-v2", DType::q5_0},
      {"gptq8", DType::q8_0},
      {"awq", DType::q5_0},
      {"int4", DType::q4_0},
      {"int4-asymmetric", DType::q5_0},
      {"int8", DType::q8_0},
      {"fp8-block", DType::f16},
      {"fp8-channel", DType::f16},
      {"fp8-tensor", DType::f16},
      {"nvfp4", DType::nvfp4},
      {"nvfp4-narrow", DType::f16},
      {"nvfp4-compressed", DType::nvfp4},
      {"mxfp4", DType::mxfp4},
      {"mlx2", DType::q4_1},
      {"mlx3", DType::q4_1},
      {"mlx4", DType::q4_1},
      {"mlx4-bf16", DType::q4_1},
      {"mlx5", DType::q5_1},
      {"mlx6", DType::f16},
      {"mlx8", DType::f16},
      {"nf4", DType::f16},
      {"nf4-nested", DType::f16},
      {"fp4", DType::f16},
      {"bnb8", DType::f16},
      {"hqq4", DType::f16},
      {"hqq4-round", DType::q4_1},
      {"hqq4-axis0", DType::f16},
      {"hqq2", DType::f16},
      {"hqq8", DType::f16},
      {"bitnet", DType::tq2_0},
      {"bitnet-narrow", DType::q2_0},
      {"bitnet-divided", DType::i2_s},
  };
  for (const auto& [layout, format] : formats) {
    SCOPED_TRACE(layout);
    const Stored reference = parts_of(layout, "want").at("want");
    const std::vector<float> want = values_of(reference);
    open(parts_of(layout), config_of(layout), [&](const QuantizedMatrix& matrix) {
      EXPECT_EQ(matrix.dtype, format);
      EXPECT_EQ(matrix.shape, reference.shape);
      for (const DType dtype : {matrix.dtype, DType::f16, DType::f32}) {
        SCOPED_TRACE(to_string(dtype));
        std::vector<std::byte> bytes(static_cast<size_t>(tensor_bytes(dtype, matrix.shape.elements())));
        matrix.write(dtype, bytes);
        const float scale = dtype == matrix.dtype ? matrix.scale : 1;
        const auto columns = static_cast<size_t>(matrix.shape[1]);
        std::vector<float> row(columns);
        for (size_t i = 0; i < want.size(); ++i) {
          if (i % columns == 0) unpack_row(dtype, bytes.data(), bytes.size(), static_cast<int64_t>(i / columns), row);
          // f16 rounds once. The divisor of compressed-tensors' NVFP4 becomes a factor, which rounds, too.
          const float exact = dtype == DType::f16 ? static_cast<float>(f16(want[i])) : want[i];
          if (layout == "nvfp4-compressed") {
            ASSERT_NEAR(row[i % columns] * scale, exact, std::fabs(exact) * (dtype == DType::f16 ? 1e-3 : 3e-7)) << i;
          } else {
            ASSERT_EQ(row[i % columns] * scale, exact) << i;
          }
        }
      }
    });
  }
}

TEST_F(QuantizedLayouts, FloatsBitsandbytesHqqMlxAndBitNetNameWhatIsMissingOrDoesNotFit) {
  using Edit = std::function<void(Parts&, QuantizationConfig&)>;
  struct Case {
    std::string layout;
    Edit edit;
    std::string want;
  };
  const auto without = [](const char* name) -> Edit { return [name](Parts& parts, auto&) { ASSERT_EQ(parts.erase(name), 1U); }; };
  const auto reshaped = [](const char* name, Shape shape) -> Edit {
    return [name, shape](Parts& parts, auto&) {
      parts.at(name).shape = shape;
      parts.at(name).data.resize(static_cast<size_t>(storage_bytes(parts.at(name).dtype, shape.elements())));
    };
  };
  const auto with_byte = [](const char* name, size_t at, uint8_t value) -> Edit {
    return [name, at, value](Parts& parts, auto&) { parts.at(name).data.at(at) = std::byte{value}; };
  };
  const std::vector<Case> cases = {
      {"nvfp4", without("m.weight_scale"), "'m.weight_scale' is missing, which belongs to 'm.weight'"},
      {"nvfp4", without("m.weight_scale_2"), "'m.weight_scale_2' is missing"},
      {"nvfp4", reshaped("m.weight_scale", {8, 2}), "a scale for each 16 columns"},
      {"nvfp4", with_byte("m.weight_scale", 3, 0x7f), "a scale is NaN or negative"},
      {"nvfp4", reshaped("m.weight", {8, 31}), "rows must be multiples of 16 columns"},
      {"nvfp4-compressed", [](Parts& parts, auto&) { std::fill_n(parts.at("m.weight_global_scale").data.begin(), 4, std::byte{0}); },
       "the divisor is 0"},
      {"mxfp4", reshaped("m.weight_scale", {8, 4}), "a scale for each 32 columns"},
      {"mxfp4", with_byte("m.weight_scale", 3, 0xff), "a scale is NaN"},
      {"mlx4", without("m.biases"), "'m.biases' is missing"},
      {"mlx4", [](Parts&, QuantizationConfig& config) { config.group_size = 64; }, "bits 4, group_size 64"},
      {"mlx4", [](Parts&, QuantizationConfig& config) { config.bits = 8; }, "bits 8, group_size 32"},
      {"mlx4", [](Parts&, QuantizationConfig& config) { config.modules["m"] = {.bits = 8, .group_size = 32}; }, "bits 8, group_size 32"},
      {"mlx4", [](Parts&, QuantizationConfig& config) { config.group_size = 48; }, "no whole groups of bits 4, group_size 48"},
      {"nf4", without("m.weight.absmax"), "'m.weight.absmax' is missing"},
      {"nf4", without("m.weight.quant_state.bitsandbytes__nf4"), "quant_state.bitsandbytes__nf4' is missing"},
      {"nf4", with_byte("m.weight.quant_state.bitsandbytes__nf4", 0, '['), "a JSON text with the shape of a matrix"},
      {"nf4", reshaped("m.weight.quant_map", {15}), "a value for each code"},
      {"nf4", reshaped("m.weight.absmax", {7}), "blocksize 64"},
      {"nf4", reshaped("m.weight", {255, 1}), "a matrix [8, 64]"},
      {"nf4-nested", without("m.weight.nested_absmax"), "'m.weight.nested_absmax' is missing"},
      {"nf4-nested", reshaped("m.weight.nested_absmax", {2}), "nested_blocksize 4"},
      {"bnb8", without("m.SCB"), "'m.SCB' is missing"},
      {"bnb8", reshaped("m.SCB", {7}), "a scale for each row"},
      {"bnb8", with_byte("m.weight_format", 0, 2), "only the format 0 (rows) is supported"},
      {"hqq4", without("m.zero"), "'m.zero' is missing"},
      {"hqq4", with_byte("m.nbits", 0, 3), "nbits = 3 is not supported"},
      {"hqq4", with_byte("m.axis", 0, 2), "axis = 2"},
      {"hqq4", with_byte("m.shape", 0, 9), "codes of 4 bits of a matrix [9, 64]"},
      {"hqq4", with_byte("m.group_size", 0, 64), "group_size = 64 needs 8 scales"},
      {"hqq4", reshaped("m.zero", {8, 1}), "a zero for each scale"},
      {"bitnet", without("m.weight_scale"), "'m.weight_scale' is missing"},
      {"bitnet", reshaped("m.weight_scale", {2}), "one scale of the matrix"},
      {"bitnet", with_byte("m.weight", 5, 0x0c), "a code is 3"},
  };
  for (const Case& each : cases) {
    const std::string text = message(each.layout, each.edit);
    EXPECT_NE(text.find(each.want), std::string::npos) << each.layout << ": " << each.want << ": " << text;
    EXPECT_EQ(text.find('\n'), std::string::npos);
  }
}

// Without the tensor that gives the scale, or with one of another shape, each layout names it.
TEST_F(QuantizedLayouts, EachNamesAScaleThatIsMissingOrDoesNotFit) {
  const std::map<std::string, std::string> scales = {
      {"gptq4", ".scales"},
      {"gptq4-act-order", ".scales"},
      {"gptq4-v2", ".scales"},
      {"gptq8", ".scales"},
      {"awq", ".scales"},
      {"int4", ".weight_scale"},
      {"int8", ".weight_scale"},
      {"fp8-block", ".weight_scale_inv"},
      {"fp8-channel", ".weight_scale"},
      {"nvfp4", ".weight_scale"},
      {"nvfp4-compressed", ".weight_scale"},
      {"mxfp4", ".weight_scale"},
      {"mlx2", ".scales"},
      {"mlx4", ".scales"},
      {"mlx8", ".biases"},
      {"nf4", ".weight.absmax"},
      {"fp4", ".weight.absmax"},
      {"bnb8", ".SCB"},
      {"hqq4", ".scale"},
      {"hqq8", ".scale"},
      {"bitnet", ".weight_scale"},
  };
  for (const auto& [layout, end] : scales) {
    SCOPED_TRACE(layout);
    const std::string name = "m" + end;
    const std::string missing = message(layout, [&](Parts& parts, auto&) { ASSERT_EQ(parts.erase(name), 1U); });
    EXPECT_NE(missing.find("is missing, which belongs to"), std::string::npos) << missing;
    EXPECT_EQ(missing.find('\n'), std::string::npos) << missing;
    const std::string shape = message(layout, [&](Parts& parts, auto&) {
      Stored& part = parts.at(name);
      part.shape = {part.shape.elements() + 3};
      part.data.resize(static_cast<size_t>(storage_bytes(part.dtype, part.shape.elements())));
    });
    EXPECT_NE(shape.find("'" + name + "'"), std::string::npos) << shape;
    EXPECT_EQ(shape.find('\n'), std::string::npos) << shape;
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

TEST_F(QuantizedFolders, PartsOfAMatrixMayBeInSeveralShardsThatAgree) {
  const std::filesystem::path path = folder_.path() / "sharded";
  write(path, true, gptq_);
  const std::vector<float> want = logits_of(path);
  const auto write_shards = [&](const std::string& twice, int64_t columns) {
    const SafetensorsFile file = SafetensorsFile::open(path / "model.safetensors");
    SafetensorsWriter codes, others;
    nlohmann::json index = {{"weight_map", nlohmann::json::object()}};
    for (const SafetensorsTensor& tensor : file.tensors()) {
      const bool first = tensor.name.ends_with(".qweight");
      const bool cut = columns > 0 && tensor.name == "model.layers.1.mlp.up_proj.scales";
      const Shape shape = cut ? Shape{2, columns} : tensor.shape;
      const auto bytes = tensor.data.first(static_cast<size_t>(storage_bytes(tensor.dtype, shape.elements())));
      (first ? codes : others).add_tensor(tensor.name, tensor.dtype, shape, bytes);
      if (tensor.name == twice) (first ? others : codes).add_tensor(tensor.name, tensor.dtype, shape, bytes);
      index["weight_map"][tensor.name] = first ? "codes.safetensors" : "others.safetensors";
    }
    std::filesystem::create_directories(folder_.path() / "shards");
    codes.write(folder_.path() / "shards" / "codes.safetensors");
    others.write(folder_.path() / "shards" / "others.safetensors");
    std::ofstream(folder_.path() / "shards" / "model.safetensors.index.json", std::ios::trunc) << index.dump();
    std::filesystem::copy_file(path / "config.json", folder_.path() / "shards" / "config.json",
                               std::filesystem::copy_options::overwrite_existing);
  };
  const auto message = [&] { return message_of([&] { (void)Checkpoint::open(folder_.path() / "shards"); }); };
  write_shards("", 0);
  EXPECT_EQ(logits_of(folder_.path() / "shards"), want);
  write_shards("model.layers.1.mlp.up_proj.scales", 0);
  EXPECT_NE(message().find("tensor 'model.layers.1.mlp.up_proj.scales' is in"), std::string::npos) << message();
  write_shards("", 32);
  EXPECT_NE(message().find("'model.layers.1.mlp.up_proj.scales' is f16 [2, 32]"), std::string::npos) << message();
}

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

// A matrix in a method's layout, by ends of names, and its values.
struct Made {
  Parts parts;
  std::vector<float> values;
};
using Next = std::function<uint32_t()>;
using Maker = std::function<Made(int64_t rows, int64_t columns, const Next& next)>;

template <class T>
Stored stored_of(DType dtype, const Shape& shape, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {dtype, shape, {bytes.begin(), bytes.end()}};
}

// Codes of 0 to `count` - 1, and `values` of them.
std::vector<uint8_t> make_codes(int64_t rows, int64_t columns, uint32_t count, const Next& next, Made& made,
                                const std::function<float(int64_t row, int64_t column, int code)>& value) {
  std::vector<uint8_t> codes;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      codes.push_back(static_cast<uint8_t>(next() % count));
      made.values.push_back(value(row, column, codes.back()));
    }
  }
  return codes;
}

std::vector<uint8_t> in_pairs(const std::vector<uint8_t>& codes, bool first_is_low) {
  std::vector<uint8_t> pairs;
  for (size_t i = 0; i < codes.size(); i += 2)
    pairs.push_back(static_cast<uint8_t>(first_is_low ? codes[i] | codes[i + 1] << 4 : codes[i] << 4 | codes[i + 1]));
  return pairs;
}

constexpr float kFloats4[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6};

Made nvfp4(int64_t rows, int64_t columns, const Next& next) {
  Made made;
  const float factor = 0.0123F * static_cast<float>(1 + next() % 3);
  // 1, 1.5 and 2 in E4M3.
  const std::vector<uint8_t> codes = make_codes(rows, columns, 16, next, made, [&](int64_t row, int64_t column, int code) {
    return kFloats4[code] * (1 + 0.5F * static_cast<float>((row + column / 16) % 3)) * factor;
  });
  constexpr uint8_t kScales[] = {0x38, 0x3c, 0x40};
  std::vector<uint8_t> scales;
  for (int64_t i = 0; i < rows * columns / 16; ++i) scales.push_back(kScales[(i / (columns / 16) + i % (columns / 16)) % 3]);
  made.parts[".weight"] = stored_of(DType::u8, {rows, columns / 2}, in_pairs(codes, true));
  made.parts[".weight_scale"] = stored_of(DType::f8e4m3, {rows, columns / 16}, scales);
  made.parts[".weight_scale_2"] = stored_of(DType::f32, {1}, std::vector{factor});
  return made;
}

Made mxfp4(int64_t rows, int64_t columns, const Next& next) {
  Made made;
  const std::vector<uint8_t> codes =
      make_codes(rows, columns, 16, next, made, [](int64_t row, int64_t, int code) { return kFloats4[code] / (row % 2 == 0 ? 32 : 64); });
  std::vector<uint8_t> scales;
  for (int64_t i = 0; i < rows * columns / 32; ++i) scales.push_back(i / (columns / 32) % 2 == 0 ? 122 : 121);
  made.parts[".weight_packed"] = stored_of(DType::u8, {rows, columns / 2}, in_pairs(codes, true));
  made.parts[".weight_scale"] = stored_of(DType::u8, {rows, columns / 32}, scales);
  return made;
}

Made mlx(int64_t rows, int64_t columns, const Next& next) {
  Made made;
  const auto scale_of = [](int64_t row) { return 0.015625F * static_cast<float>(row % 3 - 1); };
  const std::vector<uint8_t> codes = make_codes(
      rows, columns, 16, next, made, [&](int64_t row, int64_t, int code) { return scale_of(row) * static_cast<float>(code) - 0.0625F; });
  std::vector<uint16_t> scales, biases;
  for (int64_t i = 0; i < rows * columns / 64; ++i) scales.push_back(f16(scale_of(i / (columns / 64))).bits);
  biases.assign(scales.size(), f16(-0.0625F).bits);
  made.parts[".weight"] = stored_of(DType::u32, {rows, columns / 8}, in_pairs(codes, true));
  made.parts[".scales"] = stored_of(DType::f16, {rows, columns / 64}, scales);
  made.parts[".biases"] = stored_of(DType::f16, {rows, columns / 64}, biases);
  return made;
}

Made nf4(int64_t rows, int64_t columns, const Next& next) {
  Made made;
  std::vector<float> map;
  for (int code = 0; code < 16; ++code) map.push_back(static_cast<float>(code - 7) / 8);
  const std::vector<uint8_t> codes =
      make_codes(rows, columns, 16, next, made, [&](int64_t, int64_t, int code) { return map[static_cast<size_t>(code)] / 4; });
  const std::string state = nlohmann::json({{"blocksize", 64}, {"shape", {rows, columns}}, {"quant_type", "nf4"}}).dump();
  made.parts[".weight"] = stored_of(DType::u8, {rows * columns / 2, 1}, in_pairs(codes, false));
  made.parts[".weight.quant_map"] = stored_of(DType::f32, {16}, map);
  made.parts[".weight.absmax"] =
      stored_of(DType::f32, {rows * columns / 64}, std::vector<float>(static_cast<size_t>(rows * columns / 64), 0.25F));
  made.parts[".weight.quant_state.bitsandbytes__nf4"] =
      stored_of(DType::u8, {std::ssize(state)}, std::vector<char>(state.begin(), state.end()));
  return made;
}

Made int8_rows(int64_t rows, int64_t columns, const Next& next) {
  Made made;
  std::vector<uint8_t> codes =
      make_codes(rows, columns, 127, next, made, [](int64_t, int64_t, int code) { return static_cast<float>(code - 63) / 512; });
  for (uint8_t& code : codes) code = static_cast<uint8_t>(code - 63);
  made.parts[".weight"] = stored_of(DType::i8, {rows, columns}, codes);
  made.parts[".SCB"] = stored_of(DType::f32, {rows}, std::vector<float>(static_cast<size_t>(rows), 127.0F / 512));
  return made;
}

Made hqq(int64_t rows, int64_t columns, const Next& next) {
  Made made;
  const std::vector<uint8_t> codes =
      make_codes(rows, columns, 16, next, made, [](int64_t, int64_t, int code) { return (static_cast<float>(code) - 7.5F) / 64; });
  std::vector<uint8_t> packed;
  const size_t half = codes.size() / 2;
  for (size_t i = 0; i < half; ++i) packed.push_back(static_cast<uint8_t>(codes[i] << 4 | codes[half + i]));
  const int64_t groups = rows * columns / 64;
  made.parts[".W_q"] = stored_of(DType::u8, {groups / 2, 64}, packed);
  made.parts[".scale"] = stored_of(DType::f16, {groups, 1}, std::vector<uint16_t>(static_cast<size_t>(groups), f16(1.0F / 64).bits));
  made.parts[".zero"] = stored_of(DType::f16, {groups, 1}, std::vector<uint16_t>(static_cast<size_t>(groups), f16(7.5F).bits));
  made.parts[".shape"] = stored_of(DType::i64, {2}, std::vector<int64_t>{rows, columns});
  made.parts[".nbits"] = stored_of(DType::i32, {1}, std::vector<int32_t>{4});
  made.parts[".axis"] = stored_of(DType::i32, {1}, std::vector<int32_t>{1});
  made.parts[".optimize"] = stored_of(DType::u8, {1}, std::vector<uint8_t>{1});
  return made;
}

Made ternary(int64_t rows, int64_t columns, const Next& next, float stored, float scale) {
  Made made;
  const std::vector<uint8_t> codes =
      make_codes(rows, columns, 3, next, made, [&](int64_t, int64_t, int code) { return static_cast<float>(code - 1) * scale; });
  std::vector<uint8_t> packed(codes.size() / 4);
  for (size_t i = 0; i < codes.size(); ++i)
    packed[i % packed.size()] = static_cast<uint8_t>(packed[i % packed.size()] | codes[i] << (2 * (i / packed.size())));
  made.parts[".weight"] = stored_of(DType::u8, {rows / 4, columns}, packed);
  made.parts[".weight_scale"] = stored_of(DType::f32, {1}, std::vector{stored});
  return made;
}

Made bitnet(int64_t rows, int64_t columns, const Next& next) { return ternary(rows, columns, next, 0.0625F, 0.0625F); }
Made divided_bitnet(int64_t rows, int64_t columns, const Next& next) { return ternary(rows, columns, next, 30, 1 / 30.0F); }

// Llama's tensors as those of the class.
void become(TinyFolder& made, const std::string& class_name) {
  made.config["architectures"] = {class_name};
  if (class_name == "BitNetForCausalLM") made.config["hidden_act"] = "relu2";
  if (class_name == "MixtralForCausalLM") made.config.update({{"num_local_experts", 3}, {"num_experts_per_tok", 2}});
  for (int layer = 0; layer < made.config.at("num_hidden_layers"); ++layer) {
    const std::string prefix = "model.layers." + std::to_string(layer) + ".";
    if (class_name == "BitNetForCausalLM") {
      for (const char* norm : {"self_attn.attn_sub_norm", "mlp.ffn_sub_norm"}) made.tensors[prefix + norm + ".weight"] = {1};
    } else if (class_name == "MixtralForCausalLM") {
      for (const char* part : {"gate", "up", "down"}) made.tensors.erase(prefix + "mlp." + part + "_proj.weight");
      made.tensors[prefix + "block_sparse_moe.gate.weight"] = {3, 1};
      for (const char* expert : {"0", "1", "2"}) {
        for (const char* part : {"w1", "w2", "w3"})
          made.tensors[prefix + "block_sparse_moe.experts." + expert + "." + part + ".weight"] = {1, 1};
      }
    }
  }
}

// A small model with matrices of this size, in the maker's layout or as plain f32.
void write_made(const std::filesystem::path& path, const std::string& class_name, int64_t size, bool quantized, const Maker& maker,
                const nlohmann::json& config) {
  TinyFolder made = tiny_folder("LlamaForCausalLM");
  become(made, class_name);
  made.config.update({{"hidden_size", size}, {"intermediate_size", size}, {"head_dim", size / 4}});
  std::filesystem::create_directories(path);
  for (const auto& [key, value] : config.items()) {
    if (quantized && key.ends_with(".json")) std::ofstream(path / key) << value.dump(1);
    if (quantized && !key.ends_with(".json")) made.config[key] = value;
  }
  std::ofstream(path / "config.json") << made.config.dump(1);
  Parts all;
  for (const auto& [name, shape] : made.tensors) {
    if (!name.ends_with("_proj.weight") && name.find(".experts.") == std::string::npos) {
      const int64_t rows = shape.size() == 1 ? 1 : shape[0];
      all[name] = {DType::f32, shape.size() == 1 ? Shape{size} : Shape{rows, size}, random_weights(name, DType::f32, rows, size)};
      continue;
    }
    const std::string module = name.substr(0, name.size() - std::string_view(".weight").size());
    const int64_t rows = name.find("k_proj") != std::string::npos || name.find("v_proj") != std::string::npos ? size / 2 : size;
    uint64_t state = std::hash<std::string>()(module);
    const Made matrix =
        maker(rows, size, [&] { return static_cast<uint32_t>((state = state * 6364136223846793005U + 1442695040888963407U) >> 33); });
    if (!quantized) all[name] = stored_of(DType::f32, {rows, size}, matrix.values);
    for (const auto& [end, part] : matrix.parts) {
      if (quantized) all[module + end] = part;
    }
  }
  SafetensorsWriter writer;
  for (const auto& [name, part] : all) writer.add_tensor(name, part.dtype, part.shape, part.data);
  writer.write(path / "model.safetensors");
}

TEST_F(QuantizedFolders, OfEachMethodGiveTheLogitsOfTheirValuesAndAreConverted) {
  struct Method {
    const char* name;
    Maker maker;
    nlohmann::json config;
    DType dtype;
    int64_t size = 64;
    const char* class_name = "LlamaForCausalLM";
  };
  const auto by_method = [](const char* method, nlohmann::json more = nlohmann::json::object()) {
    more["quant_method"] = method;
    return nlohmann::json({{"quantization_config", more}});
  };
  const nlohmann::json of_mlx = {{"group_size", 64}, {"bits", 8}, {"mode", "affine"}};
  nlohmann::json exceptions = {{"quantization", of_mlx}, {"quantization_config", of_mlx}};
  for (const char* part :
       {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"}) {
    for (const char* layer : {"0", "1", "2", "3"})
      exceptions["quantization"][std::string("model.layers.") + layer + "." + part] = {{"group_size", 64}, {"bits", 4}};
  }
  const std::vector<Method> methods = {
      {"modelopt", nvfp4, by_method("modelopt", {{"quant_algo", "NVFP4"}}), DType::nvfp4},
      {"modelopt-file", nvfp4, {{"hf_quant_config.json", {{"quantization", {{"quant_algo", "NVFP4"}}}}}}, DType::nvfp4},
      {"mxfp4", mxfp4, by_method("compressed-tensors", {{"format", "mxfp4-pack-quantized"}}), DType::mxfp4},
      {"mlx", mlx, exceptions, DType::q4_1},
      {"nf4", nf4, by_method("bitsandbytes", {{"load_in_4bit", true}}), DType::f16},
      {"int8", int8_rows, {{"quantization_config", {{"load_in_8bit", true}}}}, DType::f16},
      {"hqq", hqq, by_method("hqq"), DType::q4_1},
      {"bitnet", divided_bitnet, by_method("bitnet"), DType::i2_s, 128},
      {"bitnet-2b4t", bitnet, by_method("bitnet", {{"linear_class", "autobitlinear"}, {"quantization_mode", "offline"}}), DType::q2_0, 64,
       "BitNetForCausalLM"},
      {"experts", nvfp4, by_method("modelopt", {{"quant_algo", "NVFP4"}}), DType::nvfp4, 64, "MixtralForCausalLM"},
  };
  for (const Method& method : methods) {
    SCOPED_TRACE(method.name);
    const std::filesystem::path path = folder_.path() / method.name;
    write_made(path / "plain", method.class_name, method.size, false, method.maker, nlohmann::json::object());
    write_made(path / "quantized", method.class_name, method.size, true, method.maker, method.config);
    write_gguf(Checkpoint::open(path / "quantized"), path / "quantized.gguf");
    const GgufFile gguf = GgufFile::open(path / "quantized.gguf");
    const std::string up = gguf.find_tensor("blk.1.ffn_up.weight") != nullptr ? "blk.1.ffn_up" : "blk.1.ffn_up_exps";
    EXPECT_EQ(gguf.find_tensor(up + ".weight")->dtype, method.dtype);
    EXPECT_EQ(gguf.find_tensor("blk.1.attn_q.weight")->dtype, method.dtype);
    EXPECT_EQ(gguf.find_tensor(up + ".scale") != nullptr, method.dtype == DType::nvfp4);
    const std::vector<float> want = logits_of(path / "plain");
    for (const char* name : {"quantized", "quantized.gguf"}) {
      const std::vector<float> got = logits_of(path / name);
      ASSERT_EQ(got.size(), want.size());
      for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-4) << name << ", element " << i;
    }
  }
}

// As mlx-lm stores them: "switch_mlp.gate_proj" has the matrices of all experts.
TEST_F(QuantizedFolders, ExpertsOfMlxMayBeStacks) {
  const nlohmann::json config = {{"quantization", {{"group_size", 64}, {"bits", 4}}}};
  for (const char* name : {"plain", "one by one", "stacks"})
    write_made(folder_.path() / name, "MixtralForCausalLM", 64, name != std::string("plain"), mlx, config);
  const std::filesystem::path path = folder_.path() / "stacks" / "model.safetensors";
  {
    const SafetensorsFile file = SafetensorsFile::open(folder_.path() / "one by one" / "model.safetensors");
    std::map<std::string, Stored> all;
    for (const SafetensorsTensor& tensor : file.tensors()) {
      std::string name(tensor.name);
      const size_t at = name.find(".experts.");
      const bool expert = at != std::string::npos;
      if (expert) {
        const std::map<std::string, std::string> parts = {{"w1", "gate_proj"}, {"w2", "down_proj"}, {"w3", "up_proj"}};
        const size_t part = at + std::string_view(".experts.0.").size();
        name = name.substr(0, at) + ".switch_mlp." + parts.at(name.substr(part, 2)) + name.substr(part + 2);
      }
      Stored& stored = all[name];
      stored.dtype = tensor.dtype;
      stored.data.insert(stored.data.end(), tensor.data.begin(), tensor.data.end());
      stored.shape = expert ? Shape{3, tensor.shape[0], tensor.shape[1]} : tensor.shape;
    }
    SafetensorsWriter writer;
    for (const auto& [name, part] : all) writer.add_tensor(name, part.dtype, part.shape, part.data);
    writer.write(path);
  }
  write_gguf(Checkpoint::open(folder_.path() / "stacks"), folder_.path() / "stacks.gguf");
  EXPECT_EQ(GgufFile::open(folder_.path() / "stacks.gguf").find_tensor("blk.1.ffn_up_exps.weight")->dtype, DType::q4_1);
  const std::vector<float> want = logits_of(folder_.path() / "plain");
  for (const char* name : {"one by one", "stacks", "stacks.gguf"}) {
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
  for (const char* method : {"torchao", "fbgemm_fp8", "aqlm", "quanto", "eetq", "quark", "fp_quant", "higgs"}) {
    const std::string text = message({{"quant_method", method}});
    EXPECT_NE(text.find(std::string("quantization_config.quant_method = '") + method + "' is not supported"), std::string::npos) << text;
    EXPECT_NE(text.find("a GGUF file of it"), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos);
  }
  EXPECT_NE(message({{"load_in_4bit", true}, {"bnb_4bit_quant_storage", "bfloat16"}}).find("= 'bfloat16' of bitsandbytes"),
            std::string::npos);
  EXPECT_NE(message({{"quant_method", "bitnet"}, {"quantization_mode", "online"}}).find("= 'online' of bitnet"), std::string::npos);
  EXPECT_NE(message({{"quant_method", "bitnet"}, {"linear_class", "other"}}).find("linear_class = 'other'"), std::string::npos);
  EXPECT_NE(message({{"quant_method", "bitnet"}, {"use_rms_norm", true}}).find("use_rms_norm = true"), std::string::npos);
  EXPECT_NE(message({{"quant_method", "gptq"}, {"bits", 3}}).find("bits = 3 of gptq"), std::string::npos);
  EXPECT_NE(message({{"quant_method", "gptq"}, {"checkpoint_format", "marlin"}}).find("checkpoint_format = 'marlin'"), std::string::npos);
  EXPECT_NE(message({{"quant_method", "awq"}, {"version", "gemv"}}).find("version = 'gemv'"), std::string::npos);
  EXPECT_NE(message({{"quant_method", "compressed-tensors"}, {"format", "marlin-24"}}).find("format = 'marlin-24'"), std::string::npos);
  EXPECT_NE(message({{"quant_method", "compressed-tensors"},
                     {"format", "mixed-precision"},
                     {"config_groups", {{"group_0", {{"format", "mxfp8-quantized"}, {"weights", {{"num_bits", 8}}}}}}}})
                .find("group_0.format = 'mxfp8-quantized'"),
            std::string::npos);
  EXPECT_NE(message({{"quant_method", "modelopt"}, {"quant_algo", "W4A8_AWQ"}}).find("quant_algo = 'W4A8_AWQ'"), std::string::npos);
  EXPECT_NE(message({{"quant_method", "fp8"}, {"weight_block_size", {0, 128}}}).find("weight_block_size = [0,128]"), std::string::npos);
  EXPECT_NE(message({{"quant_method", "gptq"}, {"group_size", 0}}).find("group_size = 0"), std::string::npos);
  EXPECT_NE(message({{"bits", 4}}).find("no text quant_method"), std::string::npos);
}

}  // namespace
}  // namespace wick
