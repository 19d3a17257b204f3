// Flags of the command line: CLI11 with numbers that have ranges, errors of one line, and help that ends in examples.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wick/cli/console.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace wick {

// A whole number or a decimal one in [minimum, maximum]. Errors: invalid_argument, naming flag, value and range.
[[nodiscard]] int64_t parse_integer(std::string_view flag, std::string_view text, int64_t minimum, int64_t maximum);
[[nodiscard]] double parse_decimal(std::string_view flag, std::string_view text, double minimum, double maximum);

[[nodiscard]] uint64_t parse_seed(std::string_view flag, std::string_view text);

// The flags and arguments of a command. CLI11 is behind it and in flags.cpp alone: its headers take longer to compile than all else that a
// command includes.
class Flags {
 public:
  // What was added, to say more of it.
  class Added {
   public:
    Added& required();
    Added& excludes(const Added& other);
    Added& value_name(const std::string& name);  // in the help text
    Added& group(const std::string& heading);    // the part of the help text that it stands in
    Added& hidden();                             // in no help text
    Added& value_optional();                     // the flag may stand alone; `take` is given an empty text then
    [[nodiscard]] bool given() const;            // once parsed

   private:
    friend class Flags;
    explicit Added(CLI::Option& option) : option_(&option) {}
    CLI::Option* option_;
  };

  Flags(const std::string& description, const Console& console);
  ~Flags();

  // A flag with one value that `take` is given. The last one counts if there are several.
  Added add_value(const std::string& flag, const std::string& value_name, const std::string& description,
                  const std::function<void(const std::string&)>& take);

  // A flag with a whole number.
  template <class T>
  Added add_integer(const std::string& flag, const std::string& description, T& target, int64_t minimum,
                    int64_t maximum = std::numeric_limits<int64_t>::max()) {
    return add_value(flag, "N", description, [flag, &target, minimum, maximum](const std::string& text) {
      target = static_cast<T>(parse_integer(flag, text, minimum, maximum));
    });
  }

  // A flag with a decimal number.
  Added add_decimal(const std::string& flag, const std::string& description, float& target, double minimum, double maximum);

  // A flag without a value.
  Added add_switch(const std::string& flag, const std::string& description, bool& target);

  // A flag with a value that may come several times.
  Added add_values(const std::string& flag, const std::string& value_name, const std::string& description,
                   std::vector<std::string>& target);

  // An argument without a flag; any number of them.
  Added add_argument(const std::string& name, const std::string& description, std::string& target);
  Added add_arguments(const std::string& name, const std::string& description, std::vector<std::string>& target);

  // The end of the help text.
  void footer(const std::string& text);

  // Reads the arguments. false if --help or --version was asked for and has been printed.
  // Errors: invalid_argument for whatever is wrong with them.
  [[nodiscard]] bool parse(const Arguments& arguments);

 private:
  const Console& console_;
  std::unique_ptr<CLI::App> app_;
};

// Flags that may stand in no file and come again and again.
void add_threads(Flags& flags, int& threads);
// The largest ordinal that a flag takes.
inline constexpr int64_t kMaxOrdinal = 1024;

// Which device a command runs on, and what is asked of it.
struct DeviceChoice {
  std::string name = "auto";    // or an explicit one, which is strict
  std::string trace_file = {};  // empty: none
  bool validate = false;
  bool strict = false;
  bool cpu_fallback = false;
};
void add_device(Flags& flags, DeviceChoice& choice);

// The footer of a help text: examples, one a line, and what the exit codes mean.
[[nodiscard]] std::string examples(std::initializer_list<std::string> lines);

}  // namespace wick
