// The messages of a router to and from replicas: what is passed on of a request's and a response's header.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "wick/server/api_error.h"
#include "wick/server/http_message.h"
#include "wick/server/route/replica_list.h"

namespace wick::server {

// A key that the router sends to replicas without one of their own in place of its clients'. `hides_client_key`: without one, a client's
// key is not sent on, either.
struct ReplicaKey {
  std::string key = {};
  bool hides_client_key = false;
};

// The request line and the fields of a request as a replica gets it; a HEAD becomes a GET, of whose response the server drops the body.
[[nodiscard]] std::string upstream_head(const HttpRequest& request, size_t body_bytes, const ReplicaAddress& to, const ReplicaKey& key);
// The same for a question of the router's own: "GET" and "/v1/ready".
[[nodiscard]] std::string upstream_head(std::string_view method, std::string_view path, const ReplicaAddress& to, const ReplicaKey& key);
// The fields of a replica's response that its client gets: all but those of the connection.
[[nodiscard]] HeaderFields passed_on(const HeaderFields& headers);

// The unit in which a streamed body is passed on, so that an error can follow: events end with an empty line, other lines with a line feed.
enum class StreamUnit { bytes, lines, events };
[[nodiscard]] StreamUnit stream_unit(const HeaderFields& headers);
// How much of the text, from its beginning, is whole units.
[[nodiscard]] size_t whole_units(StreamUnit unit, std::string_view text);
// How a stream ends that cannot go on, as servers of that API end it.
[[nodiscard]] std::string stream_error(StreamUnit unit, const Dialect& dialect, const ApiError& error);

}  // namespace wick::server
