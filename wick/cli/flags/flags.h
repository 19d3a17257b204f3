// Flags of the command line: CLI11 with numbers that have ranges, errors of one line, values from the environment and a configuration
// file, and help that ends in examples. Help texts, and whatever else describes the programs, are made from FlagRecords.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/cli/console.h"
#include "wick/cli/flags/command_record.h"

namespace CLI {
class App;
}  // namespace CLI

namespace wick {

// A whole number or a decimal one in [minimum, maximum]. Errors: invalid_argument, naming flag, value and range.
[[nodiscard]] int64_t parse_integer(std::string_view flag, std::string_view text, int64_t minimum, int64_t maximum);
[[nodiscard]] double parse_decimal(std::string_view flag, std::string_view text, double minimum, double maximum);
// "128" or "128,512". Errors: parse_integer's; an empty list.
[[nodiscard]] std::vector<int64_t> parse_integers(std::string_view flag, std::string_view text, int64_t minimum, int64_t maximum);
// true, yes, on, 1 and their opposites, in any case. Errors: invalid_argument.
[[nodiscard]] bool parse_switch(std::string_view flag, std::string_view text);

[[nodiscard]] uint64_t parse_seed(std::string_view flag, std::string_view text);
// Sets the seed of the process (manual_seed) where the environment has WICK_SEED. Errors: parse_seed's.
void seed_process(const Console& console);

// The flags and arguments of a command. A value comes from the command line, else from the environment variable that is named after the
// flag (WICK_MAX_TOKENS), else from the file of --config, else it is the default.
class Flags {
 private:
  struct Flag;

 public:
  // An added flag, for setting further properties.
  class Added {
   public:
    Added& required();
    Added& excludes(const Added& other);
    Added& value_name(const std::string& name);              // in the help text
    Added& choices(const std::vector<std::string>& values);  // that shells offer; `take` checks them
    Added& path();                                           // an argument is the name of a file
    Added& group(const std::string& heading);                // the part of the help text that it belongs to
    Added& command_line_only();                              // no variable and no configuration file sets it
    Added& hidden();                                         // in no help text, and from the command line only
    Added& value_optional();                                 // the flag may be used without a value; `take` gets an empty text then
    [[nodiscard]] bool given() const;                        // once parsed

   private:
    friend class Flags;
    explicit Added(Flag& flag) : flag_(&flag) {}
    Flag* flag_;
  };

  Flags(std::string description, Console& console);
  ~Flags();

  // `names` of each kind of flag: "-c,--context,--ctx-size": a letter (may be missing), the name, and aliases. Short aliases are also
  // understood with one hyphen, as llama.cpp has them: -ngl for --ngl.
  // A flag with one value that `take` gets. Given twice on the command line, it is an error.
  Added add_value(const std::string& names, const std::string& value_name, const std::string& description,
                  const std::function<void(const std::string&)>& take);
  // The same, kept as a text.
  Added add_text(const std::string& names, const std::string& value_name, const std::string& description, std::string& target);

  // A flag with a whole number.
  template <class T>
  Added add_integer(const std::string& names, const std::string& description, T& target, int64_t minimum,
                    int64_t maximum = std::numeric_limits<int64_t>::max()) {
    return add_value(names, "N", description, [flag = main_name(names), &target, minimum, maximum](const std::string& text) {
      target = static_cast<T>(parse_integer(flag, text, minimum, maximum));
    });
  }

  // A flag with whole numbers, such as "128,512".
  Added add_integers(const std::string& names, const std::string& description, std::vector<int64_t>& target, int64_t minimum,
                     int64_t maximum = std::numeric_limits<int64_t>::max());

  // A flag with a decimal number.
  Added add_decimal(const std::string& names, const std::string& description, float& target, double minimum, double maximum);

  // A flag without a value.
  Added add_switch(const std::string& names, const std::string& description, bool& target);

  // A flag with a value that may come several times.
  Added add_values(const std::string& names, const std::string& value_name, const std::string& description,
                   std::vector<std::string>& target);

  // An argument without a flag; any number of them.
  Added add_argument(const std::string& name, const std::string& description, std::string& target);
  Added add_arguments(const std::string& name, const std::string& description, std::vector<std::string>& target);

  // The end of the help text: lines that begin with a space keep their breaks; and examples, one a line.
  void notes(const std::string& text);
  void examples(std::initializer_list<std::string> lines);

  // Reads the arguments, the environment and the configuration file. false if --help or --version was given and has been printed, or if
  // the console only wants to know the flags. Errors: invalid_argument for whatever is wrong with them; not_found, io of the file.
  [[nodiscard]] bool parse(const Arguments& arguments);

  // Once parsed: the flags of these parts of the help text that were on the command line.
  [[nodiscard]] std::vector<std::string> typed(std::initializer_list<std::string_view> groups) const;

  // All flags and arguments, in the order in which they were added.
  [[nodiscard]] std::vector<FlagRecord> records() const;
  [[nodiscard]] CommandRecord record() const;

 private:
  static std::string main_name(const std::string& names);
  Flag& add(const std::string& names, const std::string& value_name, const std::string& description, bool is_switch = false);
  [[nodiscard]] std::vector<std::string> long_names() const;
  void read_command_line(const Arguments& arguments);
  [[nodiscard]] bool is_alias(const std::string& name) const;
  [[nodiscard]] bool takes_value(const std::string& name) const;
  void read_environment();
  void read_configuration();
  void refuse_what_is_unknown() const;
  void refuse_what_is_repeated() const;
  void drop_what_is_excluded();
  void take_values();
  [[nodiscard]] Flag* find(const std::string& name);

  Console& console_;
  std::unique_ptr<CLI::App> app_;
  std::string description_;
  std::string notes_;
  std::vector<std::string> examples_;
  std::vector<std::unique_ptr<Flag>> flags_;
  bool wants_help_ = false;
  bool wants_version_ = false;
  std::string configuration_;
};

// Flags that several commands have: each has the same names everywhere.
void add_model(
    Flags& flags, std::string& model,
    const std::string& description = "a GGUF model, or a folder: one with such a file, or Hugging Face's (default: Wick's model)");
Flags::Added add_context(Flags& flags, int64_t& context, const std::string& description, int64_t minimum);
void add_threads(Flags& flags, int& threads);
// --mlock; lock_memory_if() does what it says. Errors: lock_memory()'s, naming the flag.
void add_mlock(Flags& flags, bool& mlock);
void lock_memory_if(bool mlock);
void add_json(Flags& flags, bool& json);
// --quiet and --verbose.
void add_verbosity(Flags& flags, Console& console);
// The largest ordinal that a flag takes.
inline constexpr int64_t kMaxOrdinal = 1024;

// Which device a command runs on, and what is asked of it.
struct DeviceChoice {
  std::string name = "auto";    // or an explicit one, which is strict
  std::string trace_file = {};  // empty: none
  bool validate = false;
  bool strict = false;
  bool cpu_fallback = false;
  std::optional<int64_t> gpu_layers = {};  // the last so many layers of a model are the device's; none: all of it
  int64_t cpu_expert_layers = 0;           // the experts of the first so many layers are the CPU's
  bool all_cpu_experts = false;            // those of all layers
};
void add_device(Flags& flags, DeviceChoice& choice);

}  // namespace wick
