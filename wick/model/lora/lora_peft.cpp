// A PEFT folder as a LoraAdapter: adapter_config.json and adapter_model.safetensors, as Hugging Face's peft writes them.
#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <system_error>

#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/base/log.h"
#include "wick/base/mapped_file.h"
#include "wick/formats/printable.h"
#include "wick/formats/safetensors.h"
#include "wick/formats/strict_json.h"
#include "wick/model/checkpoint/hugging_face.h"
#include "wick/model/lora/lora_pairs.h"

namespace wick {
namespace {

using PeftJson = nlohmann::json;

constexpr size_t kMaxConfigBytes = 16 << 20;
constexpr int kMaxConfigDepth = 16;

// Keys that are read, or that change nothing once an adapter is trained. Any other key must say nothing (null, false, 0, empty): what it
// says may change what is computed (use_dora, lora_bias, modules_to_save …).
constexpr std::array<std::string_view, 30> kKnownKeys = {"peft_type",
                                                         "r",
                                                         "lora_alpha",
                                                         "use_rslora",
                                                         "rank_pattern",
                                                         "alpha_pattern",
                                                         "bias",
                                                         "init_lora_weights",
                                                         "target_modules",
                                                         "exclude_modules",
                                                         "auto_mapping",
                                                         "base_model_name_or_path",
                                                         "task_type",
                                                         "peft_version",
                                                         "revision",
                                                         "inference_mode",
                                                         "lora_dropout",
                                                         "fan_in_fan_out",
                                                         "layers_pattern",
                                                         "layers_to_transform",
                                                         "megatron_core",
                                                         "megatron_config",
                                                         "loftq_config",
                                                         "eva_config",
                                                         "corda_config",
                                                         "lora_ga_config",
                                                         "runtime_config",
                                                         "qalora_group_size",
                                                         "ensure_weight_tying",
                                                         "ephemeral_gpu_offload"};

bool is_silent(const PeftJson& value) {
  if (value.is_null()) return true;
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number()) return value.get<double>() == 0;
  return value.empty() || (value.is_string() && value.get_ref<const std::string&>().empty());
}

std::string shortened(const PeftJson& value) {
  std::string text = ascii_json_text(value);
  if (text.size() > 80) text = text.substr(0, 80) + "…";
  return text;
}

class PeftConfig {
 public:
  PeftConfig(const PeftJson& json, std::string name) : json_(json), name_(std::move(name)) { check(); }

  // alpha / rank of the module "model.layers.0.self_attn.q_proj". Errors: corrupt_file for a rank other than the tensors'.
  [[nodiscard]] double scale_of(const std::string& module, int64_t rank) const {
    const double said = number(pattern(module, "rank_pattern", "r"), "r");
    if (said != static_cast<double>(rank)) {
      fail(ErrorCode::corrupt_file, "{}: the rank of {} is {}, and its tensors have {}; the files do not belong together", name_,
           printable_name(module), said, rank);
    }
    const double alpha = number(pattern(module, "alpha_pattern", "lora_alpha"), "lora_alpha");
    const auto rslora = json_.find("use_rslora");
    const bool by_root = rslora != json_.end() && !is_silent(*rslora);
    return alpha / (by_root ? std::sqrt(static_cast<double>(rank)) : static_cast<double>(rank));
  }
  [[nodiscard]] double alpha() const { return number(json_.at("lora_alpha"), "lora_alpha"); }

 private:
  void check() const {
    const auto text = [&](const char* key) -> std::string {
      const auto found = json_.find(key);
      return found != json_.end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    if (text("peft_type") != "LORA") refuse("peft_type", "only LORA is supported");
    if (json_.contains("bias") && text("bias") != "none") refuse("bias", "adapters with biases are not supported; only none is");
    const std::string start = text("init_lora_weights");
    if (!start.empty() && start != "gaussian" && start != "eva" && start != "orthogonal") {
      refuse("init_lora_weights",
             "such an adapter is for changed weights of the model; save it converted (peft's "
             "path_initial_model_for_weight_conversion)");
    }
    for (const char* key : {"r", "lora_alpha"}) {
      if (!json_.contains(key)) fail(ErrorCode::corrupt_file, "{}: no {}; save the adapter again", name_, key);
    }
    for (const auto& [key, value] : json_.items()) {
      if (is_silent(value) || std::find(kKnownKeys.begin(), kKnownKeys.end(), key) != kKnownKeys.end()) continue;
      refuse(key, "this version does not compute that; merge the adapter into the model with peft");
    }
  }

  // What a pattern says of a module, which ends with one of its keys; else the value for all.
  [[nodiscard]] const PeftJson& pattern(const std::string& module, const char* patterns, const char* otherwise) const {
    const auto found = json_.find(patterns);
    if (found == json_.end() || is_silent(*found)) return json_.at(otherwise);
    if (!found->is_object()) refuse(patterns, "an object is needed");
    for (const auto& [key, value] : found->items()) {
      if (key.find_first_of("^$*+?[](){}|\\") != std::string::npos) refuse(patterns, "regular expressions are not supported; name modules");
      if (module == key || module.ends_with("." + key)) return value;
    }
    return json_.at(otherwise);
  }
  [[nodiscard]] double number(const PeftJson& value, const char* key) const {
    const double number = value.is_number() ? value.get<double>() : 0;
    if (!(number > 0) || !std::isfinite(number)) {
      fail(ErrorCode::corrupt_file, "{}: {} = {}: a number above 0 is needed", name_, key, shortened(value));
    }
    return number;
  }
  [[noreturn]] void refuse(const std::string& key, std::string_view why) const {
    const auto found = json_.find(key);
    fail(ErrorCode::unsupported, "{}: {} = {}: {}", name_, printable_name(key), found == json_.end() ? "nothing" : shortened(*found), why);
  }

  const PeftJson& json_;
  std::string name_;
};

struct PeftName {
  std::string module;  // "model.layers.0.self_attn.q_proj"
  bool is_a = false;
};

// "base_model.model.<module>.lora_A.weight". Errors: unsupported for another name.
PeftName name_of(const std::string& file, std::string_view stored) {
  constexpr std::string_view kPrefix = "base_model.model.", kA = ".lora_A.weight", kB = ".lora_B.weight";
  std::string_view name = stored;
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  if (!name.ends_with(kA) && !name.ends_with(kB)) {
    fail(ErrorCode::unsupported,
         "{}: tensor '{}' is neither a lora_A nor a lora_B of a linear layer; merge the adapter into the model with peft", file,
         printable_name(stored));
  }
  return {std::string(name.substr(0, name.size() - kA.size())), name.ends_with(kA)};
}

}  // namespace

void LoraAdapter::read_peft(const std::filesystem::path& folder, const Architecture& architecture) {
  const std::filesystem::path config_path = folder / "adapter_config.json", tensors_path = folder / "adapter_model.safetensors";
  std::error_code ignored;
  if (!std::filesystem::exists(tensors_path, ignored) && std::filesystem::exists(folder / "adapter_model.bin", ignored)) {
    fail(ErrorCode::unsupported, "{}: adapter_model.bin holds a pickle; save the adapter as adapter_model.safetensors", name_);
  }
  const auto config_file = MappedFile::open(config_path);
  const std::string config_name = config_path.string();
  if (config_file->bytes().size() > kMaxConfigBytes) {
    fail(ErrorCode::corrupt_file, "{}: {} bytes are no configuration; the most is {}", config_name, config_file->bytes().size(),
         kMaxConfigBytes);
  }
  const PeftJson json =
      parse_strict_json(config_file->bytes(), kMaxConfigDepth, {config_name, "the configuration", 0, "save the adapter again"});
  if (!json.is_object()) fail(ErrorCode::corrupt_file, "{}: no JSON object; save the adapter again", config_name);
  const PeftConfig config(json, config_name);
  auto file = std::make_shared<const SafetensorsFile>(SafetensorsFile::open(tensors_path));
  file->require_all();
  LoraPairs pairs(name_);
  std::map<std::string, std::string> modules;  // by canonical name
  for (const SafetensorsTensor& tensor : file->tensors()) {
    if (tensor.name.ends_with(".base_layer.weight")) {
      log_warning("{}: tensor '{}' is the model's own weight; the model that was loaded is used", name_, printable_name(tensor.name));
      continue;
    }
    const PeftName name = name_of(name_, tensor.name);
    const CanonicalTensor canonical = canonical_tensor(name.module + ".weight", architecture.hugging_face);
    // Of experts and of what is stored otherwise there is no weight to adapt, under no name.
    const bool grouped = architecture.hugging_face.qkv_by_group && canonical.name.find(".attn_qkv.") != std::string::npos;
    const bool adaptable = canonical.form == StoredForm::as_it_is && canonical.expert < 0 && !grouped;
    const std::string weight = adaptable ? canonical.name : name.module + ".weight";
    modules[weight] = name.module;
    pairs.add(weight, name.is_a, {tensor.name, tensor.dtype, tensor.shape, tensor.data});
  }
  pairs_ = std::move(pairs).checked();
  for (LoraPair& pair : pairs_) pair.scale = config.scale_of(modules.at(pair.weight), pair.a.shape[0]);
  alpha_ = config.alpha();
  rope_style_ = architecture.hugging_face.rope;
  qkv_by_head_ = architecture.hugging_face.qkv_by_head;
  file_ = std::move(file);
}

}  // namespace wick
