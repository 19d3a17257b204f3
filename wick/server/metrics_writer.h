// A MetricsWriter writes metrics in Prometheus' text format, version 0.0.4: a family is its help, its type and its samples.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "wick/engine/engine_metrics.h"

namespace wick::server {

inline constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

struct MetricLabel {
  std::string_view name, value;
};

class MetricsWriter {
 public:
  using Labels = std::initializer_list<MetricLabel>;

  // `prefix`: of the names: "wick:". `common`: labels of each sample.
  explicit MetricsWriter(std::string_view prefix, Labels common = {});

  // A family of one sample.
  void gauge(std::string_view name, std::string_view help, double value);
  void counter(std::string_view name, std::string_view help, double value);

  // The head of a family, whose samples follow.
  void family(std::string_view name, std::string_view help, std::string_view type);
  void sample(std::string_view name, Labels labels, double value);
  void histogram(std::string_view name, std::string_view help, const LatencyHistogram& values);

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string prefix_;
  std::string common_;
  std::string text_;
};

}  // namespace wick::server
