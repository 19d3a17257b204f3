#include "wick/model/checkpoint/sentence_transformers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/base/mapped_file.h"
#include "wick/formats/printable.h"
#include "wick/formats/sharded_safetensors.h"
#include "wick/model/architectures/architecture.h"
#include "wick/model/checkpoint/pooling.h"

namespace wick {
namespace {

using Json = nlohmann::json;

constexpr const char* kModules = "modules.json";

struct PoolingMode {
  std::string_view key, word;  // "pooling_mode_…": true, and "pooling_mode": "…"
  Pooling pooling;
};

constexpr std::array kModes = {
    PoolingMode{"pooling_mode_mean_tokens", "mean", Pooling::mean},
    PoolingMode{"pooling_mode_cls_token", "cls", Pooling::cls},
    PoolingMode{"pooling_mode_lasttoken", "lasttoken", Pooling::last},
    PoolingMode{"pooling_mode_max_tokens", "max", Pooling::max},
    PoolingMode{"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", Pooling::mean_sqrt},
    PoolingMode{"pooling_mode_weightedmean_tokens", "weightedmean", Pooling::weighted_mean},
};

Json read_json(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) {
    fail(ErrorCode::not_found, "{}: the file is missing, which {} names; download the folder again", path.string(), kModules);
  }
  const auto mapped = MappedFile::open(path);
  return parse_json({reinterpret_cast<const char*>(mapped->bytes().data()), mapped->bytes().size()});
}

// The last word of "sentence_transformers.models.Pooling".
std::string type_of(const Json& module) {
  const auto type = module.find("type");
  if (type == module.end() || !type->is_string()) return {};
  const auto& name = type->get_ref<const std::string&>();
  return name.substr(name.find_last_of('.') + 1);
}

// The flags of older files next to the word of newer ones.
void check_flags(const Json& config, const std::vector<Pooling>& said, const std::string& file) {
  for (const PoolingMode& mode : kModes) {
    const auto flag = config.find(mode.key);
    const bool is_on = flag != config.end() && flag->is_boolean() && flag->get<bool>();
    if (!is_on || std::find(said.begin(), said.end(), mode.pooling) != said.end()) continue;
    fail(ErrorCode::corrupt_file,
         "{}: {} is true and pooling_mode = {}: they contradict each other; keep the one that the model was trained with", file, mode.key,
         ascii_json_text(config["pooling_mode"]).substr(0, 80));
  }
}

Pooling read_mode(const Json& config, const std::string& file) {
  if (!config.is_object()) fail(ErrorCode::corrupt_file, "{}: not a JSON object; download the file again", file);
  std::vector<Pooling> said;
  if (const auto word = config.find("pooling_mode"); word != config.end()) {
    for (const Json& each : word->is_array() ? *word : Json::array({*word})) {
      size_t before = said.size();
      for (const PoolingMode& mode : kModes) {
        if (each.is_string() && each.get_ref<const std::string&>() == mode.word) said.push_back(mode.pooling);
      }
      if (said.size() == before) {
        fail(ErrorCode::unsupported, "{}: pooling_mode = {} is not supported; this version knows mean, cls, lasttoken, max, weightedmean",
             file, ascii_json_text(each).substr(0, 80));
      }
    }
    check_flags(config, said, file);
  } else {
    for (const PoolingMode& mode : kModes) {
      const auto flag = config.find(mode.key);
      if (flag != config.end() && !flag->is_boolean()) {
        fail(ErrorCode::corrupt_file, "{}: {} is {}, but true or false is needed; download the file again", file, mode.key,
             ascii_json_text(*flag).substr(0, 80));
      }
      if (flag != config.end() && flag->get<bool>()) said.push_back(mode.pooling);
    }
  }
  if (said.size() == 1) return said.front();
  fail(ErrorCode::unsupported, "{}: {} modes of pooling are on; this version computes one", file, said.size());
}

const GgufValue* find_value(const Checkpoint::Folder& folder, const char* name) {
  const std::string key = std::string(folder.architecture->name) + "." + name;
  const auto found = std::find_if(folder.metadata.begin(), folder.metadata.end(), [&](const auto& entry) { return entry.first == key; });
  return found == folder.metadata.end() ? nullptr : &found->second;
}

// The length of the tokens' vectors, by the two names that sentence-transformers has had for it.
void check_dimension(const Checkpoint::Folder& folder, const Json& config, const std::string& file) {
  const GgufValue* width = find_value(folder, "embedding_length");
  for (const char* key : {"word_embedding_dimension", "embedding_dimension"}) {
    const auto said = config.find(key);
    if (width == nullptr || said == config.end() || said->is_null()) continue;
    if (said->is_number() && said->get<double>() == as_float(*width)) continue;
    fail(ErrorCode::corrupt_file,
         "{}: {} = {}, and the vectors of config.json's model have {} numbers: the files are of two models; download the folder again",
         file, key, ascii_json_text(*said).substr(0, 80), as_uint(*width).value_or(0));
  }
}

void check_is_pooled_once(const Checkpoint::Folder& folder, const std::filesystem::path& modules, bool again) {
  if (again) fail(ErrorCode::unsupported, "{}: two Pooling modules; this version computes one: take the other out", modules.string());
  if (find_value(folder, "pooling_type") == nullptr) return;
  fail(ErrorCode::corrupt_file,
       "{}: a Pooling module makes vectors of texts, and the class in config.json's architectures gives scores: take {} out to rerank or "
       "classify, or name the class without a head there to embed",
       modules.string(), kModules);
}

void add_pooling(Checkpoint::Folder& folder, Pooling pooling, const std::string& origin) {
  const std::string prefix = std::string(folder.architecture->name) + ".";
  const auto add = [&](const char* name, GgufValue value) {
    folder.origins[prefix + name] = origin;
    folder.metadata.emplace_back(prefix + name, std::move(value));
  };
  switch (pooling) {
    case Pooling::mean: return add("pooling_type", {uint64_t{1}});
    case Pooling::cls: return add("pooling_type", {uint64_t{2}});
    case Pooling::last: return add("pooling_type", {uint64_t{3}});
    case Pooling::max:
    case Pooling::mean_sqrt:
    case Pooling::weighted_mean:
    case Pooling::rank: return add("pooling", {to_string(pooling)});
  }
}

using Texts = std::deque<std::string>;

// The folder's values, with texts that live as long as they do.
std::shared_ptr<Texts> add_texts(Checkpoint::Folder& folder) {
  struct Both {
    std::shared_ptr<const void> before;
    Texts texts;
  };
  const auto both = std::make_shared<Both>(Both{folder.values, {}});
  folder.values = both;
  return {both, &both->texts};
}

void add_text(Checkpoint::Folder& folder, const std::string& name, std::string_view text, const std::string& origin) {
  const std::string key = std::string(folder.architecture->name) + "." + name;
  folder.origins[key] = origin;
  folder.metadata.emplace_back(key, GgufValue{text});
}

// A Dense module as the tensors "dense_N" and its activation.
void add_dense(Checkpoint::Folder& folder, const std::filesystem::path& module, int number) {
  const Json config = read_json(module / "config.json");
  const std::string origin = module.filename().string() + "/config.json: activation_function";
  std::string activation = "Identity";
  if (config.is_object() && config.contains("activation_function") && config["activation_function"].is_string()) {
    activation = config["activation_function"].get<std::string>();
    activation = activation.substr(activation.find_last_of('.') + 1);
  }
  const std::string name = fmt::format("dense_{}", number);
  add_text(folder, name + "_activation", add_texts(folder)->emplace_back(std::move(activation)), origin);
  const ShardedSafetensors stored = ShardedSafetensors::open(module);
  stored.require_all();
  for (const SafetensorsTensor& tensor : stored.tensors()) {
    const bool weight = tensor.name == "linear.weight";
    if (!weight && tensor.name != "linear.bias") {
      fail(ErrorCode::unsupported, "{}: tensor {} is not supported; a Dense module has linear.weight and linear.bias", module.string(),
           printable(tensor.name));
    }
    folder.tensors.push_back({.name = name + (weight ? ".weight" : ".bias"),
                              .stored = module.filename().string() + "/" + tensor.name,
                              .dtype = tensor.dtype,
                              .shape = tensor.shape,
                              .data = tensor.data,
                              .file = tensor.file,
                              .owner = tensor.file});
  }
}

GgufArray array_of(std::vector<std::string_view> texts) {
  return {.element_type = GgufType::string, .size = texts.size(), .packed = {}, .strings = std::move(texts), .arrays = {}};
}

// "config_sentence_transformers.json": the texts that come before a query or a document.
void add_prompts(Checkpoint::Folder& folder) {
  constexpr const char* kFile = "config_sentence_transformers.json";
  const std::filesystem::path path = folder.path / kFile;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return;
  const Json config = read_json(path);
  if (!config.is_object()) fail(ErrorCode::corrupt_file, "{}: not a JSON object; download the file again", path.string());
  const auto prompts = config.find("prompts");
  if (prompts == config.end() || !prompts->is_object()) return;
  const std::shared_ptr<Texts> texts = add_texts(folder);
  std::vector<std::string_view> names, values;
  for (const auto& [name, prompt] : prompts->items()) {
    if (!prompt.is_string() || prompt.get_ref<const std::string&>().empty()) continue;
    names.emplace_back(texts->emplace_back(name));
    values.emplace_back(texts->emplace_back(prompt.get<std::string>()));
  }
  if (names.empty()) return;
  const std::string prefix = std::string(folder.architecture->name) + ".", origin = std::string(kFile) + ": prompts";
  folder.origins[prefix + "prompt_names"] = folder.origins[prefix + "prompt_texts"] = origin;
  folder.metadata.emplace_back(prefix + "prompt_names", GgufValue{array_of(std::move(names))});
  folder.metadata.emplace_back(prefix + "prompt_texts", GgufValue{array_of(std::move(values))});
  const auto by_default = config.find("default_prompt_name");
  if (by_default == config.end() || !by_default->is_string()) return;
  add_text(folder, "default_prompt", texts->emplace_back(by_default->get<std::string>()), std::string(kFile) + ": default_prompt_name");
}

}  // namespace

bool is_sentence_transformer(const std::filesystem::path& folder) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(folder / kModules, ignored);
}

void add_sentence_transformers(Checkpoint::Folder& folder) {
  if (!is_sentence_transformer(folder.path)) return;
  const std::filesystem::path path = folder.path / kModules;
  const Json modules = read_json(path);
  if (!modules.is_array()) fail(ErrorCode::corrupt_file, "{}: not a list of modules; download the file again", path.string());
  add_prompts(folder);
  int last_dense = 1;
  bool is_pooled = false;
  for (const Json& module : modules) {
    const std::string type = module.is_object() ? type_of(module) : std::string();
    // The model itself, and vectors of length 1, which embeddings are anyway.
    if (type == "Transformer" || type == "Normalize") continue;
    if (type != "Pooling" && type != "Dense") {
      fail(ErrorCode::unsupported, "{}: a module of type {} is not supported; this version knows Transformer, Pooling, Dense and Normalize",
           path.string(), printable(type));
    }
    const auto folder_name = module.find("path");
    const std::string name = folder_name != module.end() && folder_name->is_string() ? folder_name->get<std::string>() : std::string();
    if (name.empty() || name == ".." || name.find_first_of("/\\") != std::string::npos) {
      fail(ErrorCode::corrupt_file, "{}: the path of a module is {}: the name of a folder next to the file is needed", path.string(),
           printable(name));
    }
    const std::filesystem::path file = folder.path / name / "config.json";
    if (type == "Dense") {
      add_dense(folder, folder.path / name, ++last_dense);
      continue;
    }
    check_is_pooled_once(folder, path, std::exchange(is_pooled, true));
    const Json config = read_json(file);
    const Pooling pooling = read_mode(config, file.string());
    if (last_dense == 1) check_dimension(folder, config, file.string());
    add_pooling(folder, pooling, name + "/config.json: pooling_mode");
  }
}

}  // namespace wick
