#include "wick/cli/hub/model_path.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "wick/base/fail.h"
#include "wick/cli/hub/model_hub.h"
#include "wick/formats/split_name.h"
#include "wick/model/checkpoint/hugging_face.h"
#include "wick/text/tokenizer/special_tokens.h"

namespace wick {
namespace {

constexpr std::string_view kDefaultModel = "novelist-20m-q8_0.gguf";

bool is_file(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

bool is_later_part(const std::string& name) {
  const std::optional<SplitName> part = SplitName::parse(name);
  return part && part->number != 1;
}

std::filesystem::path only_model_of(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (at->path().extension() == ".gguf" && is_file(at->path()) && !is_later_part(name)) names.push_back(name);
  }
  if (error) fail(ErrorCode::io, "{}: cannot read the folder: {}", folder.string(), error.message());
  if (names.empty() && is_hugging_face_folder(folder)) return folder;
  if (names.empty()) fail(ErrorCode::not_found, "{}: a folder with neither a .gguf file nor a config.json; name a model", folder.string());
  std::sort(names.begin(), names.end());
  if (names.size() > 1) {
    const size_t shown = std::min<size_t>(names.size(), 8);
    fail(ErrorCode::invalid_argument, "{}: a folder with {} .gguf files; name one of them: {}{}", folder.string(), names.size(),
         fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "), names.size() > shown ? ", …" : "");
  }
  return folder / names.front();
}

}  // namespace

std::filesystem::path find_default_model(const std::filesystem::path& executable) {
  const std::filesystem::path folder = executable.parent_path();
  if (folder.empty()) return {};
  std::filesystem::path installed = folder.parent_path() / "share" / "wick" / "models" / kDefaultModel;
  if (is_file(installed)) return installed;
  for (std::filesystem::path at = folder;; at = at.parent_path()) {
    std::filesystem::path candidate = at / "models" / kDefaultModel;
    if (is_file(candidate)) return candidate;
    if (at == at.parent_path()) return {};
  }
}

std::filesystem::path resolve_model(const Console& console, const std::string& named) {
  if (named.empty()) {
    std::filesystem::path model = find_default_model(console.executable);
    if (model.empty()) {
      fail(ErrorCode::not_found,
           "no --model is given and the default model {} lies neither in ../share/wick/models nor in a models folder above {}",
           kDefaultModel,
           console.executable.empty() ? "this program, whose folder is not known" : console.executable.parent_path().string());
    }
    console.note(fmt::format("no --model given: using the default model {}", model.string()));
    return model;
  }
  return resolve_named(console, named);
}

std::filesystem::path resolve_named(const Console& console, const std::string& named, std::function<void()> check) {
  if (HubReference::is_one(named)) return resolve_hub(console, named, std::move(check));
  std::error_code ignored;
  if (std::filesystem::is_directory(named, ignored)) return only_model_of(named);
  if (!std::filesystem::exists(named, ignored) && (named.starts_with("hf.co/") || named.find("://") != std::string::npos)) {
    fail(ErrorCode::not_found,
         "{}: no such file; models of a hub are hf://OWNER/NAME or hf://OWNER/NAME:FILE, those of packages pypi://NAME; others are not "
         "downloaded",
         named);
  }
  return named;
}

std::filesystem::path resolve_hub(const Console& console, const std::string& named, std::function<void()> check) {
  if (!HubReference::is_one(named)) return named;
  const HubReference reference = HubReference::parse(named);
  const ModelHub hub(console, std::move(check));
  if (const auto here = hub.find(reference)) return *here;
  console.note(fmt::format("{} is not here: downloading it", reference.to_string()));
  return hub.pull(reference);
}

std::filesystem::path resolve_tokenizer(const Console& console, const std::string& named) {
  if (!named.empty() && !HubReference::is_one(named)) {
    std::error_code ignored;
    if (std::filesystem::is_directory(named, ignored) && find_tokenizer_file(named)) return named;
  }
  return resolve_model(console, named);
}

}  // namespace wick
