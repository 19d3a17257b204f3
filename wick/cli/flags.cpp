#include "wick/cli/flags.h"

#include <CLI/CLI.hpp>

#include <charconv>
#include <cmath>
#include <ostream>
#include <utility>

#include "wick/base/fail.h"
#include "wick/cli/build_info.h"
#include "wick/device/device_kind.h"

namespace wick {
namespace {

std::string describe_range(int64_t minimum, int64_t maximum) {
  if (maximum == std::numeric_limits<int64_t>::max()) return fmt::format("{} or more", minimum);
  return fmt::format("from {} to {}", minimum, maximum);
}

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

}  // namespace

int64_t parse_integer(std::string_view flag, std::string_view text, int64_t minimum, int64_t maximum) {
  int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = stop == text.data() + text.size();
  if (error == std::errc::invalid_argument || !whole) {
    fail(ErrorCode::invalid_argument, "{} '{}': not a whole number; it must be {}", flag, text, describe_range(minimum, maximum));
  }
  if (error != std::errc() || value < minimum || value > maximum) {
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

uint64_t parse_seed(std::string_view flag, std::string_view text) {
  uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size()) {
    fail(ErrorCode::invalid_argument, "{} '{}': must be a whole number from 0 to {}", flag, text, std::numeric_limits<uint64_t>::max());
  }
  return value;
}

Flags::Added& Flags::Added::required() {
  option_->required();
  return *this;
}

Flags::Added& Flags::Added::excludes(const Added& other) {
  option_->excludes(other.option_);
  return *this;
}

Flags::Added& Flags::Added::value_name(const std::string& name) {
  option_->option_text(name);
  return *this;
}

Flags::Added& Flags::Added::group(const std::string& heading) {
  option_->group(heading);
  return *this;
}

Flags::Added& Flags::Added::hidden() { return group(""); }

Flags::Added& Flags::Added::value_optional() {
  option_->expected(0, 1);
  return *this;
}

bool Flags::Added::given() const { return option_->count() > 0; }

Flags::Flags(const std::string& description, const Console& console)
    : console_(console), app_(std::make_unique<CLI::App>(description, console.name)) {}

Flags::~Flags() = default;

Flags::Added Flags::add_value(const std::string& flag, const std::string& value_name, const std::string& description,
                              const std::function<void(const std::string&)>& take) {
  return Added(*app_->add_option_function<std::string>(flag, take, description)->option_text(value_name)->take_last());
}

Flags::Added Flags::add_decimal(const std::string& flag, const std::string& description, float& target, double minimum, double maximum) {
  return add_value(flag, "X", description, [flag, &target, minimum, maximum](const std::string& text) {
    target = static_cast<float>(parse_decimal(flag, text, minimum, maximum));
  });
}

Flags::Added Flags::add_switch(const std::string& flag, const std::string& description, bool& target) {
  return Added(*app_->add_flag(flag, target, description));
}

Flags::Added Flags::add_values(const std::string& flag, const std::string& value_name, const std::string& description,
                               std::vector<std::string>& target) {
  return Added(*app_->add_option(flag, target, description)->option_text(value_name)->allow_extra_args(false));
}

Flags::Added Flags::add_argument(const std::string& name, const std::string& description, std::string& target) {
  return Added(*app_->add_option(name, target, description));
}

Flags::Added Flags::add_arguments(const std::string& name, const std::string& description, std::vector<std::string>& target) {
  return Added(*app_->add_option(name, target, description));
}

void Flags::footer(const std::string& text) { app_->footer(text); }

bool Flags::parse(const Arguments& arguments) {
  app_->set_version_flag("--version", fmt::format("{} {} ({})", console_.name, build_info().version, build_info().commit),
                         "print the version");
  app_->set_help_flag("-h,--help", "print this help");
  app_->get_formatter()->column_width(34);
  std::vector<std::string> split = split_empty_values(arguments);
  std::vector<std::string> reversed(split.rbegin(), split.rend());
  try {
    app_->parse(std::move(reversed));
  } catch (const CLI::Success& success) {
    app_->exit(success, console_.out, console_.err);
    return false;
  } catch (const CLI::ExtrasError&) {
    const std::vector<std::string> extras = app_->remaining(true);
    const std::string& first = extras.front();
    fail(ErrorCode::invalid_argument, "{} '{}'; {} --help lists what there is",
         first.starts_with('-') ? "unknown flag" : "unexpected argument", first, console_.name);
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string_view text = error.what();
    if (!text.ends_with("missing")) fail(ErrorCode::invalid_argument, "{}; see {} --help", text, console_.name);
    fail(ErrorCode::invalid_argument, "{}: its value is missing; see {} --help", text.substr(0, text.find(':')), console_.name);
  } catch (const CLI::ParseError& error) {
    fail(ErrorCode::invalid_argument, "{}; see {} --help", error.what(), console_.name);
  }
  return true;
}

void add_threads(Flags& flags, int& threads) {
  flags.add_integer("--threads", "threads to compute with, 1 to 1024 (default: one for each core)", threads, 1, 1024);
}

void add_device(Flags& flags, DeviceChoice& choice) {
  flags.add_value("--device", "DEVICE", "auto, cpu, vulkan:1 and so on (auto: the best one here)",
                  [&choice](const std::string& text) { choice.name = text; });
  for (const std::string_view kind : kUserDeviceKindNames) {
    const std::string flag = fmt::format("--{}-device", kind);
    flags
        .add_value(flag, "N", "",
                   [&choice, flag, kind](const std::string& text) {
                     choice.name = fmt::format("{}:{}", kind, parse_integer(flag, text, 0, kMaxOrdinal));
                   })
        .hidden();
  }
  flags.add_switch("--strict", "fail where the best device cannot be opened, instead of taking the next; an explicit --device is strict",
                   choice.strict);
  flags.add_value("--fallback-ops", "cpu|none", "what runs the ops that the device lacks: the CPU, slowly, or nothing: an error (none)",
                  [&choice](const std::string& text) {
                    if (text != "cpu" && text != "none")
                      fail(ErrorCode::invalid_argument, "--fallback-ops '{}': must be cpu or none", text);
                    choice.cpu_fallback = text == "cpu";
                  });
  flags.add_value("--trace", "FILE", "write what an accelerator ran, and when, for Chrome's trace viewer",
                  [&choice](const std::string& text) { choice.trace_file = text; });
  flags.add_switch("--validate", "check what an accelerator's kernels touch: slow", choice.validate);
}

std::string examples(std::initializer_list<std::string> lines) {
  std::string text = "Examples:\n";
  for (const std::string& line : lines) text += fmt::format("  {}\n", line);
  return text + "\n" + std::string(kExitCodeHelp);
}

}  // namespace wick
