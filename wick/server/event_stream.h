// Server-sent events: the response that streams tokens (WHATWG HTML, "Server-sent events").
#pragma once

#include <string>
#include <string_view>

#include "wick/server/http_exchange.h"
#include "wick/server/json.h"

namespace wick::server {

// Begins a response of events; comments keep it open while nothing happens.
void begin_events(HttpExchange& exchange);
// "data: …\n\n", with "event: …" in front where there is a name. The data has no line breaks, as JSON has none.
[[nodiscard]] std::string event_text(std::string_view data, std::string_view name = {});
[[nodiscard]] inline std::string json_event(const Json& data, std::string_view name = {}) { return event_text(to_text(data), name); }

}  // namespace wick::server
