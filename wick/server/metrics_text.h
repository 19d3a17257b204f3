// What /metrics answers: the engine's counters in Prometheus' text format, under the names that dashboards of vLLM ask for.
#pragma once

#include <string>

#include "wick/server/worker.h"

namespace wick::server {

[[nodiscard]] std::string metrics_text(const Worker& worker);

}  // namespace wick::server
