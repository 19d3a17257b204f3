
#include <istream>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/cli/flags/flags.h"
#include "wick/cli/flags/format_flags.h"
#include "wick/cli/text_input.h"
#include "wick/text/grammar/format_matcher.h"

namespace wick {
namespace {

using Json = nlohmann::ordered_json;

// Longer samples are given up: nothing ends a text that a format lets go on.
constexpr size_t kLongestSample = 20'000;

std::vector<std::string> samples(FormatMatcher& matcher, std::mt19937_64& random, int64_t count) {
  std::vector<std::string> result;
  for (int64_t attempt = 0; attempt < 20 * count && static_cast<int64_t>(result.size()) < count; ++attempt) {
    if (std::optional<std::string> text = matcher.sample(random, kLongestSample)) result.push_back(std::move(*text));
  }
  return result;
}

OutputFormat format_of(const Json& request) {
  OutputFormat format{.any_spelling = request.value("any_spelling", false),
                      .whitespace = request.value("whitespace", true),
                      .enforce_formats = request.value("enforce_formats", true)};
  if (request.contains("json_schema")) {
    format.kind = OutputFormat::Kind::json_schema;
    format.text = json_text(request["json_schema"]);
  } else if (request.contains("grammar")) {
    format.kind = OutputFormat::Kind::grammar;
    format.text = request["grammar"].get<std::string>();
  } else if (request.contains("regex")) {
    format.kind = OutputFormat::Kind::regex;
    format.text = request["regex"].get<std::string>();
  } else if (request.contains("choices")) {
    format.kind = OutputFormat::Kind::choices;
    format.choices = request["choices"].get<std::vector<std::string>>();
  }
  return format;
}

Json answer(const Json& request, std::mt19937_64& random) {
  try {
    FormatMatcher matcher(format_of(request));
    Json accepted = Json::array();
    for (const Json& text : request.value("texts", Json::array())) accepted.push_back(!matcher.mismatch(text.get<std::string>()));
    Json drawn = Json::array();
    for (const std::string& text : samples(matcher, random, request.value("samples", int64_t{0}))) drawn.push_back(text);
    return {{"accepted", accepted}, {"samples", drawn}};
  } catch (const Error& error) {
    return {{"error", to_string(error.code())}, {"message", error.what()}};
  }
}

// One request a line, one answer a line.
void answer_lines(Console& console, std::mt19937_64& random) {
  std::string line;
  for (size_t number = 1; std::getline(console.in, line); ++number) {
    if (line.empty()) continue;
    try {
      console.out << json_text(answer(parse_ordered_json(line), random)) << '\n' << std::flush;
    } catch (const Json::exception&) {
      fail(ErrorCode::invalid_argument, "standard input: line {}: not a request like {{\"json_schema\": {{…}}, \"texts\": [\"…\"]}}",
           number);
    }
  }
}

// Editors end a file with a line feed. It counts only where the format has it.
void drop_final_newline(FormatMatcher& matcher, std::string& text) {
  if (!text.ends_with('\n') || !matcher.mismatch(text)) return;
  text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
}

void check_text(Console& console, FormatMatcher& matcher, const std::string& text) {
  const std::optional<size_t> mismatch = matcher.mismatch(text);
  if (!mismatch) {
    console.out << "fits\n";
    return;
  }
  console.exit_code = kExitUserError;
  if (*mismatch == text.size()) {
    console.out << fmt::format("does not fit: ends too early, after {} bytes\n", text.size());
  } else {
    console.out << fmt::format("does not fit: byte {}: {}\n", *mismatch, json_text(Json(text.substr(*mismatch, 20))));
  }
}

}  // namespace

void grammar_command(Console& console, const Arguments& arguments) {
  std::optional<OutputFormat> format;
  std::optional<std::string> text;
  std::string file;
  int64_t count = 0;
  uint64_t seed = 0;
  bool lines = false;
  Flags flags(
      "Checks a JSON Schema, grammar or pattern: whether it can be enforced, whether a text fits it, and what random texts that fit look "
      "like.",
      console);
  add_format(flags, format);
  const Flags::Added text_flag =
      flags.add_value("-p,--prompt,--text", "TEXT", "say whether this text fits", [&](const std::string& value) { text = value; });
  flags
      .add_text("-f,--file", "FILE", "say whether the text in FILE fits, without its final line feed if need be; - is standard input", file)
      .excludes(text_flag);
  flags.add_integer("--samples", "write N random texts that fit, each as a JSON string (0)", count, 0, 100'000);
  flags.add_value("-s,--seed", "N", "the same seed gives the same samples (0)",
                  [&](const std::string& value) { seed = parse_seed("--seed", value); });
  flags.add_switch("--lines",
                   "answer requests on standard input, one JSON object a line: json_schema, grammar, regex or choices; texts; samples",
                   lines);
  flags.examples({"wick grammar --json-schema schema.json --file answer.json", "wick grammar --regex '[0-9]{4}-[0-9]{2}' --samples 5",
                  "wick grammar --grammar list.gbnf --text \"- milk\""});
  if (!flags.parse(arguments)) return;
  std::mt19937_64 random(seed);
  if (lines) return answer_lines(console, random);
  if (!format) fail(ErrorCode::invalid_argument, "nothing to check: give --json-schema, --grammar, --regex or --choices");
  FormatMatcher matcher(*format);
  if (!file.empty()) {
    text = file == "-" ? read_standard_input(console, "give --text or --file") : read_text_file(file);
    drop_final_newline(matcher, *text);
  }
  if (text) check_text(console, matcher, *text);
  for (const std::string& sample : samples(matcher, random, count)) console.out << json_text(Json(sample)) << '\n';
  if (!text && count == 0) console.out << "can be enforced\n";
}

}  // namespace wick
