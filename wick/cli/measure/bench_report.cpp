#include "wick/cli/measure/bench_report.h"

#include <fmt/format.h>

#include <ctime>

#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/cli/build_info.h"
#include "wick/cli/text_format.h"
#include "wick/device/registry.h"
#include "wick/server/utc_time.h"

namespace wick {
namespace {

using Json = nlohmann::ordered_json;

// A field of a CSV file (RFC 4180): in quotes where it has a comma, quote or line break.
std::string csv_field(const Json& value) {
  std::string text = value.is_string() ? value.get<std::string>() : json_text(value);
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return quoted + '"';
}

}  // namespace

BenchFormat parse_bench_format(std::string_view flag, std::string_view text) {
  if (text == "table") return BenchFormat::table;
  if (text == "md") return BenchFormat::markdown;
  if (text == "csv") return BenchFormat::csv;
  if (text == "jsonl") return BenchFormat::jsonl;
  if (text == "json") return BenchFormat::json;
  fail(ErrorCode::invalid_argument, "{} '{}': must be table, md, csv, jsonl or json", flag, text);
}

BenchMachine bench_machine() {
  BenchMachine machine{.cpu = {},
                       .commit = std::string(build_info().commit),
                       .version = std::string(build_info().version),
                       .date = server::utc_seconds(std::time(nullptr))};
  for (const Backend* backend : linked_backends()) {
    if (backend->kind != DeviceKind::cpu) continue;
    for (const DeviceInfo& device : backend->probe()) machine.cpu = device.caps.name;
  }
  return machine;
}

namespace {

// What several sequences at once add to a test's name.
std::string at_once(const BenchRow& row, fmt::format_string<const int64_t&> sequences) {
  if (row.sequences > 1) return fmt::format(sequences, row.sequences);
  return row.all_logits ? " all logits" : "";
}

}  // namespace

std::string BenchRow::test() const {
  return fmt::format("{}{}{}{}{}", decode ? "tg" : "pp", tokens, at_once(*this, " x{}"), depth > 0 ? fmt::format(" @ d{}", depth) : "",
                     deterministic ? " deterministic" : "");
}

Json to_json(const BenchRow& row, const BenchMachine& machine) {
  return {{"test", row.test()},
          {"model", row.model},
          {"model_bytes", row.model_bytes},
          {"parameters", row.parameters},
          {"device", row.device},
          {"variant", row.variant},
          {"threads", row.threads},
          {"precise", row.precise},
          {"fast", row.fast},
          {"deterministic", row.deterministic},
          {"kv_type", row.kv_type},
          {"prompt_tokens", row.decode ? 0 : row.tokens},
          {"gen_tokens", row.decode ? row.tokens : 0},
          {"depth", row.depth},
          {"sequences", row.sequences},
          {"all_logits", row.all_logits},
          {"reps", row.speed.samples.size()},
          {"tokens_per_second", row.speed.mean},
          {"stddev", row.speed.deviation},
          {"median", row.speed.median},
          {"min", row.speed.minimum},
          {"max", row.speed.maximum},
          {"deterministic_cost", row.cost},
          {"samples", row.speed.samples},
          {"cpu", machine.cpu},
          {"version", machine.version},
          {"commit", machine.commit},
          {"date", machine.date}};
}

std::string render_markdown(const std::vector<BenchRow>& rows, const BenchMachine& machine) {
  std::string text = "| model | size | params | device | threads | test | t/s |\n| --- | ---: | ---: | --- | ---: | --- | ---: |\n";
  for (const BenchRow& row : rows) {
    text += fmt::format("| {} | {} | {} | {} ({}) | {} | {} | {:.2f} ± {:.2f} |\n", row.model, format_bytes(row.model_bytes),
                        format_count(static_cast<uint64_t>(row.parameters)), row.device, row.variant, row.threads, row.test(),
                        row.speed.mean, row.speed.deviation);
  }
  return text + fmt::format("\nwick {} ({}), {}, {}\n", machine.version, machine.commit, machine.cpu, machine.date);
}

std::string render_csv(const std::vector<BenchRow>& rows, const BenchMachine& machine) {
  std::string text;
  for (const BenchRow& row : rows) {
    Json json = to_json(row, machine);
    json.erase("samples");
    std::string names;
    std::string values;
    for (const auto& [name, value] : json.items()) {
      names += (names.empty() ? "" : ",") + name;
      values += (values.empty() ? "" : ",") + csv_field(value);
    }
    if (text.empty()) text = names + '\n';
    text += values + '\n';
  }
  return text;
}

std::string render_jsonl(const std::vector<BenchRow>& rows, const BenchMachine& machine) {
  std::string text;
  for (const BenchRow& row : rows) text += json_text(to_json(row, machine)) + '\n';
  return text;
}

std::string render_table(const std::vector<BenchRow>& rows) {
  std::string text =
      fmt::format("{:<24} {:>8} {:>12} {:>10} {:>12} {:>12} {:>12}\n", "tokens/s", "threads", "mean", "±", "median", "min", "max");
  for (const BenchRow& row : rows) {
    const std::string name = fmt::format("{} {}{}{}", row.decode ? "decode" : "prefill", row.tokens, at_once(row, " of {}"),
                                         row.depth > 0 ? fmt::format(" at {}", row.depth) : "");
    text += fmt::format("{:<24} {:>8} {:>12.2f} {:>10.2f} {:>12.2f} {:>12.2f} {:>12.2f}\n", name, row.threads, row.speed.mean,
                        row.speed.deviation, row.speed.median, row.speed.minimum, row.speed.maximum);
  }
  for (const BenchRow& row : rows) {
    if (row.cost > 0) text += fmt::format("{} takes {:.2f} times as long as without --deterministic\n", row.test(), row.cost);
  }
  return text;
}

}  // namespace wick
