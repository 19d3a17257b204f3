#include "wick/cli/commands/text_list.h"

#include <algorithm>

#include "wick/base/fail.h"
#include "wick/cli/text_input.h"
#include "wick/engine/prompt.h"
#include "wick/formats/printable.h"

namespace wick {

void add_text_list(Flags& flags, TextList& list) {
  const Flags::Added texts = flags.add_values("-p,--prompt,--text", "TEXT", "a text; repeatable", list.texts);
  flags.add_text("-f,--file", "FILE", "take each line of FILE as a text; - is standard input", list.file).excludes(texts);
}

void add_truncation(Flags& flags, Truncation& truncation) {
  flags
      .add_value("--truncate", "END", "cut texts that are longer than the model's context at their end or their start: end, start",
                 [&truncation](const std::string& word) {
                   if (word != "end" && word != "start") {
                     fail(ErrorCode::invalid_argument, "--truncate {}: want end or start", printable(word));
                   }
                   truncation = word == "end" ? Truncation::end : Truncation::start;
                 })
      .choices({"end", "start"});
}

std::vector<std::string> read_text_list(const Console& console, const TextList& list) {
  std::vector<std::string> texts = list.texts;
  std::string name = "--text";
  if (!list.file.empty()) {
    name = list.file == "-" ? "standard input" : list.file;
    const std::string content = list.file == "-" ? read_standard_input(console, "give --text or --file") : read_text_file(list.file);
    for (size_t begin = 0; begin < content.size();) {
      const size_t end = std::min(content.find('\n', begin), content.size());
      std::string line = content.substr(begin, end - begin);
      if (line.ends_with('\r')) line.pop_back();
      if (!line.empty()) texts.push_back(std::move(line));
      begin = end + 1;
    }
  }
  if (texts.empty()) fail(ErrorCode::invalid_argument, "{}: no text; give --text TEXT or --file FILE", name);
  for (const std::string& text : texts) {
    if (text.empty()) fail(ErrorCode::invalid_argument, "{}: a text is empty", name);
    check_prompt(text, name);
  }
  return texts;
}

}  // namespace wick
