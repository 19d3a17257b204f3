#include "wick/server/metrics_writer.h"

#include <fmt/format.h>

#include <iterator>

namespace wick::server {
namespace {

std::string escaped(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (c == '\n') {
      text += "\\n";
    } else {
      if (c == '"' || c == '\\') text += '\\';
      text += c;
    }
  }
  return text;
}

void append(std::string& text, MetricsWriter::Labels labels) {
  for (const auto& [name, value] : labels) {
    fmt::format_to(std::back_inserter(text), "{}{}=\"{}\"", text.empty() ? "" : ",", name, escaped(value));
  }
}

}  // namespace

MetricsWriter::MetricsWriter(std::string_view prefix, Labels common) : prefix_(prefix) { append(common_, common); }

void MetricsWriter::gauge(std::string_view name, std::string_view help, double value) {
  family(name, help, "gauge");
  sample(name, {}, value);
}

void MetricsWriter::counter(std::string_view name, std::string_view help, double value) {
  family(name, help, "counter");
  sample(name, {}, value);
}

void MetricsWriter::family(std::string_view name, std::string_view help, std::string_view type) {
  fmt::format_to(std::back_inserter(text_), "# HELP {0}{1} {2}\n# TYPE {0}{1} {3}\n", prefix_, name, help, type);
}

void MetricsWriter::sample(std::string_view name, Labels labels, double value) {
  std::string all = common_;
  append(all, labels);
  if (!all.empty()) all = fmt::format("{{{}}}", all);
  fmt::format_to(std::back_inserter(text_), "{}{}{} {}\n", prefix_, name, all, value);
}

void MetricsWriter::histogram(std::string_view name, std::string_view help, const LatencyHistogram& values) {
  family(name, help, "histogram");
  const std::string bucket = fmt::format("{}_bucket", name);
  uint64_t sum = 0;
  for (size_t i = 0; i < values.counts().size(); ++i) {
    sum += values.counts()[i];
    const bool is_last = i == LatencyHistogram::bounds().size();
    const std::string bound = is_last ? "+Inf" : fmt::format("{}", LatencyHistogram::bounds()[i]);
    sample(bucket, {{"le", bound}}, static_cast<double>(sum));
  }
  sample(fmt::format("{}_sum", name), {}, values.sum());
  sample(fmt::format("{}_count", name), {}, static_cast<double>(values.count()));
}

}  // namespace wick::server
