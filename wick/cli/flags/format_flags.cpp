#include "wick/cli/flags/format_flags.h"

#include <algorithm>
#include <string>

#include "wick/base/fail.h"
#include "wick/cli/text_input.h"

namespace wick {
namespace {

constexpr const char* kGroup = "Constrained output";

// The text itself if it can be nothing else, else the file's.
std::string text_or_file(const std::string& value, bool is_text) { return is_text ? value : read_text_file(value); }

}  // namespace

void add_format(Flags& flags, std::optional<OutputFormat>& format) {
  const Flags::Added schema =
      flags
          .add_value("-j,--json-schema,--json-schema-file", "FILE",
                     "JSON that is valid under a JSON Schema: a file, or the schema itself: {…}",
                     [&format](const std::string& value) {
                       const bool is_text =
                           value.find_first_not_of(" \t\r\n") != std::string::npos && value[value.find_first_not_of(" \t\r\n")] == '{';
                       format = OutputFormat{.kind = OutputFormat::Kind::json_schema, .text = text_or_file(value, is_text)};
                     })
          .group(kGroup);
  const Flags::Added grammar =
      flags
          .add_value("--grammar,--grammar-file", "FILE", "text that a GBNF grammar describes: a file, or the grammar itself: root ::= …",
                     [&format](const std::string& value) {
                       const bool is_text = value.find("::=") != std::string::npos;
                       format = OutputFormat{.kind = OutputFormat::Kind::grammar, .text = text_or_file(value, is_text)};
                     })
          .excludes(schema)
          .group(kGroup);
  const Flags::Added regex =
      flags
          .add_value("--regex", "PATTERN", "text that the regular expression matches in full",
                     [&format](const std::string& value) { format = OutputFormat{.kind = OutputFormat::Kind::regex, .text = value}; })
          .excludes(schema)
          .excludes(grammar)
          .group(kGroup);
  flags
      .add_value("--choices", "LIST", "one of these texts: yes,no,maybe",
                 [&format](const std::string& value) {
                   if (value.empty()) fail(ErrorCode::invalid_argument, "--choices: an empty list; write texts with commas: yes,no");
                   OutputFormat choices{.kind = OutputFormat::Kind::choices};
                   for (size_t begin = 0; begin <= value.size();) {
                     const size_t end = std::min(value.find(',', begin), value.size());
                     choices.choices.push_back(value.substr(begin, end - begin));
                     begin = end + 1;
                   }
                   format = choices;
                 })
      .excludes(schema)
      .excludes(grammar)
      .excludes(regex)
      .group(kGroup);
}

}  // namespace wick
