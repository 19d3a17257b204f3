// The text of /metrics: the engine's counters in Prometheus' format, with the names that vLLM's dashboards use.
#pragma once

#include <string>

#include "wick/server/worker.h"

namespace wick::server {

[[nodiscard]] std::string metrics_text(const Worker& worker);

}  // namespace wick::server
