#include <optional>
#include <ostream>

#include "wick/base/error.h"
#include "wick/base/terminal_text.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/cli/flags/flags.h"
#include "wick/cli/hub/model_path.h"
#include "wick/cli/text_input.h"
#include "wick/text/tokenizer/tokenizer.h"

namespace wick {

void detokenize_command(Console& console, const Arguments& arguments) {
  std::string model;
  std::optional<std::string> tokens;
  std::optional<std::string> file;
  bool special = false;
  Flags flags("Turns token ids into text. A line break is added on a terminal only.", console);
  add_model(flags, model, "a GGUF file (the vocabulary alone will do), a tokenizer.json or a .model (default: Wick's model)");
  const Flags::Added tokens_flag = flags.add_value("--tokens", "IDS", "like 0,5,9 or [0, 5, 9] (default: standard input)",
                                                   [&](const std::string& value) { tokens = value; });
  flags.add_value("-f,--file", "FILE", "a file with the ids", [&](const std::string& value) { file = value; }).excludes(tokens_flag);
  flags.add_switch("--special", "write special tokens too", special);
  flags.examples({"wick detokenize --model FILE.gguf --tokens 0,5,9",
                  "wick tokenize --model FILE.gguf --prompt \"a b c\" --json | wick detokenize --model FILE.gguf"});
  if (!flags.parse(arguments)) return;

  const auto tokenizer = Tokenizer::load(resolve_tokenizer(console, model));
  std::vector<TokenId> ids;
  if (tokens) {
    ids = parse_tokens(*tokens, "--tokens");
  } else if (file) {
    ids = parse_tokens(read_text_file(*file), *file);
  } else {
    ids = parse_tokens(read_standard_input(console, "give --tokens or --file"), "standard input");
  }
  const std::string text = tokenizer->decode(ids, !special);
  if (console.output_is_terminal) {
    console.out << answer_without_controls(text) << '\n';
  } else {
    console.out << text;
  }
}

}  // namespace wick
