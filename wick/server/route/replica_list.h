// The replicas that a router has: their addresses, from flags and from a JSON file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "wick/server/http_client.h"

namespace wick::server {

struct ReplicaAddress {
  std::string name = {};         // in logs, metrics and errors: its own in the file, else the URL
  HttpUrl url = {};              // without a host for a Unix socket
  std::string unix_socket = {};  // a path

  friend bool operator==(const ReplicaAddress& left, const ReplicaAddress& right) {
    return left.name == right.name && left.unix_socket == right.unix_socket && left.url.host == right.url.host &&
           left.url.port == right.url.port && left.url.path == right.url.path;
  }
};

// "http://host:port", "unix:/run/worker.sock", or the socket's path alone. `place` is what an error begins with: "--replica".
// Errors: invalid_argument for anything else, and for a URL with a user or a password, which is not repeated.
[[nodiscard]] ReplicaAddress parse_replica(const std::string& place, const std::string& text);

// {"replicas": ["http://10.0.0.1:8080", {"url": "unix:/run/b.sock", "name": "b"}]}; `place` as above: "--replicas fleet.json".
// Errors: invalid_argument naming the place and the member.
[[nodiscard]] std::vector<ReplicaAddress> parse_replicas(const std::string& place, std::string_view text);

// The same of a file. Errors: not_found, io, and those above.
[[nodiscard]] std::vector<ReplicaAddress> read_replica_file(const std::filesystem::path& path);

// Errors: invalid_argument where two have one address or one name, and where there is none.
void check_replicas(const std::vector<ReplicaAddress>& replicas);

}  // namespace wick::server
