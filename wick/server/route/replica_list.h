// The replicas that a router has: their addresses, from flags, from a JSON file, and from an application of Ray Serve.
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
  std::string key = {};          // its own, which goes to it alone; empty: that of the router
  std::string model = {};        // that it must have; empty: any

  friend bool operator==(const ReplicaAddress& left, const ReplicaAddress& right) {
    return left.name == right.name && left.unix_socket == right.unix_socket && left.url.host == right.url.host &&
           left.url.port == right.url.port && left.url.path == right.url.path && left.url.is_secure == right.url.is_secure &&
           left.key == right.key && left.model == right.model;
  }
};

// "http://host:port", "https://host:port", "unix:/run/worker.sock", or the socket's path alone. `place` is what an error begins with:
// "--replica". Errors: invalid_argument for anything else, and for a URL with a user or a password, which is not repeated.
[[nodiscard]] ReplicaAddress parse_replica(const std::string& place, const std::string& text);

// {"replicas": ["http://10.0.0.1:8080", {"url": "unix:/run/b.sock", "name": "b", "key": "…", "model": "m"}]}; `place` as above:
// "--replicas fleet.json". Errors: invalid_argument naming the place and the member; a key is not repeated.
[[nodiscard]] std::vector<ReplicaAddress> parse_replicas(const std::string& place, std::string_view text);

// The same of a file. Errors: not_found, io, and those above.
[[nodiscard]] std::vector<ReplicaAddress> read_replica_file(const std::filesystem::path& path);

// The address of an application's list: "http://host:port" and the path where the application is. Errors: parse_replica's.
[[nodiscard]] ReplicaAddress parse_application(const std::string& place, const std::string& text);

// Errors: invalid_argument where two have one address or one name.
void check_unique(const std::vector<ReplicaAddress>& replicas);
// The same where there is none, too.
void check_replicas(const std::vector<ReplicaAddress>& replicas);

}  // namespace wick::server
