// Results of wick bench, as tables and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "wick/cli/load_model.h"
#include "wick/cli/measure/speed.h"

namespace wick {

enum class BenchFormat { table, markdown, csv, jsonl, json };
// "table", "md", "csv", "jsonl" or "json". Errors: invalid_argument.
[[nodiscard]] BenchFormat parse_bench_format(std::string_view flag, std::string_view text);

// Values that stay constant during one run of the program.
struct BenchMachine {
  std::string cpu;     // the processor's name; empty if not known
  std::string commit;  // of the build
  std::string version;
  std::string date;  // "2026-11-23T14:05:00Z"
};
[[nodiscard]] BenchMachine bench_machine();

// One test: "pp512" or "tg128"; of several sequences "pp8 all logits" or "tg128 x8".
struct BenchRow {
  std::string model;
  uint64_t model_bytes = 0;
  int64_t parameters = 0;
  std::string device;
  std::string variant;
  int threads = 0;
  bool precise = false;
  bool fast = false;
  bool deterministic = false;
  std::string kv_type;
  bool decode = false;  // else prefill
  int64_t tokens = 0;
  int64_t depth = 0;
  int64_t sequences = 1;    // that decode at once
  bool all_logits = false;  // of a prefill
  Summary speed;            // tokens a second, of all sequences together
  double cost = 0;          // of a deterministic test: the time it takes beside the same one without; 0: not measured

  [[nodiscard]] std::string test() const;
};

// One row with machine and date.
[[nodiscard]] nlohmann::ordered_json to_json(const BenchRow& row, const BenchMachine& machine);
[[nodiscard]] std::string render_markdown(const std::vector<BenchRow>& rows, const BenchMachine& machine);
[[nodiscard]] std::string render_csv(const std::vector<BenchRow>& rows, const BenchMachine& machine);
[[nodiscard]] std::string render_jsonl(const std::vector<BenchRow>& rows, const BenchMachine& machine);
[[nodiscard]] std::string render_table(const std::vector<BenchRow>& rows);

}  // namespace wick
