// The metrics of a router, by replica, in Prometheus' text format.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "wick/server/route/replica_set.h"

namespace wick::server {

struct RouteTotals {
  int64_t requests_in_flight = 0;
  uint64_t requests_refused = 0;
};

// `prefix`: of the names: "wick:".
[[nodiscard]] std::string route_metrics(std::string_view prefix, std::span<const ReplicaRow> rows, const RouteTotals& totals);

}  // namespace wick::server
