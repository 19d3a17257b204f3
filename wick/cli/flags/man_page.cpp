#include "wick/cli/flags/man_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "wick/base/ascii.h"
#include "wick/base/utf8.h"
#include "wick/cli/build_info.h"
#include "wick/cli/console.h"
#include "wick/cli/flags/wrap.h"

namespace wick {
namespace {

// Text as roff takes it for itself. A "-" is a minus sign, which can be searched for and copied; other characters than ASCII are named.
std::string escaped(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const DecodedCharacter character = decode_character(text, at);
    if (character.length > 1) {
      out += fmt::format("\\[u{:04X}]", static_cast<uint32_t>(character.code));
    } else if (text[at] == '\\') {
      out += "\\e";
    } else if (text[at] == '-') {
      out += "\\-";
    } else {
      out += text[at];
    }
    at += character.length;
  }
  // A line that begins with one of these is a request.
  if (out.starts_with('.') || out.starts_with('\'')) out.insert(0, "\\&");
  return out;
}

// A request with one argument, which may hold spaces and quotes.
std::string request(std::string_view name, std::string_view argument) {
  std::string quoted = escaped(argument);
  for (size_t at = quoted.find('"'); at != std::string::npos; at = quoted.find('"', at + 4)) quoted.replace(at, 1, "\\(dq");
  return fmt::format(".{} \"{}\"\n", name, quoted);
}

// Lines of the source, which roff fills or takes as they are.
constexpr size_t kSourceWidth = 72;

std::string paragraph(std::string_view text) {
  const std::string wrapped = wrap(text, 0, kSourceWidth);
  std::string out;
  for (size_t begin = 0; begin <= wrapped.size();) {
    const size_t end = std::min(wrapped.find('\n', begin), wrapped.size());
    out += escaped(std::string_view(wrapped).substr(begin, end - begin)) + "\n";
    begin = end + 1;
  }
  return out;
}

// Lines that begin with a space stand as they are.
std::string preformatted(std::string_view text) {
  std::string out;
  bool inside = false;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.empty()) continue;
    if (line.starts_with(' ') != inside) {
      inside = !inside;
      out += inside ? ".PP\n.nf\n" : ".fi\n.PP\n";
    }
    out += paragraph(line);
  }
  return inside ? out + ".fi\n" : out;
}

std::string manual_entry(const FlagRecord& record) {
  std::string out = ".TP\n";
  const std::string value = record.value_name.empty() ? "" : fmt::format(" \\fI{}\\fR", escaped(record.value_name));
  std::string line;
  for (const std::string& name : record.names()) {
    line += fmt::format("{}\\fB{}\\fR{}", line.empty() ? "" : ", ", escaped(name), name == record.names().back() ? value : "");
  }
  return out + line + "\n" + paragraph(record.description);
}

std::string options(const CommandRecord& command) {
  std::string out;
  const std::vector<FlagRecord> arguments = arguments_of(command);
  if (!arguments.empty()) out += ".SH ARGUMENTS\n";
  for (const FlagRecord& record : arguments) out += manual_entry(record);
  const std::vector<std::string> groups = groups_of(command);
  if (!groups.empty()) out += ".SH OPTIONS\n";
  for (const std::string& group : groups) {
    if (groups.size() > 1) out += request("SS", group);
    for (const FlagRecord& record : named_flags(command)) {
      if (record.group == group) out += manual_entry(record);
    }
  }
  return out;
}

std::string environment(const CommandRecord& command) {
  std::string out;
  for (const FlagRecord& record : named_flags(command)) {
    if (record.variable.empty()) continue;
    out += request("TP\n.B", record.variable) + paragraph(fmt::format("The value of {} where the command line has none.", record.name));
  }
  const std::vector<FlagRecord> flags = named_flags(command);
  if (std::any_of(flags.begin(), flags.end(), [](const FlagRecord& record) { return record.name == "--device"; })) {
    out += request("TP\n.B", "WICK_CACHE_DIR") + paragraph(
                                                     "Where programs that were compiled for accelerators, and what was learnt of the "
                                                     "processor, are kept; empty: nowhere (~/.cache/wick).");
    out += request("TP\n.B", "WICK_LIBRARY_PATH") +
           paragraph("Folders, with colons between them, in which the libraries of drivers are looked for before the system's own places.");
  }
  return out.empty() ? "" : ".SH ENVIRONMENT\n" + out;
}

std::string reference(std::string_view command) { return fmt::format("\\fB{}\\fR(1)", escaped(man_name(command))); }

std::string see_also(const CommandRecord& command, const std::vector<std::string>& above) {
  std::string out;
  const auto add = [&out](std::string_view name) { out += (out.empty() ? "" : ",\n") + reference(name); };
  for (const std::string& name : above) add(name);
  for (const CommandRecord& subcommand : command.subcommands) add(subcommand.name);
  return out.empty() ? "" : ".SH SEE ALSO\n" + out + "\n";
}

}  // namespace

std::string man_name(std::string_view command) {
  std::string name(command);
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string man_page(const CommandRecord& command, const std::vector<std::string>& above) {
  const std::string name = man_name(command.name);
  std::string out =
      fmt::format(".TH {} 1 {} \"wick {}\" \"User Commands\"\n", escaped(ascii_uppercase(name)), build_info().date, build_info().version);
  out += fmt::format(".SH NAME\n{} \\- {}\n", escaped(name), escaped(command.summary));
  out += fmt::format(".SH SYNOPSIS\n\\fB{}\\fR {}\n", escaped(command.name), escaped(usage_of(command)));
  out += ".SH DESCRIPTION\n" + preformatted(command.description);
  if (!command.subcommands.empty()) out += ".SH SUBCOMMANDS\n";
  for (const CommandRecord& subcommand : command.subcommands) {
    out += fmt::format(".TP\n{}\n{}", reference(subcommand.name), paragraph(subcommand.summary));
  }
  out += options(command);
  if (!command.notes.empty()) out += ".SH NOTES\n" + preformatted(command.notes);
  out += environment(command);
  out += ".SH EXIT STATUS\n";
  for (const ExitCode& exit : kExitCodes) out += request("TP\n.B", std::to_string(exit.code)) + paragraph(exit.meaning);
  if (!command.examples.empty()) out += ".SH EXAMPLES\n.nf\n";
  for (const std::string& example : command.examples) out += escaped(example) + "\n";
  if (!command.examples.empty()) out += ".fi\n";
  return out + see_also(command, above);
}

}  // namespace wick
