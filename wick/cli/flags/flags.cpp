#include "wick/cli/flags/flags.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ostream>
#include <utility>

#include "wick/base/ascii.h"
#include "wick/base/fail.h"
#include "wick/base/process.h"
#include "wick/base/suggest.h"
#include "wick/cli/build_info.h"
#include "wick/cli/flags/flag_sources.h"
#include "wick/device/device_kind.h"
#include "wick/device/random_stream.h"
#include "wick/device/registry.h"
#include "wick/server/setting_flags.h"

namespace wick {

// Where a value comes from; a later one wins.
enum class ValueSource { none, file, environment, command_line };

struct Flags::Flag {
  FlagRecord record;
  CLI::Option* option = nullptr;
  std::function<void(const std::vector<std::string>&)> take = {};
  std::vector<Flag*> excludes = {};
  ValueSource source = ValueSource::none;
  std::vector<std::string> values = {};
  std::string origin = {};  // "WICK_THREADS: ", before the messages about its value; empty for the command line

  void set(ValueSource from, std::vector<std::string> given, std::string where) {
    source = from;
    values = std::move(given);
    origin = std::move(where);
  }
};

namespace {

constexpr const char* kDefaultGroup = "Flags";
constexpr const char* kGeneralGroup = "General";

std::string describe_range(int64_t minimum, int64_t maximum) {
  if (maximum == std::numeric_limits<int64_t>::max()) return fmt::format("{} or more", minimum);
  return fmt::format("from {} to {}", minimum, maximum);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// The longest alias, with its hyphen, that may have one hyphen: "-ncmoe".
constexpr size_t kLongestWord = 6;

// CLI11 takes "--flag=" for a flag whose value is the next argument; it is one whose value is empty.
std::vector<std::string> split_empty_values(const Arguments& arguments) {
  std::vector<std::string> split;
  for (const std::string& argument : arguments) {
    if (argument.size() > 3 && argument.starts_with("--") && argument.find('=') == argument.size() - 1) {
      split.push_back(argument.substr(0, argument.size() - 1));
      split.emplace_back();
    } else {
      split.push_back(argument);
    }
  }
  return split;
}

// "--max-tokens": "WICK_MAX_TOKENS"
std::string variable_of(const std::string& name) {
  std::string variable = "WICK_" + ascii_uppercase(name.substr(2));
  std::ranges::replace(variable, '-', '_');
  return variable;
}

bool has_flag(const SectionFlags& section, const std::string& name) {
  return name != "config" && std::find(section.flags.begin(), section.flags.end(), "--" + name) != section.flags.end();
}

// An entry for a command that is not the one that runs: the names must be known all the same, as far as this program knows them.
void check_other_section(const std::string& file, const ConfigurationEntry& entry, const std::vector<SectionFlags>& known) {
  const std::vector<std::string> sections(kConfigurationSections.begin(), kConfigurationSections.end());
  if (std::find(sections.begin(), sections.end(), entry.section) == sections.end()) {
    fail(ErrorCode::invalid_argument, "{}: section [{}] is no subcommand{}", file, entry.section, did_you_mean(entry.section, sections));
  }
  const auto found = std::find_if(known.begin(), known.end(), [&](const SectionFlags& other) { return other.section == entry.section; });
  if (found != known.end() && !has_flag(*found, entry.name)) {
    fail(ErrorCode::invalid_argument, "{}: [{}]: '{}' is no flag of wick {}{}", file, entry.section, entry.name, found->section,
         did_you_mean("--" + entry.name, found->flags));
  }
}

}  // namespace

int64_t parse_integer(std::string_view flag, std::string_view text, int64_t minimum, int64_t maximum) {
  int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = stop == text.data() + text.size();
  if (error == std::errc::invalid_argument || !whole) {
    fail(ErrorCode::invalid_argument, "{} '{}': not a whole number; it must be {}", flag, text, describe_range(minimum, maximum));
  }
  if (error == std::errc::result_out_of_range) {
    fail(ErrorCode::invalid_argument, "{} {}: more than 64 bits hold; it must be {}", flag, text, describe_range(minimum, maximum));
  }
  if (value < minimum || value > maximum) {
    fail(ErrorCode::invalid_argument, "{} {}: must be {}", flag, text, describe_range(minimum, maximum));
  }
  return value;
}

double parse_decimal(std::string_view flag, std::string_view text, double minimum, double maximum) {
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size() || !std::isfinite(value)) {
    fail(ErrorCode::invalid_argument, "{} '{}': not a number; it must be from {:g} to {:g}", flag, text, minimum, maximum);
  }
  if (value < minimum || value > maximum) {
    fail(ErrorCode::invalid_argument, "{} {}: must be from {:g} to {:g}", flag, text, minimum, maximum);
  }
  return value;
}

std::vector<int64_t> parse_integers(std::string_view flag, std::string_view text, int64_t minimum, int64_t maximum) {
  std::vector<int64_t> values;
  for (const std::string& part : split(text, ',')) values.push_back(parse_integer(flag, part, minimum, maximum));
  return values;
}

bool parse_switch(std::string_view flag, std::string_view text) {
  const std::string value = CLI::detail::to_lower(std::string(text));
  for (const char* word : {"true", "yes", "on", "1"}) {
    if (value == word) return true;
  }
  for (const char* word : {"false", "no", "off", "0"}) {
    if (value == word) return false;
  }
  fail(ErrorCode::invalid_argument, "{} '{}': must be true or false", flag, text);
}

uint64_t parse_seed(std::string_view flag, std::string_view text) {
  uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size()) {
    fail(ErrorCode::invalid_argument, "{} '{}': must be a whole number from 0 to {}", flag, text, std::numeric_limits<uint64_t>::max());
  }
  return value;
}

void seed_process(const Console& console) {
  const auto found = console.environment.find("WICK_SEED");
  if (found != console.environment.end() && !found->second.empty()) manual_seed(parse_seed(found->first, found->second));
}

Flags::Added& Flags::Added::required() {
  flag_->record.required = true;
  return *this;
}

Flags::Added& Flags::Added::excludes(const Added& other) {
  flag_->excludes.push_back(other.flag_);
  return *this;
}

Flags::Added& Flags::Added::value_name(const std::string& name) {
  (flag_->record.positional ? flag_->record.name : flag_->record.value_name) = name;
  return *this;
}

Flags::Added& Flags::Added::group(const std::string& heading) {
  flag_->record.group = heading;
  return *this;
}

Flags::Added& Flags::Added::choices(const std::vector<std::string>& values) {
  flag_->record.choices = values;
  return *this;
}

Flags::Added& Flags::Added::path() {
  flag_->record.path = true;
  return *this;
}

Flags::Added& Flags::Added::command_line_only() {
  flag_->record.variable.clear();
  return *this;
}

Flags::Added& Flags::Added::hidden() {
  flag_->record.hidden = true;
  return command_line_only();
}

Flags::Added& Flags::Added::value_optional() {
  flag_->record.value_optional = true;
  flag_->option->expected(0, 1);
  return *this;
}

bool Flags::Added::given() const { return flag_->source != ValueSource::none; }

Flags::Flags(std::string description, Console& console)
    : console_(console), app_(std::make_unique<CLI::App>()), description_(std::move(description)) {
  app_->set_help_flag();
  app_->allow_extras();
}

Flags::~Flags() = default;

std::string Flags::main_name(const std::string& names) {
  for (const std::string& name : split(names, ',')) {
    if (name.starts_with("--")) return name;
  }
  return names;
}

Flags::Flag& Flags::add(const std::string& names, const std::string& value_name, const std::string& description, bool is_switch) {
  FlagRecord record{.name = main_name(names),
                    .aliases = {},
                    .value_name = value_name,
                    .description = description,
                    .group = kDefaultGroup,
                    .variable = {}};
  for (const std::string& name : split(names, ',')) {
    if (name == record.name) continue;
    if (name.starts_with("--")) {
      record.aliases.push_back(name);
    } else {
      record.short_name = name;
    }
  }
  record.positional = !record.name.starts_with('-');
  if (!record.positional) record.variable = variable_of(record.name);
  flags_.push_back(std::make_unique<Flag>(Flag{.record = std::move(record)}));
  Flag& flag = *flags_.back();
  // CLI11 only sorts the arguments; values are taken when all sources are known.
  flag.option = is_switch ? app_->add_flag_callback(names, [] {}) : app_->add_option(names, [](const CLI::results_t&) { return true; });
  flag.option->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return flag;
}

Flags::Added Flags::add_value(const std::string& names, const std::string& value_name, const std::string& description,
                              const std::function<void(const std::string&)>& take) {
  Flag& flag = add(names, value_name, description);
  flag.take = [take](const std::vector<std::string>& values) { take(values.empty() ? std::string() : values.back()); };
  return Added(flag);
}

Flags::Added Flags::add_text(const std::string& names, const std::string& value_name, const std::string& description, std::string& target) {
  return add_value(names, value_name, description, [&target](const std::string& text) { target = text; });
}

Flags::Added Flags::add_integers(const std::string& names, const std::string& description, std::vector<int64_t>& target, int64_t minimum,
                                 int64_t maximum) {
  return add_value(names, "LIST", description, [flag = main_name(names), &target, minimum, maximum](const std::string& text) {
    target = parse_integers(flag, text, minimum, maximum);
  });
}

Flags::Added Flags::add_decimal(const std::string& names, const std::string& description, float& target, double minimum, double maximum) {
  return add_value(names, "X", description, [flag = main_name(names), &target, minimum, maximum](const std::string& text) {
    target = static_cast<float>(parse_decimal(flag, text, minimum, maximum));
  });
}

Flags::Added Flags::add_switch(const std::string& names, const std::string& description, bool& target) {
  Flag& flag = add(names, "", description, true);
  flag.take = [name = flag.record.name, &target](const std::vector<std::string>& values) {
    target = values.empty() || parse_switch(name, values.back());
  };
  return Added(flag);
}

Flags::Added Flags::add_values(const std::string& names, const std::string& value_name, const std::string& description,
                               std::vector<std::string>& target) {
  Flag& flag = add(names, value_name, description);
  flag.record.multiple = true;
  flag.take = [&target](const std::vector<std::string>& values) { target = values; };
  return Added(flag);
}

Flags::Added Flags::add_argument(const std::string& name, const std::string& description, std::string& target) {
  return add_text(name, "", description, target);
}

Flags::Added Flags::add_arguments(const std::string& name, const std::string& description, std::vector<std::string>& target) {
  const Added added = add_values(name, "", description, target);
  added.flag_->option->expected(-1);
  return added;
}

void Flags::notes(const std::string& text) { notes_ = text; }

void Flags::examples(std::initializer_list<std::string> lines) { examples_ = lines; }

CommandRecord Flags::record() const {
  return {.name = console_.name,
          .summary = {},
          .description = description_,
          .notes = notes_,
          .examples = examples_,
          .flags = records(),
          .subcommands = {}};
}

std::vector<FlagRecord> Flags::records() const {
  std::vector<FlagRecord> records;
  for (const auto& flag : flags_) records.push_back(flag->record);
  return records;
}

std::vector<std::string> Flags::typed(std::initializer_list<std::string_view> groups) const {
  std::vector<std::string> names;
  for (const auto& flag : flags_) {
    const bool is_of_them = std::ranges::find(groups, flag->record.group) != groups.end();
    if (is_of_them && flag->source == ValueSource::command_line) names.push_back(flag->record.name);
  }
  return names;
}

std::vector<std::string> Flags::long_names() const {
  std::vector<std::string> names;
  for (const auto& flag : flags_) {
    if (flag->record.hidden || flag->record.positional) continue;
    names.push_back(flag->record.name);
    names.insert(names.end(), flag->record.aliases.begin(), flag->record.aliases.end());
  }
  return names;
}

Flags::Flag* Flags::find(const std::string& name) {
  for (const auto& flag : flags_) {
    if (flag->record.positional || flag->record.hidden) continue;
    const bool alias = std::find(flag->record.aliases.begin(), flag->record.aliases.end(), name) != flag->record.aliases.end();
    if (alias || flag->record.name == name) return flag.get();
  }
  return nullptr;
}

bool Flags::takes_value(const std::string& name) const {
  return std::any_of(flags_.begin(), flags_.end(), [&](const auto& flag) {
    const std::vector<std::string> names = flag->record.names();
    return !flag->record.is_switch() && std::find(names.begin(), names.end(), name) != names.end();
  });
}

bool Flags::is_alias(const std::string& name) const {
  return std::any_of(flags_.begin(), flags_.end(), [&](const auto& flag) {
    return std::find(flag->record.aliases.begin(), flag->record.aliases.end(), name) != flag->record.aliases.end();
  });
}

void Flags::read_command_line(const Arguments& arguments) {
  std::vector<std::string> split = split_empty_values(arguments);
  for (size_t index = 0; index < split.size() && split[index] != "--"; ++index) {
    std::string& argument = split[index];
    if (index > 0 && takes_value(split[index - 1])) continue;
    const bool is_word = argument.size() > 2 && argument.size() <= kLongestWord && argument[0] == '-' && argument[1] != '-';
    if (is_word && is_alias("-" + argument)) argument.insert(0, 1, '-');
  }
  std::vector<std::string> reversed(split.rbegin(), split.rend());
  try {
    app_->parse(std::move(reversed));
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string_view text = error.what();
    if (!text.ends_with("missing")) fail(ErrorCode::invalid_argument, "{}; see {} --help", text, console_.name);
    fail(ErrorCode::invalid_argument, "{}: its value is missing; see {} --help", text.substr(0, text.find(':')), console_.name);
  } catch (const CLI::ParseError& error) {
    fail(ErrorCode::invalid_argument, "{}; see {} --help", error.what(), console_.name);
  }
  for (const auto& flag : flags_) {
    if (flag->option->count() > 0) flag->set(ValueSource::command_line, flag->option->results(), "");
  }
}

void Flags::read_environment() {
  for (const auto& flag : flags_) {
    if (flag->source != ValueSource::none || flag->record.variable.empty()) continue;
    const auto found = console_.environment.find(flag->record.variable);
    // An empty variable is an unset one: container tools cannot always leave it out.
    if (found == console_.environment.end() || found->second.empty()) continue;
    flag->set(ValueSource::environment, {found->second}, found->first + ": ");
  }
}

void Flags::read_configuration() {
  if (configuration_.empty()) return;
  const std::string own = section_of(console_.name);
  const std::vector<SectionFlags> others = console_.sections ? console_.sections() : std::vector<SectionFlags>();
  for (const ConfigurationEntry& entry : read_configuration_file(configuration_)) {
    if (!entry.section.empty() && entry.section != own) {
      check_other_section(configuration_, entry, others);
      continue;
    }
    Flag* flag = find("--" + entry.name);
    if (flag == nullptr || flag->record.name == "--config") {
      const std::string message = fmt::format("{}: '{}' is no flag of {}{}", configuration_, entry.name, console_.name,
                                              did_you_mean("--" + entry.name, long_names()));
      if (!entry.section.empty()) fail(ErrorCode::invalid_argument, "{}", message);
      // Before the first section is what is for all subcommands that have such a flag.
      if (std::any_of(others.begin(), others.end(), [&](const SectionFlags& other) { return has_flag(other, entry.name); })) continue;
      fail(ErrorCode::invalid_argument, "{}{}", message, others.empty() ? "" : ", nor of another subcommand");
    }
    if (entry.values.size() != 1 && !flag->record.multiple) {
      fail(ErrorCode::invalid_argument, "{}: '{}' has {} values and takes one; quote a text with spaces or commas", configuration_,
           entry.name, entry.values.size());
    }
    const bool more_special = flag->source == ValueSource::file && entry.section.empty();
    if (flag->source > ValueSource::file || more_special) continue;
    flag->set(ValueSource::file, entry.values, configuration_ + ": ");
  }
}

void Flags::refuse_what_is_unknown() const {
  const std::vector<std::string> extras = app_->remaining();
  if (extras.empty()) return;
  const std::string name = extras.front().substr(0, extras.front().find('='));
  if (!name.starts_with('-')) {
    // `wick run "Once upon a time"`
    const std::vector<std::string> names = long_names();
    const bool takes_text = std::find(names.begin(), names.end(), "--prompt") != names.end();
    fail(ErrorCode::invalid_argument, "unexpected argument '{}'{}; {} --help lists the flags", name,
         takes_text ? "; a text is given by --prompt, a model by --model" : "", console_.name);
  }
  fail(ErrorCode::invalid_argument, "unknown flag '{}'{}; {} --help lists the flags", name, did_you_mean(name, long_names()),
       console_.name);
}

// A flag of one value that is given several, by its name and its short one too. A switch may be repeated that stays what it is.
void Flags::refuse_what_is_repeated() const {
  for (const auto& flag : flags_) {
    const FlagRecord& record = flag->record;
    if (record.multiple || flag->option->count() < 2) continue;
    const std::vector<std::string>& values = flag->values;
    const bool is_same = std::ranges::all_of(values, [&](const std::string& value) { return value == values.front(); });
    if (record.is_switch() && is_same) continue;
    fail(ErrorCode::invalid_argument, "{} is given {} times and takes one value; give it once", record.name, flag->option->count());
  }
}

// Two flags that exclude each other: that of the better source counts, and two of the same source are an error.
void Flags::drop_what_is_excluded() {
  for (const auto& flag : flags_) {
    for (Flag* other : flag->excludes) {
      if (flag->source == ValueSource::none || other->source == ValueSource::none) continue;
      if (flag->source == other->source) {
        fail(ErrorCode::invalid_argument, "{} excludes {}; give one of them", flag->record.name, other->record.name);
      }
      (flag->source < other->source ? *flag : *other).source = ValueSource::none;
    }
  }
}

void Flags::take_values() {
  for (const auto& flag : flags_) {
    const FlagRecord& record = flag->record;
    if (flag->source == ValueSource::none) {
      if (!record.required) continue;
      fail(ErrorCode::invalid_argument, "{} is missing: {}; see {} --help", record.name, record.description, console_.name);
    }
    try {
      if (record.takes_path() && std::ranges::find(flag->values, "") != flag->values.end()) {
        fail(ErrorCode::invalid_argument, "{}: an empty name; name a {}", record.name, record.takes_folder() ? "folder" : "file");
      }
      flag->take(flag->values);
    } catch (const Error& error) {
      if (flag->origin.empty()) throw;
      throw Error(error, flag->origin + error.what());
    }
  }
}

namespace {

// The flag for a setting, where the command has one that takes this value. One that is hidden may be there to be refused.
SettingSpelling spelling_of(std::vector<FlagRecord> flags) {
  return [flags = std::move(flags)](Setting setting, const std::string& value) {
    const auto found = std::ranges::find_if(flags, [&](const FlagRecord& flag) { return !flag.hidden && flag.name == flag_of(setting); });
    if (found == flags.end()) return std::string();
    const std::vector<std::string>& allowed = found->choices;
    const bool takes = value.empty() || allowed.empty() || std::ranges::find(allowed, value) != allowed.end();
    return takes ? with_value(found->name, value) : std::string();
  };
}

}  // namespace

bool Flags::parse(const Arguments& arguments) {
  add_text("--config", "FILE",
           "read flags from this TOML or INI file; environment variables named after the flags take precedence, such as "
           "WICK_MAX_TOKENS",
           configuration_)
      .group(kGeneralGroup);
  add_switch("-h,--help", "print this help", wants_help_).group(kGeneralGroup).command_line_only();
  add_switch("--version", "print the version", wants_version_).group(kGeneralGroup).command_line_only();
  if (console_.on_record) {
    console_.on_record(record());
    return false;
  }
  read_command_line(arguments);
  if (find("--help")->source != ValueSource::none) {
    console_.out << help_text(record());
    return false;
  }
  if (find("--version")->source != ValueSource::none) {
    console_.out << fmt::format("{} {} ({})\n", console_.name, build_info().version, build_info().commit);
    return false;
  }
  refuse_what_is_unknown();
  refuse_what_is_repeated();
  read_environment();
  if (Flag* file = find("--config"); file->source != ValueSource::none) configuration_ = file->values.back();
  read_configuration();
  console_.spelling = spelling_of(records());
  drop_what_is_excluded();
  take_values();
  return true;
}

void add_model(Flags& flags, std::string& model, const std::string& description) {
  flags.add_text("-m,--model", "FILE|DIR", description, model);
}

Flags::Added add_context(Flags& flags, int64_t& context, const std::string& description, int64_t minimum) {
  return flags.add_integer("-c,--context,--ctx-size,--ctx", description, context, minimum);
}

void add_threads(Flags& flags, int& threads) {
  flags.add_integer("-t,--threads", "threads to compute with, 1 to 1024 (default: one per usable core)", threads, 1, 1024);
}

void add_mlock(Flags& flags, bool& mlock) {
  flags.add_switch("--mlock",
                   "keep the model in memory: the system neither swaps it out nor drops its pages (needs an unlimited ulimit -l)", mlock);
}

void lock_memory_if(bool mlock) {
  if (!mlock) return;
  try {
    lock_memory();
  } catch (const Error& error) {
    throw Error(error, fmt::format("--mlock: {}", error.what()));
  }
}

void add_json(Flags& flags, bool& json) { flags.add_switch("--json", "print JSON", json); }

void add_verbosity(Flags& flags, Console& console) {
  flags.add_switch("-q,--quiet", "print nothing but results, warnings and errors", console.quiet).group(kGeneralGroup);
  flags.add_switch("-v,--verbose", "print how the device was chosen, what was loaded, and all timings", console.verbose)
      .group(kGeneralGroup);
}

namespace {

// "auto", and the kinds for users that this program links.
std::vector<std::string> device_names() {
  std::vector<std::string> names = {"auto"};
  for (const Backend* backend : linked_backends()) {
    if (is_for_users(backend->kind)) names.emplace_back(to_string(backend->kind));
  }
  return names;
}

void add_placement(Flags& flags, DeviceChoice& choice) {
  flags.add_value(
      "--gpu-layers,--n-gpu-layers,--ngl", "N|all",
      "compute the last N layers on the GPU and the others on the CPU; a number above the model's layers is the whole model (all)",
      [&choice](const std::string& text) {
        choice.gpu_layers.reset();
        if (text != "all") choice.gpu_layers = parse_integer("--gpu-layers", text, 0, std::numeric_limits<int32_t>::max());
      });
  const Flags::Added all = flags.add_switch(
      "--cpu-moe,--cmoe", "compute the experts of all layers on the CPU, and the rest of each layer on the GPU", choice.all_cpu_experts);
  flags.add_integer("--n-cpu-moe,--ncmoe", "compute the experts of the first N layers on the CPU", choice.cpu_expert_layers, 0)
      .excludes(all);
}

}  // namespace

void add_device(Flags& flags, DeviceChoice& choice) {
  flags.add_text("--device", "DEVICE", "auto, cpu, vulkan:1 and so on; wick devices lists them (auto: the fastest one)", choice.name)
      .choices(device_names());
  for (const std::string_view kind : kUserDeviceKindNames) {
    const std::string flag = fmt::format("--{}-device", kind);
    flags
        .add_value(flag, "N", "",
                   [&choice, flag, kind](const std::string& text) {
                     choice.name = fmt::format("{}:{}", kind, parse_integer(flag, text, 0, kMaxOrdinal));
                   })
        .hidden();
  }
  flags.add_switch("--strict",
                   "fail if the best device cannot be opened, instead of falling back to the next one; always so with an explicit --device",
                   choice.strict);
  flags
      .add_value("--fallback-ops", "cpu|none", "run ops that the device lacks on the CPU, slowly, or fail (none)",
                 [&choice](const std::string& text) {
                   if (text != "cpu" && text != "none") fail(ErrorCode::invalid_argument, "--fallback-ops '{}': must be cpu or none", text);
                   choice.cpu_fallback = text == "cpu";
                 })
      .choices({"cpu", "none"});
  add_placement(flags, choice);
  flags.add_text("--trace", "FILE", "write a timeline of the GPU's kernels to FILE, for Chrome's trace viewer", choice.trace_file);
  flags.add_switch("--validate", "check GPU kernels for out-of-bounds and overlapping accesses (slow)", choice.validate);
}

}  // namespace wick
