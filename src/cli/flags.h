// Flags of the command line: CLI11 with numbers that have ranges, errors of one line, and help that ends in examples.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>

#include "cli/console.h"

namespace wick {

// A whole number or a decimal one in [minimum, maximum]. Errors: invalid_argument, naming flag, value and range.
[[nodiscard]] int64_t parse_integer(std::string_view flag, std::string_view text, int64_t minimum, int64_t maximum);
[[nodiscard]] double parse_decimal(std::string_view flag, std::string_view text, double minimum, double maximum);

[[nodiscard]] uint64_t parse_seed(std::string_view flag, std::string_view text);

// A flag with one value that `take` is given. The last one counts if there are several.
CLI::Option* add_value(CLI::App& app, const std::string& flag, const std::string& value_name, const std::string& description,
                       std::function<void(const std::string&)> take);

// A flag with a whole number.
template <class T>
CLI::Option* add_integer(CLI::App& app, const std::string& flag, const std::string& description, T& target, int64_t minimum,
                         int64_t maximum = std::numeric_limits<int64_t>::max()) {
  return add_value(app, flag, "N", description, [flag, &target, minimum, maximum](const std::string& text) {
    target = static_cast<T>(parse_integer(flag, text, minimum, maximum));
  });
}

// A flag with a decimal number.
CLI::Option* add_decimal(CLI::App& app, const std::string& flag, const std::string& description, float& target, double minimum,
                         double maximum);

// Flags that may stand in no file and come again and again.
CLI::Option* add_threads(CLI::App& app, int& threads);
// Which device a command runs on, and what is asked of it.
struct DeviceChoice {
  std::string name = "auto";
  std::string trace_file;  // empty: none
  bool validate = false;
};
void add_device(CLI::App& app, DeviceChoice& choice);
void add_version(CLI::App& app, const Console& console);

// Reads the arguments. false if --help or --version was asked for and has been printed.
// Errors: invalid_argument for whatever is wrong with them.
[[nodiscard]] bool parse_flags(CLI::App& app, const Arguments& arguments, const Console& console);

// The footer of a help text: examples, one a line, and what the exit codes mean.
[[nodiscard]] std::string examples(std::initializer_list<std::string> lines);

}  // namespace wick
