// wick_conformance: every op on every device that this program holds, against the op's reference loops.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>
#include <string_view>

#include "conformance/runner.h"

namespace wick::conformance {
namespace {

constexpr const char* kUsage =
    "usage: wick_conformance test|perf|support|list [--filter REGEX] [--device KIND,…] [--variant NAME] [--seed N] [--fraction F]\n"
    "                        [--cases N] [--each] [--validate] [--fallback] [--markdown] [--ops]\n"
    "  test     runs the cases; one line a failure; fails if one fails or there is none; 77 if none can run here; with --each\n"
    "           also a line for each case that passed or was skipped\n"
    "  perf     times ops at the shapes of models\n"
    "  support  prints which device carries out which op on which dtype\n"
    "  list     prints the names of the cases; with --ops those of the ops, each of which must have cases\n";

bool parse_options(std::span<char*> arguments, Options& options) {
  for (size_t at = 0; at < arguments.size(); ++at) {
    const std::string_view flag = arguments[at];
    if (flag == "--markdown") {
      options.markdown = true;
      continue;
    }
    if (flag == "--ops") {
      options.ops = true;
      continue;
    }
    if (flag == "--each") {
      options.each = true;
      continue;
    }
    if (flag == "--validate") {
      options.validate = true;
      continue;
    }
    if (flag == "--fallback") {
      options.fallback = true;
      continue;
    }
    if (++at == arguments.size()) return false;
    const std::string value = arguments[at];
    if (flag == "--filter") {
      options.filter = value;
    } else if (flag == "--device") {
      options.device = value;
    } else if (flag == "--variant") {
      options.variant = value;
    } else if (flag == "--seed") {
      options.seed = std::strtoull(value.c_str(), nullptr, 10);
    } else if (flag == "--fraction") {
      options.fraction = std::strtod(value.c_str(), nullptr);
    } else if (flag == "--cases") {
      options.cases = std::atoi(value.c_str());
    } else {
      return false;
    }
  }
  return true;
}

int list_cases(const Options& options) {
  if (options.ops) {
    for (const OpInfo& row : kOps) fmt::print("{}\n", row.name);
    return 0;
  }
  for (const Case& entry : select_cases(options)) fmt::print("{}\n", entry.name);
  return 0;
}

int run(std::span<char*> arguments) {
  Options options;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // a crash must not swallow the failures before it
  const std::string_view mode = arguments.size() > 1 ? arguments[1] : "";
  if (arguments.size() > 2 && !parse_options(arguments.subspan(2), options)) {
    fmt::print(stderr, "{}", kUsage);
    return 2;
  }
  if (mode == "test") return run_cases(options);
  if (mode == "perf") return run_perf(options);
  if (mode == "support") return print_support(options);
  if (mode == "list") return list_cases(options);
  fmt::print(stderr, "{}", kUsage);
  return 2;
}

}  // namespace
}  // namespace wick::conformance

int main(int argc, char** argv) {
  try {
    return wick::conformance::run({argv, static_cast<size_t>(argc)});
  } catch (const std::exception& error) {
    fmt::print(stderr, "wick_conformance: {}\n", error.what());
    return 2;
  }
}
