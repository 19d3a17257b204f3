// The runner opens every device that the program holds, once per code path, and tries the cases on each.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "conformance/case.h"

namespace wick::conformance {

struct Options {
  std::string filter;   // a regular expression that a case's name must contain; empty: all
  std::string device;   // kinds, between commas; empty: all
  std::string variant;  // a code path; empty: all
  uint64_t seed = 1;
  double fraction = 1;  // the part of the cases to run, chosen by the seed
  int cases = 0;        // run so many of that part at most; 0: no limit
  bool markdown = false;
  bool ops = false;
  bool each = false;      // print a line for each case: passed or skipped, and its largest error
  bool validate = false;  // open devices with DeviceOptions::validate
  bool fallback = false;  // take them to lack every op, and the CPU to run all (DeviceOptions::cpu_fallback)
};

// One device to try cases on.
struct Target {
  std::string name;  // "cpu avx2 threads=1"
  Device device;
  bool values;  // false: it plans, and only shapes are checked
  bool sample;  // a further setting of a device that runs all cases elsewhere: a part of them is enough
};

// `guarded`: ops are checked for what they touch (guarded_runtime.h).
[[nodiscard]] std::vector<Target> open_targets(const Options& options, bool guarded);
// Whether a name contains what options.filter says.
[[nodiscard]] std::function<bool(const std::string&)> name_filter(const Options& options);
[[nodiscard]] std::vector<Case> select_cases(const Options& options);
// Prints failures and the summary; the exit code: 77, which ctest counts as skipped, where these devices are not here or run none of the
// cases.
[[nodiscard]] int run_cases(const Options& options);
// Times ops at the shapes of models on every target.
[[nodiscard]] int run_perf(const Options& options);
// Prints the table op × dtype × device.
[[nodiscard]] int print_support(const Options& options);

}  // namespace wick::conformance
