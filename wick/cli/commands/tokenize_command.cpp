
#include <optional>
#include <ostream>

#include "wick/base/error.h"
#include "wick/base/json.h"
#include "wick/base/terminal_text.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/cli/flags/flags.h"
#include "wick/cli/hub/model_path.h"
#include "wick/cli/text_input.h"
#include "wick/text/tokenizer/tokenizer.h"

namespace wick {
namespace {

// The vocabulary's spelling as C writes it: a backslash of its own is doubled.
std::string spelled(std::string_view text) {
  std::string doubled;
  for (const char letter : text) doubled.append(letter == '\\' ? 2 : 1, letter);
  return on_one_line(doubled);
}

}  // namespace

void tokenize_command(Console& console, const Arguments& arguments) {
  std::string model;
  std::optional<std::string> text;
  std::optional<std::string> file;
  bool no_special = false;
  bool parse_special = false;
  bool json = false;
  Flags flags("Turns text into the token ids of a model's vocabulary: one id and its spelling a line.", console);
  add_model(flags, model, "a GGUF file (the vocabulary alone will do), a tokenizer.json or a .model (default: Wick's model)");
  const Flags::Added text_flag =
      flags.add_value("-p,--prompt,--text", "TEXT", "the text (default: standard input)", [&](const std::string& value) { text = value; });
  flags.add_value("-f,--file", "FILE", "a file with the text", [&](const std::string& value) { file = value; }).excludes(text_flag);
  flags.add_switch("--no-special", "leave out the BOS and EOS that the model's file calls for", no_special);
  flags.add_switch("--parse-special", "parse special tokens such as <|im_start|> in the text", parse_special);
  flags.add_switch("--json,--ids", "print an array of ids", json);
  flags.examples({"wick tokenize --model FILE.gguf --prompt \"Once upon a time\"",
                  "wick tokenize --model tokenizer.json --file novel.txt --json",
                  "echo -n \"<s>Hello\" | wick tokenize --model FILE.gguf --no-special --parse-special"});
  if (!flags.parse(arguments)) return;

  const auto tokenizer = Tokenizer::load(resolve_tokenizer(console, model));
  if (file) text = read_text_file(*file);
  if (!text) text = read_standard_input(console, "give --prompt or --file");
  const std::vector<TokenId> ids = tokenizer->encode(*text, {.add_special = !no_special, .parse_special = parse_special});
  if (json) {
    console.out << json_text(nlohmann::json(ids)) << '\n';
    return;
  }
  for (const TokenId id : ids) console.out << id << '\t' << spelled(tokenizer->token_text(id)) << '\n';
}

}  // namespace wick
