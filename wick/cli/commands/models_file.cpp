#include "wick/cli/commands/models_file.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "wick/base/fail.h"
#include "wick/cli/hub/model_path.h"
#include "wick/cli/load_model.h"
#include "wick/cli/text_input.h"
#include "wick/model/checkpoint/checkpoint.h"
#include "wick/server/api_error.h"
#include "wick/server/fields.h"
#include "wick/server/json.h"
#include "wick/text/chat/chat_template.h"

namespace wick {
namespace {

using server::Fields;
using server::Json;

constexpr size_t kMaxNames = 1000;
constexpr int64_t kMaxNumber = std::numeric_limits<int32_t>::max();
constexpr uint64_t kMebibyte = 1U << 20U;

constexpr std::array<std::string_view, 3> kFileMembers = {"models", "max_loaded", "memory"};
constexpr std::array<std::string_view, 14> kModelMembers = {"name",          "path",     "aliases",     "kind",         "preload",
                                                            "context",       "parallel", "kv_memory",   "unload_after", "pooling",
                                                            "chat_template", "lora",     "draft_model", "draft_tokens"};
// Known elsewhere, and not here: the reason is said instead of the list of members.
constexpr std::string_view kImageMember = "mmproj";

template <size_t size>
void refuse_unknown(Fields& fields, const Json& object, const std::array<std::string_view, size>& known) {
  if (!object.is_object()) return;
  std::string all;
  for (const std::string_view name : known) all += fmt::format("{}{}", all.empty() ? "" : ", ", name);
  for (const auto& [name, value] : object.items()) {
    if (name == kImageMember) {
      fields.violate(name, "this version reads no images; leave it out, and the model serves texts");
    } else if (std::find(known.begin(), known.end(), name) == known.end()) {
      fields.violate(name, fmt::format("is no member; there are {}", all));
    }
  }
}

uint64_t mebibytes(uint64_t bytes) { return (bytes + kMebibyte - 1) / kMebibyte; }

class Reader {
 public:
  Reader(const Console& console, std::filesystem::path path) : console_(console), path_(std::move(path)) {}

  ModelsFile read(uint64_t machine_bytes) {
    Json json;
    ModelsFile file;
    try {
      json = server::parse_body(read_text_file(path_));
      Fields fields(json);
      refuse_unknown(fields, json, kFileMembers);
      file.max_loaded = fields.integer("max_loaded", 0, kMaxNumber).value_or(0);
      file.memory_bytes = static_cast<uint64_t>(fields.integer("memory", 1, kMaxNumber).value_or(0)) * kMebibyte;
      fields.require("models");
      const Json* const models = fields.list("models");
      if (models != nullptr && models->empty()) fields.violate("models", "must hold at least one model");
      fields.check();
      for (const Json& model : json.at("models")) file.models.push_back(read_model(model, file.models.size()));
    } catch (const server::ApiError& error) {
      // The reader of requests calls a whole text its body.
      constexpr std::string_view kBody = "the body";
      std::string message = error.what();
      if (message.starts_with(kBody)) message = "the file" + message.substr(kBody.size());
      fail(ErrorCode::invalid_argument, "--models {}: {}", path_.string(), message);
    }
    check_names(file);
    for (size_t i = 0; i < file.models.size(); ++i) check_files(file.models[i], i, file, machine_bytes);
    return file;
  }

 private:
  static std::string place(size_t index) { return fmt::format("models[{}]", index); }
  [[noreturn]] void refuse(size_t index, std::string_view member, const std::string& message) const {
    fail(ErrorCode::invalid_argument, "--models {}: {}.{}: {}", path_.string(), place(index), member, message);
  }

  // As the file spells it, or in its folder.
  [[nodiscard]] std::string located(const std::string& named) const {
    if (named.empty() || named.starts_with("hf://") || std::filesystem::path(named).is_absolute()) return named;
    return (path_.parent_path() / named).string();
  }

  ModelsFileEntry read_model(const Json& json, size_t index) const {
    Fields fields(json, place(index));
    refuse_unknown(fields, json, kModelMembers);
    ModelsFileEntry entry;
    for (const char* name : {"name", "path"}) {
      if (fields.require(name) && json[name].is_string() && json[name].get<std::string>().empty())
        fields.violate(name, "must not be empty");
    }
    entry.name = fields.text("name").value_or("");
    entry.path = located(fields.text("path").value_or(""));
    entry.aliases = fields.texts("aliases", kMaxNames);
    const std::string kind = fields.text("kind").value_or("text");
    if (kind != "text" && kind != "embedding") fields.violate("kind", "must be text or embedding");
    entry.only_embeds = kind == "embedding";
    entry.is_preloaded = fields.boolean("preload").value_or(false);
    entry.context = fields.integer("context", 1, kMaxNumber);
    entry.parallel = fields.integer("parallel", 1, 1024);
    entry.kv_mib = fields.integer("kv_memory", 1, kMaxNumber);
    entry.unload_seconds = fields.integer("unload_after", 0, 1'000'000);
    if (const auto word = fields.text("pooling")) {
      entry.embeds_each_token = *word == kNoPooling;
      entry.pooling = parse_pooling(*word);
      if (!entry.pooling && !entry.embeds_each_token) {
        fields.violate("pooling", fmt::format("must be one of {}, {}", pooling_words(), kNoPooling));
      }
    }
    entry.chat_template = fields.text("chat_template").value_or("");
    entry.draft_model = located(fields.text("draft_model").value_or(""));
    entry.draft_tokens = fields.integer("draft_tokens", 0, 256);
    read_adapters(fields, entry);
    fields.check();
    return entry;
  }

  void read_adapters(Fields& fields, ModelsFileEntry& entry) const {
    const Json* const adapters = fields.object("lora");
    if (adapters == nullptr) return;
    for (const auto& [name, file] : adapters->items()) {
      if (!file.is_string() || name.empty() || file.get<std::string>().empty()) {
        fields.violate("lora", "must be an object of names and files");
        return;
      }
      entry.adapter_names.push_back(name);
      entry.adapters.push_back(name + "=" + located(file.get<std::string>()));
    }
  }

  // A request names a model by one text, so each name has one meaning.
  void check_names(const ModelsFile& file) const {
    std::map<std::string, std::string> owners;
    for (size_t i = 0; i < file.models.size(); ++i) {
      const ModelsFileEntry& entry = file.models[i];
      const auto add = [&](std::string_view member, const std::string& name) {
        const auto [found, is_new] = owners.emplace(name, fmt::format("{}.{}", place(i), member));
        if (!is_new) refuse(i, member, fmt::format("\"{}\" is {} already; give each model a name of its own", name, found->second));
      };
      add("name", entry.name);
      for (const std::string& name : entry.aliases) add("aliases", name);
      for (const std::string& name : entry.adapter_names) add("lora", name);
    }
  }

  [[nodiscard]] std::filesystem::path located_model(size_t index, std::string_view member, const std::string& named) const {
    try {
      return resolve_model(console_, named);
    } catch (const Error& error) {
      fail(error.code(), "--models {}: {}.{}: {}", path_.string(), place(index), member, error.what());
    }
  }

  [[nodiscard]] Checkpoint open(size_t index, std::string_view member, const std::filesystem::path& path) const {
    try {
      return Checkpoint::open(path);
    } catch (const Error& error) {
      fail(error.code(), "--models {}: {}.{}: {}", path_.string(), place(index), member, error.what());
    }
  }

  void check_files(ModelsFileEntry& entry, size_t index, const ModelsFile& file, uint64_t machine_bytes) const {
    entry.path = located_model(index, "path", entry.path.string());
    const Checkpoint model = open(index, "path", entry.path);
    entry.bytes = model.file_bytes();
    if (!entry.draft_model.empty()) {
      const std::filesystem::path draft = located_model(index, "draft_model", entry.draft_model);
      std::error_code ignored;
      if (std::filesystem::equivalent(draft, entry.path, ignored)) {
        refuse(index, "draft_model", "is the model itself, which would propose tokens to itself; name a smaller one, or leave it out");
      }
      entry.bytes += open(index, "draft_model", draft).file_bytes();
    }
    for (const std::string& adapter : entry.adapters) {
      const std::string named = adapter.substr(adapter.find('=') + 1);
      if (!std::filesystem::exists(named)) refuse(index, "lora", fmt::format("{}: there is no such file", named));
    }
    if (!entry.chat_template.empty()) {
      try {
        (void)choose_chat_template(find_chat_templates(model), entry.chat_template, entry.name);
      } catch (const Error& error) {
        refuse(index, "chat_template", error.what());
      }
    }
    check_memory(entry, index, file, machine_bytes);
  }

  void check_memory(const ModelsFileEntry& entry, size_t index, const ModelsFile& file, uint64_t machine_bytes) const {
    const uint64_t needed = entry.bytes + static_cast<uint64_t>(entry.kv_mib.value_or(0)) * kMebibyte;
    const uint64_t limit = file.memory_bytes != 0 ? file.memory_bytes : machine_bytes;
    if (limit == 0 || needed <= limit) return;
    const std::string owner = file.memory_bytes != 0 ? "memory of the file allows" : "this machine has";
    refuse(index, "path",
           fmt::format("{} needs {} MiB for its weights and KV cache, and {} {} MiB; take a smaller model or quantization{}", entry.name,
                       mebibytes(needed), owner, limit / kMebibyte, file.memory_bytes != 0 ? ", or raise memory" : ""));
  }

  const Console& console_;
  std::filesystem::path path_;
};

}  // namespace

ModelsFile read_models_file(const Console& console, const std::filesystem::path& path, uint64_t machine_bytes) {
  return Reader(console, path).read(machine_bytes);
}

}  // namespace wick
