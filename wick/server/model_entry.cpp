#include "wick/server/model_entry.h"

#include "wick/server/utc_time.h"

namespace wick::server {

Json model_entry(const std::string& id, int64_t created) {
  return {{"id", id},
          {"object", "model"},
          {"created", created},
          {"owned_by", "wick"},
          {"type", "model"},
          {"display_name", id},
          {"created_at", utc_seconds(created)}};
}

}  // namespace wick::server
