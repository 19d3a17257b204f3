#include "wick/server/event_stream.h"

namespace wick::server {

void begin_events(HttpExchange& exchange) {
  exchange.begin(200,
                 {{"Content-Type", "text/event-stream; charset=utf-8"},
                  {"Cache-Control", "no-cache"},
                  {"X-Accel-Buffering", "no"}},  // nginx passes each event on at once
                 ": keep-alive\n\n");
}

std::string event_text(std::string_view data, std::string_view name) {
  std::string text;
  text.reserve(data.size() + name.size() + 18);
  if (!name.empty()) text.append("event: ").append(name).append("\n");
  return text.append("data: ").append(data).append("\n\n");
}

}  // namespace wick::server
