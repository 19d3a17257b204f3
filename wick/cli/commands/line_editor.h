// A LineEditor reads lines from a terminal, with editing and a history of the session where libedit is installed.
#pragma once

#include <memory>
#include <string>

#include "wick/base/interrupt.h"
#include "wick/cli/console.h"

namespace wick {

struct InputLine {
  enum class Kind { text, interrupt, end };  // a line; Ctrl-C, which throws the line away; the end of the input
  Kind kind = Kind::end;
  std::string text = {};  // without its end; what Ctrl-C threw away, where that is known
};

// libedit is opened when the first editor is made, not linked: programs that read no terminal need neither it nor what it needs, and
// without it lines are read as they are.
class LineEditor {
 public:
  // The guard must live as long.
  LineEditor(const Console& console, InterruptGuard& interrupt);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  // Shows the prompt and reads a line. Ctrl-C is answered here: the guard does not remember it.
  [[nodiscard]] InputLine read();

 private:
  struct Libedit;
  [[nodiscard]] InputLine read_plain();
  [[nodiscard]] InputLine read_terminal_line();

  const Console& console_;
  InterruptGuard& interrupt_;
  std::unique_ptr<Libedit> libedit_;  // none: plain lines
};

}  // namespace wick
