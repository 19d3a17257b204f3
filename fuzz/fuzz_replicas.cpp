// Reads any bytes as the list of replicas of `wick route`, of a file or an application, and as the text of one --replica; only wick::Error
// may come of it. Names of an accepted list differ, and the header that is made of it ends only at its end.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "outcome.h"
#include "wick/base/error.h"
#include "wick/server/route/replica_list.h"
#include "wick/server/route/upstream_message.h"

namespace {

void check(const wick::server::ReplicaAddress& replica) {
  constexpr std::string_view kEnd = "\r\n\r\n";
  const std::string head = wick::server::upstream_head("GET", "/v1/ready", replica, {});
  if (head.find(kEnd) + kEnd.size() != head.size() || head.find('\0') != std::string::npos) std::abort();
  const wick::server::HttpRequest request;
  const std::string passed = wick::server::upstream_head(request, 0, replica, {.key = "other"});
  if (passed.find(kEnd) + kEnd.size() != passed.size() || passed.find("Bearer ") != passed.rfind("Bearer ")) std::abort();
  if (replica.name.empty() || (replica.unix_socket.empty() && replica.url.host.empty())) std::abort();
}

bool reads_list(std::string_view text) {
  try {
    const std::vector<wick::server::ReplicaAddress> replicas = wick::server::parse_replicas("input", text);
    for (const wick::server::ReplicaAddress& replica : replicas) check(replica);
    wick::server::check_replicas(replicas);
    std::set<std::string> names;
    for (const wick::server::ReplicaAddress& replica : replicas) {
      if (!names.insert(replica.name).second) std::abort();
    }
    return true;
  } catch (const wick::Error&) {
    return false;
  }
}

bool reads_address(std::string_view text) {
  try {
    const wick::server::ReplicaAddress replica = wick::server::parse_replica("input", std::string(text));
    check(replica);
    // Without one of its own, a replica's name is its address.
    if (!(wick::server::parse_replica("input", replica.name) == replica)) std::abort();
    return true;
  } catch (const wick::Error&) {
    return false;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const bool is_list = reads_list(text);
  const bool is_address = reads_address(text);
  ++(is_list || is_address ? wick::fuzz::outcome.accepted : wick::fuzz::outcome.refused);
  return 0;
}
