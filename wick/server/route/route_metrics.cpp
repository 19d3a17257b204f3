#include "wick/server/route/route_metrics.h"

#include "wick/server/metrics_writer.h"

namespace wick::server {
namespace {

class ReplicaMetrics {
 public:
  ReplicaMetrics(MetricsWriter& writer, std::span<const ReplicaRow> rows) : writer_(writer), rows_(rows) {}

  template <class Value>
  void add(std::string_view name, std::string_view type, std::string_view help, const Value& value) {
    writer_.family(name, help, type);
    for (const ReplicaRow& row : rows_) writer_.sample(name, {{"replica", row.address.name}}, static_cast<double>(value(row)));
  }
  void add_choices() {
    constexpr std::string_view kName = "route_choices_total";
    writer_.family(kName, "Requests sent to the replica, by why it was chosen.", "counter");
    for (const ReplicaRow& row : rows_) {
      for (const ChoiceReason reason : {ChoiceReason::session, ChoiceReason::prefix, ChoiceReason::home, ChoiceReason::load}) {
        const auto found = row.counts.choices.find(reason);
        writer_.sample(kName, {{"replica", row.address.name}, {"reason", to_string(reason)}},
                       found == row.counts.choices.end() ? 0 : static_cast<double>(found->second));
      }
    }
  }

 private:
  MetricsWriter& writer_;
  std::span<const ReplicaRow> rows_;
};

}  // namespace

std::string route_metrics(std::string_view prefix, std::span<const ReplicaRow> rows, const RouteTotals& totals) {
  MetricsWriter writer(prefix);
  writer.gauge("route_requests_in_flight", "Requests that are passed on.", static_cast<double>(totals.requests_in_flight));
  writer.counter("route_requests_refused_total", "Requests refused since too many were in flight.",
                 static_cast<double>(totals.requests_refused));
  ReplicaMetrics replicas(writer, rows);
  replicas.add("route_replica_ready", "gauge", "1 if requests are sent to the replica.",
               [](const ReplicaRow& row) { return row.state == ReplicaState::ready ? 1 : 0; });
  replicas.add("route_replica_requests_in_flight", "gauge", "Requests that the replica has of this router.",
               [](const ReplicaRow& row) { return row.in_flight; });
  replicas.add("route_replica_requests_total", "counter", "Requests sent to the replica.",
               [](const ReplicaRow& row) { return row.counts.requests; });
  replicas.add("route_replica_failures_total", "counter", "Requests that the replica left without an answer, or with half of one.",
               [](const ReplicaRow& row) { return row.counts.failures; });
  replicas.add("route_replica_ejections_total", "counter", "Times that the replica went from ready to down.",
               [](const ReplicaRow& row) { return row.counts.ejections; });
  replicas.add("route_prefix_blocks_queried_total", "counter", "Blocks of the prompts that were sent to the replica.",
               [](const ReplicaRow& row) { return row.counts.blocks_queried; });
  replicas.add("route_prefix_blocks_held_total", "counter", "Those of them that it was sent before.",
               [](const ReplicaRow& row) { return row.counts.blocks_held; });
  replicas.add_choices();
  return writer.take();
}

}  // namespace wick::server
