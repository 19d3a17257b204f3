#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "wick/base/error.h"
#include "wick/base/json.h"
#include "wick/base/terminal_text.h"
#include "wick/cli/commands/inspect_tensors.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/cli/flags/flags.h"
#include "wick/cli/hub/model_path.h"
#include "wick/cli/load_model.h"
#include "wick/cli/text_format.h"
#include "wick/engine/model_sampling.h"
#include "wick/formats/gguf.h"
#include "wick/formats/gguf_type.h"
#include "wick/formats/printable.h"
#include "wick/model/decoder_model.h"
#include "wick/model/placement.h"

namespace wick {
namespace {

using Json = nlohmann::ordered_json;

// Elements of an array that are shown.
constexpr uint64_t kShownElements = 8;

Json first_elements(const GgufArray& array) {
  Json list = Json::array();
  const uint64_t count = std::min(array.size, kShownElements);
  if (array.element_type == GgufType::string) {
    for (uint64_t index = 0; index < count; ++index) list.push_back(array.strings[index]);
  } else if (array.element_type == GgufType::array) {
    for (uint64_t index = 0; index < count; ++index) {
      const GgufArray& inner = array.arrays[index];
      list.push_back({{"element_type", to_string(inner.element_type)}, {"length", inner.size}, {"first", first_elements(inner)}});
    }
  } else {
    // Only the bytes of the first elements are converted.
    GgufArray head{.element_type = array.element_type, .size = count, .packed = {}, .strings = {}, .arrays = {}};
    if (array.size > 0) head.packed = array.packed.first(array.packed.size() / array.size * count);
    if (array.element_type == GgufType::f32) {
      for (const float value : head.to_vector<float>()) list.push_back(value);
    } else if (array.element_type == GgufType::f64) {
      for (const double value : head.to_vector<double>()) list.push_back(value);
    } else if (array.element_type == GgufType::u64) {
      for (const uint64_t value : head.to_vector<uint64_t>()) list.push_back(value);
    } else {
      for (const int64_t value : head.to_vector<int64_t>()) list.push_back(value);
    }
  }
  return list;
}

Json to_json(const GgufValue& value) {
  return std::visit(
      []<class T>(const T& held) -> Json {
        if constexpr (std::is_same_v<T, GgufArray>) {
          if (held.size <= kShownElements && held.element_type != GgufType::array) return first_elements(held);
          return {{"element_type", to_string(held.element_type)}, {"length", held.size}, {"first", first_elements(held)}};
        } else {
          return held;
        }
      },
      value.value);
}

// Where a tensor's bytes begin in its (part of the) file.
uint64_t offset_of(const GgufTensor& tensor) {
  return tensor.file == nullptr ? 0 : static_cast<uint64_t>(tensor.data.data() - tensor.file->bytes().data());
}

Json dims_of(const Shape& shape) {
  Json dims = Json::array();
  for (const int64_t extent : shape.dims()) dims.push_back(extent);
  return dims;
}

struct Totals {
  int64_t elements = 0;
  uint64_t bytes = 0;
};

Totals totals_of(const GgufFile& file) {
  Totals totals;
  for (const GgufTensor& tensor : file.tensors()) {
    totals.elements += tensor.shape.elements();
    totals.bytes += tensor.data.size();
  }
  return totals;
}

Json gguf_json(const GgufFile& file) {
  const Totals totals = totals_of(file);
  Json json = {{"file", file.name()},
               {"format", "GGUF"},
               {"version", file.version()},
               {"alignment", file.alignment()},
               {"file_bytes", file.file_bytes()},
               {"tensor_count", file.tensors().size()},
               {"tensor_bytes", totals.bytes},
               {"parameters", totals.elements}};
  Json metadata = Json::object();
  // Appended, not looked up: a file holds no key twice, and a look-up in a list is a search.
  auto& entries = metadata.get_ref<Json::object_t&>();
  for (const auto& [key, value] : file.metadata()) entries.push_back({std::string(key), to_json(value)});
  json["metadata"] = std::move(metadata);
  Json tensors = Json::array();
  for (const GgufTensor& tensor : file.tensors()) {
    tensors.push_back({{"name", tensor.name},
                       {"type", ggml_name(tensor.dtype)},
                       {"shape", dims_of(tensor.shape)},
                       {"offset", offset_of(tensor)},
                       {"bytes", tensor.data.size()}});
  }
  json["tensors"] = std::move(tensors);
  return json;
}

std::string describe_type(const GgufValue& value) {
  const auto* array = std::get_if<GgufArray>(&value.value);
  return array == nullptr ? std::string(to_string(value.type())) : fmt::format("{}[{}]", to_string(array->element_type), array->size);
}

std::string describe_value(const GgufValue& value) {
  if (const auto* text = std::get_if<std::string_view>(&value.value)) return printable(*text);
  if (const auto* array = std::get_if<GgufArray>(&value.value)) {
    std::string list = json_text(first_elements(*array));
    if (array->size > kShownElements) list.insert(list.size() - 1, ",…");
    return list;
  }
  return json_text(to_json(value));
}

void print_gguf(const Console& console, const GgufFile& file) {
  const Totals totals = totals_of(file);
  console.out << fmt::format("{}: GGUF version {}, alignment {}, {}, {} metadata entries, {} tensors with {} elements in {}\n",
                             without_controls(file.name()), file.version(), file.alignment(), format_bytes(file.file_bytes()),
                             file.metadata().size(), file.tensors().size(), format_count(static_cast<uint64_t>(totals.elements)),
                             format_bytes(totals.bytes));
  if (!file.metadata().empty()) console.out << "\nMetadata\n";
  for (const auto& [key, value] : file.metadata()) {
    console.out << fmt::format("  {:<44} {:<14} {}\n", printable_name(key), describe_type(value), without_controls(describe_value(value)));
  }
  if (!file.tensors().empty())
    console.out << fmt::format("\n{:<46} {:<8} {:<22} {:>14} {:>14}\n", "Tensor", "type", "shape", "offset", "bytes");
  for (const GgufTensor& tensor : file.tensors()) {
    console.out << fmt::format("  {:<44} {:<8} {:<22} {:>14} {:>14}\n", printable_name(tensor.name), ggml_name(tensor.dtype),
                               tensor.shape.to_string(), offset_of(tensor), tensor.data.size());
  }
}

// Where flags share the layers between devices: "placement: layers 0-7, embedding and head on cpu, …".
std::optional<std::string> placement_line(const Console& console, const DecoderSpec& model, const DeviceChoice& choice) {
  if (!choice.gpu_layers && !choice.all_cpu_experts && choice.cpu_expert_layers == 0) return std::nullopt;
  const ModelDevice chosen = open_model_device(console, choice, 0);
  return "placement: " + Placement::of(layers_with_experts(model), chosen.device, chosen.placement).describe();
}

void show_layers(const Console& console, const std::string& path, bool json, const DeviceChoice& choice) {
  const Checkpoint file = Checkpoint::open(path);
  const DecoderSpec model = describe(file);
  std::vector<std::string> lines = describe_model(model);
  if (const std::string said = read_model_sampling(file).said; !said.empty()) lines.push_back("sampling: " + said);
  if (std::optional<std::string> placement = placement_line(console, model, choice)) lines.push_back(*std::move(placement));
  if (json) {
    console.out << json_without_controls(json_text(Json(lines), 2)) << '\n';
    return;
  }
  for (const std::string& line : lines) console.out << without_controls(line) << '\n';
}

}  // namespace

void inspect_command(Console& console, const Arguments& arguments) {
  std::string path;
  bool json = false;
  bool layers = false;
  Flags flags(
      "Shows the metadata and the tensors of a GGUF, safetensors, npy, npz or PyTorch (.pt, .pth) file, or of a sharded "
      "safetensors model by its index or folder. Shapes are written outermost first: a weight [out, in]. Offsets are bytes "
      "from the file's beginning. Long arrays are shortened. No code in a PyTorch file is executed.",
      console);
  flags.add_argument("FILE", "the file", path).required().path();
  add_json(flags, json);
  flags.add_switch("--layers", "show the layers of a model, as this program understands them, instead; with --ngl, which device has them",
                   layers);
  DeviceChoice device;
  add_device(flags, device);
  flags.examples({"wick inspect models/novelist-20m-q8_0.gguf", "wick inspect --layers FOLDER", "wick inspect --layers FILE.gguf --ngl 20",
                  "wick inspect FILE.gguf --json", "wick inspect checkpoint.pt"});
  if (!flags.parse(arguments)) return;

  path = resolve_hub(console, path).string();
  if (layers) return show_layers(console, path, json, device);
  if (inspect_tensors(console, path, json)) return;
  const GgufFile file = GgufFile::open(path);
  if (json) {
    console.out << json_without_controls(json_text(gguf_json(file), 2)) << '\n';
  } else {
    print_gguf(console, file);
  }
}

}  // namespace wick
