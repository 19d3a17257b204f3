// Measures constraints on tokens: how long a schema takes to compile, and a mask to fill, along texts that fit.
//
//   wick_constraint_bench VOCABULARY [ROUNDS [CASE]]
//
// CASE: only the cases whose name holds it. VOCABULARY is what Tokenizer::load takes; a vocabulary of 128,000 tokens is the one that
// counts. Each text is read token by token as the tokenizer cuts it, with a mask before each token: first by a constraint that has cached
// nothing, then by others of the same format.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "wick/base/error.h"
#include "wick/text/chat/chat_output_format.h"
#include "wick/text/grammar/token_constraint.h"
#include "wick/text/tokenizer/tokenizer.h"

namespace {

using Clock = std::chrono::steady_clock;
using wick::OutputFormat;
using Kind = OutputFormat::Kind;

double microseconds_since(Clock::time_point start) { return std::chrono::duration<double, std::micro>(Clock::now() - start).count(); }

struct Case {
  std::string name;
  OutputFormat format;
  std::vector<std::string> texts;
};

std::string large_schema() {
  std::string properties;
  for (int index = 0; index < 20; ++index) {
    properties += fmt::format(
        R"({}"p{}":{{"type":"string","maxLength":100}},"list_{}":{{"type":"array","items":{{"type":"object","properties":{{"id":{{"type":"integer","minimum":0,"maximum":65535}},)"
        R"("when":{{"type":"string","format":"date-time"}},"kind":{{"enum":["alpha","beta","gamma"]}}}},"required":["id","kind"],"additionalProperties":false}},"maxItems":10}})",
        index > 0 ? "," : "", index, index);
  }
  return R"({"type":"object","additionalProperties":false,"properties":{)" + properties + "}}";
}

// What a model with tools may write whose calls are XML: a text, and calls whose parameters are written without quotes.
OutputFormat answer_or_call() {
  const std::string tools =
      R"([{"type":"function","function":{"name":"write","parameters":{"type":"object","properties":{)"
      R"("path":{"type":"string","pattern":"^[a-z/]+\\.(md|txt)$"},"title":{"type":"string","maxLength":60},"content":{"type":"string"},)"
      R"("mode":{"type":"string","enum":["append","replace"]},"lines":{"type":"integer"}},"required":["path","content"]}}}])";
  wick::ChatRules rules{.format = "qwen3-coder", .calls = wick::ChatRules::Calls::allowed, .tools = tools};
  return *wick::chat_output_format(rules);
}
std::string call_in_xml() {
  return "I write it.\n<tool_call>\n<function=write>\n<parameter=path>\nnotes/today.md\n</parameter>\n<parameter=title>\nWhat a day, 日本語"
         "\n</parameter>\n<parameter=content>\nOnce upon a time <b>there</b> was a fox.\nIt "
         "jumped.\n</parameter>\n<parameter=mode>\nappend\n"
         "</parameter>\n</function>\n</tool_call>";
}

std::vector<Case> cases() {
  const std::string prose = "The quick brown fox jumps over the lazy dog, again and again; \\\"why?\\\" it asks. Grüße, 日本語 and 🙂 too.";
  const std::string person =
      R"({"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"},"email":{"type":"string","format":"email"},)"
      R"("tags":{"type":"array","items":{"type":"string","maxLength":40}},"address":{"type":"object","properties":{"street":{"type":"string"},)"
      R"("zip":{"type":"string","pattern":"^[0-9]{5}$"}},"required":["street"],"additionalProperties":false}},)"
      R"("required":["name","age"],"additionalProperties":false})";
  return {
      {"JSON object",
       {.kind = Kind::json},
       {R"({"a": [1, 2.5e3, "x", {"b": null, "c": [true, {"d": "e"}]}], "text": ")" + prose + R"("})",
        "{\n  \"k\": \"" + prose + "\",\n  \"n\": [\n    {\n      \"m\": [[1], [2]]\n    }\n  ]\n}"}},
      {"schema of a person, in any order",
       {.kind = Kind::json_schema, .text = person, .any_order = true},
       {R"({"name": "Ada Lovelace", "age": 36, "email": "ada@example.com", "tags": ["mathematics", "poetry"], "address": {"street": ")" +
        prose + R"(", "zip": "12345"}})"}},
      {"schema of a person",
       {.kind = Kind::json_schema, .text = person},
       {R"({"name": "Ada Lovelace", "age": 36, "email": "ada@example.com", "tags": ["mathematics", "poetry"], "address": {"street": ")" +
        prose + R"(", "zip": "12345"}})"}},
      {"schema of 40 properties, in any order",
       {.kind = Kind::json_schema, .text = large_schema(), .any_order = true},
       {R"({"p0": "some words of text", "list_3": [{"id": 65535, "when": "2024-02-29T12:30:00Z", "kind": "beta"}, {"id": 7, "kind": "gamma"}], "p19": "the end"})"}},
      {"schema of 40 properties",
       {.kind = Kind::json_schema, .text = large_schema()},
       {R"({"p0": "some words of text", "list_3": [{"id": 65535, "when": "2024-02-29T12:30:00Z", "kind": "beta"}, {"id": 7, "kind": "gamma"}], "p19": "the end"})"}},
      {"regex of prose",
       {.kind = Kind::regex, .text = "[A-Z][a-z ,;'-]{10,400}\\."},
       {"The quick brown fox jumps over the lazy dog, again and again; it is tired by now."}},
      {"regex of a date", {.kind = Kind::regex, .text = "\\d{4}-(0[1-9]|1[0-2])-([0-2]\\d|3[01])"}, {"2024-12-31"}},
      {"choices", {.kind = Kind::choices, .choices = {"positive", "negative", "neutral"}}, {"neutral"}},
      {"ambiguous: a text in pairs",
       {.kind = Kind::grammar, .text = "root ::= x\nx ::= [a-z ,.] x | [a-z ,.] x x | [a-z ,.]"},
       {"the quick brown fox jumps over the lazy dog, again and again, and again. it is tired by now."}},
      {"ambiguous: words in words",
       {.kind = Kind::regex, .text = "(([a-z]{1,20} ?){1,20}[,.]? ?){1,50}"},
       {"the quick brown fox jumps over it, again and again."}},
      {"ambiguous: a letter before the end",
       {.kind = Kind::regex, .text = ".*a.{20}"},
       {"The quick brown fox jumps over the lazy dog, again and again."}},
      {"an answer, or calls in XML", answer_or_call(), {"The answer is: a < b, and <b>bold</b>. Grüße, 日本語.", call_in_xml()}},
  };
}

std::string percentiles(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[std::min(values.size() - 1, static_cast<size_t>(share * static_cast<double>(values.size())))];
  };
  return fmt::format("{:.1f} | {:.1f} | {:.1f}", at(0.5), at(0.99), values.back());
}

// The shortest times of many rounds, by place in the texts: other programs take the processor away now and then.
struct Times {
  std::vector<double> masks;
  std::vector<double> accepts;

  void add(size_t place, double mask, double accept) {
    if (place == masks.size()) {
      masks.push_back(mask);
      accepts.push_back(accept);
    }
    masks[place] = std::min(masks[place], mask);
    accepts[place] = std::min(accepts[place], accept);
  }
};

void read(wick::TokenConstraint& constraint, const std::vector<wick::TokenId>& tokens, size_t first_place, Times& times) {
  std::vector<uint64_t> mask(wick::mask_words(constraint.vocab_size()));
  constraint.reset();
  for (const wick::TokenId token : tokens) {
    const auto start = Clock::now();
    constraint.fill_mask(mask);
    const double filled = microseconds_since(start);
    const auto begin = Clock::now();
    constraint.accept(token);
    times.add(first_place++, filled, microseconds_since(begin));
  }
}

void measure(const std::shared_ptr<const wick::Tokenizer>& tokenizer, const Case& entry, int rounds, Times& all_first, Times& all_later) {
  double compile = 1e9;
  Times first;
  Times later;
  wick::ConstraintCompiler compiler(tokenizer);
  static_cast<void>(compiler.compile({.kind = Kind::literal, .text = "x"}));  // the vocabulary's trie
  for (int round = 0; round < rounds; ++round) {
    // A format of its own: nothing of it is compiled or cached yet.
    OutputFormat format = entry.format;
    if (format.parts.empty()) {
      format.parts.resize(static_cast<size_t>(round));
    } else {
      format.text = std::to_string(round);
    }
    const auto start = Clock::now();
    const auto constraint = compiler.compile(format);
    compile = std::min(compile, microseconds_since(start) / 1000);
    size_t place = 0;
    for (const std::string& text : entry.texts) {
      const std::vector<wick::TokenId> tokens = tokenizer->encode(text, {.add_special = false});
      read(*constraint, tokens, place, first);
      read(*constraint, tokens, place, later);
      place += tokens.size();
    }
  }
  fmt::print("| {} | {:.2f} | {} | {} | {} |\n", entry.name, compile, percentiles(first.masks), percentiles(later.masks),
             percentiles(later.accepts));
  all_first.masks.insert(all_first.masks.end(), first.masks.begin(), first.masks.end());
  all_later.masks.insert(all_later.masks.end(), later.masks.begin(), later.masks.end());
}

}  // namespace

int main(int argument_count, char** arguments) {
  try {
    if (argument_count < 2) {
      std::cerr << "wick_constraint_bench: name a vocabulary\n";
      return 2;
    }
    const int rounds = argument_count > 2 ? std::stoi(arguments[2]) : 10;
    const auto tokenizer = wick::Tokenizer::load(arguments[1]);
    const auto start = Clock::now();
    static_cast<void>(wick::ConstraintCompiler(tokenizer).compile({.kind = Kind::literal, .text = "x"}));
    fmt::print("{} tokens; their trie once: {:.0f} ms\n\n", tokenizer->vocab_size(), microseconds_since(start) / 1000);
    fmt::print(
        "| format | compile, ms | mask, nothing cached: median, µs | p99 | most | mask, cached: median | p99 | most | accept: median | p99 "
        "| most |\n");
    fmt::print("|---|---|---|---|---|---|---|---|---|---|---|\n");
    Times first;
    Times later;
    const std::string wanted = argument_count > 3 ? arguments[3] : "";
    for (const Case& entry : cases()) {
      if (entry.name.find(wanted) != std::string::npos) measure(tokenizer, entry, rounds, first, later);
    }
    fmt::print("| all | | {} | {} | | | |\n", percentiles(first.masks), percentiles(later.masks));
    return 0;
  } catch (const wick::Error& error) {
    std::cerr << "wick_constraint_bench: " << error.what() << '\n';
    return 2;
  }
}
