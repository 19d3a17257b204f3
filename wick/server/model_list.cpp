#include "wick/server/model_list.h"

#include <ctime>
#include <utility>

#include <fmt/chrono.h>

namespace wick::server {

std::string time_text(int64_t seconds) { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(seconds))); }

Json model_entry(const std::string& id, int64_t created) {
  return {{"id", id},
          {"object", "model"},
          {"created", created},
          {"owned_by", "wick"},
          {"type", "model"},
          {"display_name", id},
          {"created_at", time_text(created)}};
}

Json model_list(Json models) {
  const Json first = models.empty() ? Json() : models.front()["id"];
  const Json last = models.empty() ? Json() : models.back()["id"];
  return {{"object", "list"}, {"data", std::move(models)}, {"has_more", false}, {"first_id", first}, {"last_id", last}};
}

}  // namespace wick::server
