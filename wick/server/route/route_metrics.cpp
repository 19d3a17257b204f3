#include "wick/server/route/route_metrics.h"

#include <fmt/format.h>

#include <iterator>

namespace wick::server {
namespace {

std::string label_value(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

class RouteMetricsWriter {
 public:
  RouteMetricsWriter(std::string_view prefix, std::span<const ReplicaRow> rows) : prefix_(prefix), rows_(rows) {}

  template <class Value>
  void for_each(std::string_view name, std::string_view type, std::string_view help, const Value& value) {
    head(name, type, help);
    for (const ReplicaRow& row : rows_) sample(name, fmt::format("{{replica=\"{}\"}}", label_value(row.address.name)), value(row));
  }
  void total(std::string_view name, std::string_view type, std::string_view help, int64_t value) {
    head(name, type, help);
    sample(name, "", value);
  }
  void choices() {
    constexpr std::string_view kName = "route_choices_total";
    head(kName, "counter", "Requests sent to the replica, by why it was chosen.");
    for (const ReplicaRow& row : rows_) {
      for (const ChoiceReason reason : {ChoiceReason::session, ChoiceReason::prefix, ChoiceReason::home, ChoiceReason::load}) {
        const auto found = row.counts.choices.find(reason);
        sample(kName, fmt::format("{{replica=\"{}\",reason=\"{}\"}}", label_value(row.address.name), to_string(reason)),
               found == row.counts.choices.end() ? 0 : static_cast<int64_t>(found->second));
      }
    }
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  void head(std::string_view name, std::string_view type, std::string_view help) {
    fmt::format_to(std::back_inserter(text_), "# HELP {0}{1} {2}\n# TYPE {0}{1} {3}\n", prefix_, name, help, type);
  }
  void sample(std::string_view name, std::string_view labels, int64_t value) {
    fmt::format_to(std::back_inserter(text_), "{}{}{} {}\n", prefix_, name, labels, value);
  }

  std::string_view prefix_;
  std::span<const ReplicaRow> rows_;
  std::string text_;
};

}  // namespace

std::string route_metrics(std::string_view prefix, std::span<const ReplicaRow> rows, const RouteTotals& totals) {
  const auto number = [](uint64_t value) { return static_cast<int64_t>(value); };
  RouteMetricsWriter writer(prefix, rows);
  writer.total("route_requests_in_flight", "gauge", "Requests that are passed on.", totals.requests_in_flight);
  writer.total("route_requests_refused_total", "counter", "Requests refused since too many were in flight.",
               number(totals.requests_refused));
  writer.for_each("route_replica_ready", "gauge", "1 if requests are sent to the replica.",
                  [](const ReplicaRow& row) -> int64_t { return row.state == ReplicaState::ready ? 1 : 0; });
  writer.for_each("route_replica_requests_in_flight", "gauge", "Requests that the replica has of this router.",
                  [](const ReplicaRow& row) { return row.in_flight; });
  writer.for_each("route_replica_requests_total", "counter", "Requests sent to the replica.",
                  [&](const ReplicaRow& row) { return number(row.counts.requests); });
  writer.for_each("route_replica_failures_total", "counter", "Requests that the replica left without an answer, or with half of one.",
                  [&](const ReplicaRow& row) { return number(row.counts.failures); });
  writer.for_each("route_replica_ejections_total", "counter", "Times that the replica went from ready to down.",
                  [&](const ReplicaRow& row) { return number(row.counts.ejections); });
  writer.for_each("route_prefix_blocks_queried_total", "counter", "Blocks of the prompts that were sent to the replica.",
                  [&](const ReplicaRow& row) { return number(row.counts.blocks_queried); });
  writer.for_each("route_prefix_blocks_held_total", "counter", "Those of them that it was sent before.",
                  [&](const ReplicaRow& row) { return number(row.counts.blocks_held); });
  writer.choices();
  return writer.take();
}

}  // namespace wick::server
