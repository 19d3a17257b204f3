#include "wick/convert/adapter_to_gguf.h"

#include <memory>
#include <string>
#include <vector>

#include "wick/base/fail.h"
#include "wick/formats/gguf_writer.h"
#include "wick/model/decoder_model.h"
#include "wick/model/lora/lora_adapter.h"

namespace wick {
namespace {

bool is_in_order(const std::vector<int64_t>& rows) {
  for (size_t row = 0; row < rows.size(); ++row) {
    if (rows[row] != static_cast<int64_t>(row)) return false;
  }
  return true;
}

uint32_t adapter_file_type(DType dtype) { return dtype == DType::f16 ? 1 : dtype == DType::bf16 ? 32 : 0; }

}  // namespace

bool is_peft_folder(const std::filesystem::path& folder) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(folder / "adapter_config.json", ignored);
}

void write_adapter_gguf(const std::filesystem::path& folder, const Checkpoint& base, const std::filesystem::path& path) {
  const DecoderSpec spec = describe(base);
  const Architecture& architecture = *find_architecture(base.get_string("general.architecture"));
  const auto adapter = LoraAdapter::open(folder, architecture);
  GgufWriter writer;
  writer.add_string("general.architecture", architecture.name);
  writer.add_string("general.type", "adapter");
  const std::filesystem::path named = folder.has_filename() ? folder : folder.parent_path();
  writer.add_string("general.name", std::filesystem::weakly_canonical(named).filename().string());
  writer.add_uint("general.file_type", adapter_file_type(adapter->pairs().front().a.dtype));
  writer.add_string("adapter.type", "lora");
  writer.add_float("adapter.lora.alpha", static_cast<float>(adapter->alpha()));
  std::vector<std::unique_ptr<std::vector<float>>> kept;
  for (const LoraPair& pair : adapter->pairs()) {
    const int64_t rank = pair.a.shape[0];
    // What a reader multiplies with is alpha / rank; the rest of this pair's scale is b's.
    const double rest = pair.scale / (static_cast<float>(adapter->alpha()) / static_cast<double>(rank));
    const std::vector<int64_t> rows = adapter->source_rows(pair, spec, architecture.gguf_rope);
    writer.add_tensor(pair.weight + ".lora_a", pair.a.dtype, pair.a.shape, pair.a.data);
    if (rest == 1 && is_in_order(rows)) {
      writer.add_tensor(pair.weight + ".lora_b", pair.b.dtype, pair.b.shape, pair.b.data);
      continue;
    }
    const std::vector<float> stored = pair.b.to_floats();
    std::vector<float>& written = *kept.emplace_back(std::make_unique<std::vector<float>>());
    for (const int64_t row : rows) {
      for (int64_t column = 0; column < rank; ++column) {
        written.push_back(static_cast<float>(stored[static_cast<size_t>(row * rank + column)] * rest));
      }
    }
    writer.add_tensor(pair.weight + ".lora_b", DType::f32, pair.b.shape, std::as_bytes(std::span(written)));
  }
  writer.write(path);
}

}  // namespace wick
