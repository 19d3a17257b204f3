// Where a chat template comes from: a model's files, the names that Wick brings, or a file of the user's.
#include <fmt/format.h>

#include <algorithm>

#include "wick/base/fail.h"
#include "wick/base/fail_with.h"
#include "wick/base/json.h"
#include "wick/base/mapped_file.h"
#include "wick/formats/gguf.h"
#include "wick/text/chat/chat_template.h"
#include "wick/text/chat/named_templates.h"

namespace wick {
namespace {

constexpr size_t kLargestFile = size_t{64} << 20;

std::string read_text(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  if (bytes.size() > kLargestFile)
    fail(ErrorCode::corrupt_file, "{}: {} bytes are too many for a chat template", path.string(), bytes.size());
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// "chat_template" of a JSON file: a text, or a list of {"name", "template"}.
void add_from_json(std::vector<ChatTemplateSource>& found, const std::filesystem::path& path) {
  const auto json = parse_json(read_text(path));
  if (!json.is_object()) fail(ErrorCode::corrupt_file, "{}: not a JSON object; the file is damaged", path.string());
  const auto entry = json.find("chat_template");
  if (entry == json.end() || entry->is_null()) return;
  const std::string origin = path.string() + ": chat_template";
  if (entry->is_string()) {
    found.push_back({"default", entry->get<std::string>(), origin});
    return;
  }
  if (!entry->is_array()) fail(ErrorCode::corrupt_file, "{}: neither a text nor a list of templates", origin);
  for (const nlohmann::json& each : *entry) {
    const bool complete =
        each.is_object() && each.contains("name") && each["name"].is_string() && each.contains("template") && each["template"].is_string();
    if (!complete) fail(ErrorCode::corrupt_file, "{}: an entry has no name or no template", origin);
    found.push_back({each["name"].get<std::string>(), each["template"].get<std::string>(), origin});
  }
}

// The default first; of several that are called alike the first found counts.
std::vector<ChatTemplateSource> in_order(std::vector<ChatTemplateSource> found) {
  std::vector<ChatTemplateSource> result;
  for (ChatTemplateSource& source : found) {
    const bool known =
        std::any_of(result.begin(), result.end(), [&](const ChatTemplateSource& other) { return other.name == source.name; });
    if (!known) result.push_back(std::move(source));
  }
  std::stable_partition(result.begin(), result.end(), [](const ChatTemplateSource& source) { return source.name == "default"; });
  return result;
}

std::string list(const std::vector<std::string_view>& names) { return fmt::format("{}", fmt::join(names, ", ")); }

const ChatTemplateSource* find(const std::vector<ChatTemplateSource>& found, std::string_view name) {
  const auto entry = std::find_if(found.begin(), found.end(), [&](const ChatTemplateSource& source) { return source.name == name; });
  return entry == found.end() ? nullptr : &*entry;
}

ChatTemplate parse(const ChatTemplateSource& source) { return ChatTemplate::parse(source.text, source.origin); }

}  // namespace

std::vector<ChatTemplateSource> find_chat_templates(const GgufFile& file) {
  constexpr std::string_view kKey = "tokenizer.chat_template";
  std::vector<ChatTemplateSource> found;
  const auto add = [&](const std::string& name, const std::string& key) {
    if (const auto text = file.find_string(key)) found.push_back({name, std::string(*text), fmt::format("{}: {}", file.name(), key)});
  };
  add("default", std::string(kKey));
  // The names that are available beside it.
  if (const GgufArray* names = file.find_array("tokenizer.chat_templates"); names != nullptr && names->element_type == GgufType::string) {
    for (const std::string_view name : names->strings) add(std::string(name), fmt::format("{}.{}", kKey, name));
  }
  for (const char* name : {"tool_use", "rag"}) add(name, fmt::format("{}.{}", kKey, name));
  return in_order(std::move(found));
}

std::vector<ChatTemplateSource> find_chat_templates(const std::filesystem::path& folder) {
  std::vector<ChatTemplateSource> found;
  std::error_code ignored;
  const auto exists = [&](const std::filesystem::path& path) { return std::filesystem::is_regular_file(path, ignored); };
  if (const auto path = folder / "chat_template.jinja"; exists(path)) found.push_back({"default", read_text(path), path.string()});
  std::vector<std::filesystem::path> more;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "additional_chat_templates", ignored)) {
    if (entry.path().extension() == ".jinja") more.push_back(entry.path());
  }
  std::sort(more.begin(), more.end());
  for (const auto& path : more) found.push_back({path.stem().string(), read_text(path), path.string()});
  for (const char* name : {"chat_template.json", "tokenizer_config.json"}) {
    if (exists(folder / name)) add_from_json(found, folder / name);
  }
  return in_order(std::move(found));
}

ChatTemplate choose_chat_template(const std::vector<ChatTemplateSource>& found, const std::string& choice, const std::string& model_name,
                                  bool with_tools) {
  if (choice.empty()) {
    const ChatTemplateSource* source = with_tools ? find(found, "tool_use") : nullptr;
    if (source == nullptr) source = find(found, "default");
    if (source == nullptr && found.size() == 1) source = &found.front();
    if (source != nullptr) return parse(*source);
    fail_with({{"choose one by {}: a file, or one of " + list(named_chat_templates()), Setting::chat_template}}, ErrorCode::not_found,
              "{} has no chat template: it was not made for conversations, or the file lacks it", model_name);
  }
  if (const auto text = find_named_template(choice)) return ChatTemplate::parse(*text, "chat template " + choice);
  if (const ChatTemplateSource* source = find(found, choice)) return parse(*source);
  std::error_code ignored;
  if (std::filesystem::is_regular_file(choice, ignored)) return ChatTemplate::parse(read_text(choice), choice);
  fail(ErrorCode::not_found, "no chat template '{}': neither a file nor one of {}", choice, list(named_chat_templates()));
}

}  // namespace wick
