#include "wick/server/route/replica_list.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <system_error>
#include <utility>

#include "wick/base/ascii.h"
#include "wick/base/fail.h"
#include "wick/server/api_error.h"
#include "wick/server/fields.h"
#include "wick/server/json.h"

namespace wick::server {
namespace {

constexpr std::string_view kUnixScheme = "unix:";
// The longest path that a socket's address holds (unix(7)).
constexpr size_t kMaxSocketPath = 107;
constexpr size_t kMaxReplicaName = 200;
constexpr size_t kMaxReplicaKey = 4096;
constexpr uint64_t kMaxReplicaFile = uint64_t{16} << 20U;

std::string address_of(const ReplicaAddress& replica) {
  if (!replica.unix_socket.empty()) return fmt::format("{}{}", kUnixScheme, replica.unix_socket);
  return replica.url.origin() + replica.url.path;
}

ReplicaAddress parse_socket(const std::string& place, std::string path) {
  if (path.empty() || path.find('\0') != std::string::npos) {
    fail(ErrorCode::invalid_argument, "{} {}: a socket's path is missing; give one such as unix:/run/worker.sock", place, kUnixScheme);
  }
  if (path.size() > kMaxSocketPath) {
    fail(ErrorCode::invalid_argument, "{} {}{}: the path is too long for a socket; {} bytes are allowed", place, kUnixScheme, path,
         kMaxSocketPath);
  }
  ReplicaAddress replica;
  replica.unix_socket = std::move(path);
  replica.name = address_of(replica);
  return replica;
}

// It goes into a field of HTTP. What is wrong with it is said without it.
std::string read_key(Fields& fields) {
  const Json* const json = fields.find("key");
  if (json == nullptr) return {};
  const auto is_visible = [](char c) { return c > ' ' && c < '\x7f'; };
  std::string key = json->is_string() ? json->get<std::string>() : std::string();
  if (!key.empty() && key.size() <= kMaxReplicaKey && std::ranges::all_of(key, is_visible)) return key;
  fields.violate_path(fields.path_of("key"), fmt::format("must be a text of 1 to {} visible characters of ASCII", kMaxReplicaKey));
  return {};
}

ReplicaAddress read_replica(const std::string& place, const Json& json, size_t index) {
  const std::string member = fmt::format("replicas[{}]", index);
  if (json.is_string()) return parse_replica(fmt::format("{}: {}:", place, member), json.get<std::string>());
  Fields fields(json, member);
  if (json.is_object()) {
    for (const auto& [name, value] : json.items()) {
      if (name != "url" && name != "name" && name != "key" && name != "model") {
        fields.violate(name, "is no member; there are url, name, key, model");
      }
    }
  }
  fields.require("url");
  const std::string url = fields.text("url").value_or("");
  const std::optional<std::string> name = fields.text("name");
  const auto is_plain = [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != '\x7f'; };
  if (name && (name->empty() || name->size() > kMaxReplicaName || !std::ranges::all_of(*name, is_plain))) {
    fields.violate("name", fmt::format("must be a text of 1 to {} characters on one line", kMaxReplicaName));
  }
  const std::string key = read_key(fields);
  const std::string model = fields.text("model").value_or("");
  fields.check();
  ReplicaAddress replica = parse_replica(fmt::format("{}: {}.url", place, member), url);
  if (name) replica.name = *name;
  replica.key = key;
  replica.model = model;
  return replica;
}

}  // namespace

ReplicaAddress parse_replica(const std::string& place, const std::string& text) {
  if (text.starts_with(kUnixScheme)) return parse_socket(place, text.substr(kUnixScheme.size()));
  if (text.find("://") == std::string::npos && text.find('/') != std::string::npos) return parse_socket(place, text);
  const size_t scheme = text.find("://");
  const std::string_view authority = scheme == std::string::npos ? std::string_view(text) : std::string_view(text).substr(scheme + 3);
  if (authority.substr(0, authority.find('/')).find('@') != std::string_view::npos) {
    fail(ErrorCode::invalid_argument, "{}: a replica's URL has no user and no password; give its key by --replica-key", place);
  }
  ReplicaAddress replica;
  replica.url = parse_http_url(place, text);
  if (replica.url.path.find_first_of("?#") != std::string::npos || std::stoi(replica.url.port) == 0 ||
      std::stoi(replica.url.port) > 65535) {
    fail(ErrorCode::invalid_argument, "{} {}: not an address; give one such as http://127.0.0.1:8080", place, text);
  }
  replica.url.host = ascii_lowercase(replica.url.host);
  replica.name = address_of(replica);
  return replica;
}

std::vector<ReplicaAddress> parse_replicas(const std::string& place, std::string_view text) {
  std::vector<ReplicaAddress> replicas;
  try {
    const Json json = parse_body(text);
    Fields fields(json);
    if (json.is_object()) {
      for (const auto& [name, value] : json.items()) {
        if (name != "replicas") fields.violate(name, "is no member; there is replicas");
      }
    }
    fields.require("replicas");
    const Json* const list = fields.list("replicas");
    fields.check();
    for (const Json& one : *list) replicas.push_back(read_replica(place, one, replicas.size()));
  } catch (const ApiError& error) {
    // The reader of requests calls a whole text its body.
    constexpr std::string_view kBody = "the body";
    std::string message = error.what();
    if (message.starts_with(kBody)) message = "the list" + message.substr(kBody.size());
    fail(ErrorCode::invalid_argument, "{}: {}", place, message);
  }
  return replicas;
}

std::vector<ReplicaAddress> read_replica_file(const std::filesystem::path& path) {
  const std::string place = fmt::format("--replicas {}", path.string());
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file) fail(ErrorCode::not_found, "{}: cannot be read; check the path", place);
  if (bytes > kMaxReplicaFile) fail(ErrorCode::invalid_argument, "{}: larger than the {} bytes of a list", place, kMaxReplicaFile);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) fail(ErrorCode::io, "{}: cannot be read", place);
  return parse_replicas(place, text);
}

ReplicaAddress parse_application(const std::string& place, const std::string& text) {
  ReplicaAddress application = parse_replica(place, text);
  if (!application.unix_socket.empty()) {
    fail(ErrorCode::invalid_argument, "{} {}: not an address of an application; give one such as http://127.0.0.1:8000", place, text);
  }
  return application;
}

void check_replicas(const std::vector<ReplicaAddress>& replicas) {
  if (replicas.empty()) {
    fail(ErrorCode::invalid_argument,
         "no replicas: give --replica URL for each, --replicas FILE with a list that is not empty, or --serve URL of an application");
  }
  check_unique(replicas);
}

void check_unique(const std::vector<ReplicaAddress>& replicas) {
  std::map<std::string, bool> names;
  std::map<std::string, bool> addresses;
  for (const ReplicaAddress& replica : replicas) {
    if (!addresses.emplace(address_of(replica), true).second) {
      fail(ErrorCode::invalid_argument, "replica {}: another one has the same address; give each once", address_of(replica));
    }
    if (!names.emplace(replica.name, true).second) {
      fail(ErrorCode::invalid_argument, "replica {}: another one has the same name; give each its own", replica.name);
    }
  }
}

}  // namespace wick::server
