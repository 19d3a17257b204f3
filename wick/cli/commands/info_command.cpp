#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "wick/base/json.h"
#include "wick/base/process.h"
#include "wick/base/terminal_text.h"
#include "wick/cli/build_info.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/cli/flags/flags.h"
#include "wick/cli/hub/model_hub.h"
#include "wick/cli/hub/model_path.h"
#include "wick/cli/text_format.h"
#include "wick/device/selection.h"
#include "wick/formats/gguf_type.h"
#include "wick/formats/printable.h"
#include "wick/model/checkpoint/checkpoint.h"
#include "wick/model/decoder_model.h"
#include "wick/model/mixers/mixer.h"
#include "wick/text/chat/call_detection.h"

namespace wick {
namespace {

using Json = nlohmann::ordered_json;

Json device_json(const DetectedDevice& device) {
  const DeviceCaps& caps = device.info.caps;
  return {{"device", device.location().to_string()},
          {"name", caps.name},
          {"driver", caps.driver},
          {"memory_bytes", caps.memory_bytes},
          {"score", device.info.score}};
}

// The linked backends: which instruction set each has chosen where it has several, and why no device of it was found where none was.
Json backends_json(const std::vector<DetectedDevice>& devices) {
  Json list = Json::array();
  for (const Backend* backend : linked_backends()) {
    if (!is_for_users(backend->kind)) continue;
    Json entry = {{"backend", to_string(backend->kind)}};
    const std::vector<VariantInfo> variants = backend->variants != nullptr ? backend->variants() : std::vector<VariantInfo>{};
    for (const VariantInfo& variant : variants) {
      if (variant.usable && variants.size() > 1) entry["instruction_set"] = variant.name;
    }
    const auto is_its = [&](const DetectedDevice& device) { return device.kind == backend->kind; };
    if (std::none_of(devices.begin(), devices.end(), is_its)) {
      const std::string reason = backend->missing != nullptr ? backend->missing(0) : "";
      entry["missing"] = reason.empty() ? "no driver lists a device" : reason;
    }
    list.push_back(std::move(entry));
  }
  return list;
}

Json folders_json(const Console& console) {
  Json json = {{"program", console.executable.parent_path().string()}, {"cache", console.cache_directory}};
  const std::filesystem::path model = find_default_model(console.executable);
  json["default_model"] = model.empty() ? Json() : Json(model.string());
  json["downloaded_models"] = console.cache_directory.empty() ? 0 : ModelHub(console).list().size();
  return json;
}

// The variables WICK_… that are set; their values only where they cannot be secret.
Json variables_json(const Console& console) {
  Json names = Json::array();
  for (const auto& [name, value] : console.environment) {
    if (!value.empty()) names.push_back(name);
  }
  return names;
}

// A model's bytes by type, most first.
std::vector<std::pair<std::string, uint64_t>> bytes_by_type(const Checkpoint& file) {
  std::map<std::string, uint64_t> bytes;
  for (const CheckpointTensor& tensor : file.tensors()) bytes[std::string(ggml_name(tensor.dtype))] += tensor.bytes();
  std::vector<std::pair<std::string, uint64_t>> sorted(bytes.begin(), bytes.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& left, const auto& right) { return left.second > right.second; });
  return sorted;
}

// Bytes of the KV cache, as f16 keeps it, for each position: of layers that keep all of them, and of those that keep a window. Bytes of a
// sequence's recurrent states, in f32; and of all of it for a long sequence, as long as the context at most. null for encoders, which keep
// nothing.
Json cache_json(const DecoderSpec& model) {
  constexpr int64_t kF16Bytes = 2;
  if (model.encoder) return {};
  const int64_t positions = std::min<int64_t>(32768, model.context_length);
  int64_t all = 0, windows = 0, states = 0, sequence = 0;
  for (const LayerSpec& layer : model.layers) {
    for (const BlockSpec& block : layer.blocks) {
      for (const PartSpec& part : block.parts) {
        states += kept_state(part, model.hidden_size).value_or(0) * static_cast<int64_t>(sizeof(float));
        const std::optional<KvLayer> kept = cached_layer(part, DType::f16);
        if (!kept) continue;
        const int64_t bytes = kept->kv_heads * (kept->key_dim + kept->value_dim) * kF16Bytes;
        const bool is_full = kept->retention.kind == Retention::Kind::full;
        (is_full ? all : windows) += bytes;
        sequence += bytes * (is_full ? positions : std::min(positions, kept->retention.size));
      }
    }
  }
  return {{"bytes_per_position", all},
          {"window_bytes_per_position", windows},
          {"state_bytes", states},
          {"sequence_positions", positions},
          {"sequence_bytes", sequence + states}};
}

// The name of the format in which the model writes calls; null for a template that cannot be read.
Json chat_format_of(const ChatTemplateSource& source) {
  try {
    return ChatTemplate::parse(source.text, source.origin).traits().syntax->name;
  } catch (const Error&) {
    return {};
  }
}

Json model_json(const Checkpoint& file) {
  const DecoderSpec model = describe(file);
  int64_t parameters = 0;
  Json types = Json::object();
  for (const CheckpointTensor& tensor : file.tensors()) parameters += tensor.shape.elements();
  for (const auto& [type, bytes] : bytes_by_type(file)) types[type] = bytes;
  Json json = {{"file", file.name()},
               {"name", printable_name(file.find_string("general.name").value_or(""))},
               {"architecture", file.get_string("general.architecture")},
               {"parameters", parameters},
               {"file_bytes", file.file_bytes()},
               {"bytes_by_type", std::move(types)},
               {"context_length", model.context_length},
               {"hidden_size", model.hidden_size},
               {"layers", model.layers.size()},
               {"kv_cache", cache_json(model)}};
  const std::vector<ChatTemplateSource> templates = find_chat_templates(file);
  json["chat_format"] = templates.empty() ? Json() : chat_format_of(templates.front());
  return json;
}

void print_line(const Console& console, std::string_view name, const std::string& value) {
  console.out << fmt::format("{:<14} {}\n", name, without_controls(value));
}

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : json_text(value); }

void print_cache(const Console& console, const Json& cache) {
  if (cache.is_null()) return print_line(console, "KV cache", "none: an encoder computes each text as a whole");
  const auto bytes_of = [&](const char* key) { return cache[key].get<uint64_t>(); };
  const uint64_t windows = bytes_of("window_bytes_per_position"), states = bytes_of("state_bytes");
  print_line(console, "KV cache",
             fmt::format("{} for 1,024 tokens in f16{}", format_bytes(1024 * bytes_of("bytes_per_position")),
                         windows > 0 ? fmt::format(", and {} in the layers that keep a window", format_bytes(1024 * windows)) : ""));
  print_line(console, "a sequence",
             fmt::format("of {} tokens takes {}{}", bytes_of("sequence_positions"), format_bytes(bytes_of("sequence_bytes")),
                         states > 0 ? fmt::format(", {} of it recurrent states in f32", format_bytes(states)) : ""));
}

void print_model(const Console& console, const Json& model) {
  const auto number = [&](const char* key) { return model[key].get<uint64_t>(); };
  print_line(console, "model",
             fmt::format("{}, {}, {} parameters, {}", text_of(model["name"]), text_of(model["architecture"]),
                         format_count(number("parameters")), format_bytes(number("file_bytes"))));
  std::vector<std::string> types;
  for (const auto& [type, bytes] : model["bytes_by_type"].items())
    types.push_back(fmt::format("{} {}", type, format_bytes(bytes.get<uint64_t>())));
  print_line(console, "types", fmt::format("{}", fmt::join(types, ", ")));
  print_line(console, "shape",
             fmt::format("{} layers, hidden size {}, context {}", number("layers"), number("hidden_size"), number("context_length")));
  print_cache(console, model["kv_cache"]);
  print_line(
      console, "chat",
      model["chat_format"].is_null() ? "no chat template" : fmt::format("template, calls of tools as {}", text_of(model["chat_format"])));
}

void print_system(const Console& console, const Json& info) {
  const Json& build = info["build"];
  print_line(console, "wick",
             fmt::format("{} ({}, {}), {}, {}", text_of(build["version"]), text_of(build["commit"]), text_of(build["date"]),
                         text_of(build["compiler"]), text_of(build["build_type"])));
  const Json& machine = info["machine"];
  print_line(console, "machine",
             fmt::format("{} usable cores, {} of memory, {} of it available", machine["usable_cores"].get<int>(),
                         format_bytes(machine["memory_bytes"].get<uint64_t>()), format_bytes(machine["available_bytes"].get<uint64_t>())));
  for (const Json& backend : info["backends"]) {
    print_line(console, "backend",
               fmt::format("{}{}{}", text_of(backend["backend"]),
                           backend.contains("instruction_set") ? " with " + text_of(backend["instruction_set"]) : "",
                           backend.contains("missing") ? ": no device was found: " + text_of(backend["missing"]) : ""));
  }
  std::string remark = "  (auto)";
  for (const Json& device : info["devices"]) {
    const auto memory = device["memory_bytes"].get<uint64_t>();
    print_line(console, "device",
               fmt::format("{}: {}, {}, {}{}", text_of(device["device"]), text_of(device["name"]), text_of(device["driver"]),
                           memory > 0 ? format_bytes(memory) : "unknown memory", remark));
    remark.clear();
  }
  const Json& folders = info["folders"];
  print_line(console, "cache", text_of(folders["cache"]).empty() ? "none" : text_of(folders["cache"]));
  print_line(console, "models",
             fmt::format("{} downloaded; default: {}", folders["downloaded_models"].get<size_t>(),
                         folders["default_model"].is_null() ? "none" : text_of(folders["default_model"])));
  std::vector<std::string> names;
  for (const Json& name : info["variables"]) names.push_back(text_of(name));
  if (!names.empty()) print_line(console, "variables", fmt::format("{}", fmt::join(names, ", ")));
}

}  // namespace

void info_command(Console& console, const Arguments& arguments) {
  std::string path;
  bool json = false;
  Flags flags(
      "Shows what this program is and finds here: its build, backends and devices, memory, folders and the variables WICK_… that are set; "
      "with FILE, what a model is and needs instead. `wick inspect` shows all metadata and tensors of a model, `wick devices` more of "
      "devices.",
      console);
  flags.add_argument("FILE", "a GGUF model, a folder with one, or a Hugging Face folder", path).path();
  add_json(flags, json);
  flags.examples({"wick info", "wick info --json", "wick info models/novelist-20m-q8_0.gguf"});
  if (!flags.parse(arguments)) return;

  Json info;
  if (path.empty()) {
    const std::vector<DetectedDevice> devices = detect_devices(FakeProbe::parse(console.fake_probe));
    info["build"] = {{"version", build_info().version},
                     {"commit", build_info().commit},
                     {"date", build_info().date},
                     {"compiler", build_info().compiler},
                     {"build_type", build_info().build_type}};
    info["machine"] = {
        {"usable_cores", usable_cores()}, {"memory_bytes", physical_memory_bytes()}, {"available_bytes", available_memory_bytes()}};
    info["backends"] = backends_json(devices);
    info["devices"] = Json::array();
    for (const DetectedDevice& device : devices) info["devices"].push_back(device_json(device));
    info["folders"] = folders_json(console);
    info["variables"] = variables_json(console);
  } else {
    info = model_json(Checkpoint::open(resolve_model(console, path)));
  }
  if (json) {
    console.out << json_without_controls(json_text(info, 2)) << '\n';
  } else if (path.empty()) {
    print_system(console, info);
  } else {
    print_model(console, info);
  }
}

}  // namespace wick
