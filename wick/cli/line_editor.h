// A LineEditor reads lines from a terminal, with editing and a history of the session where libedit is installed.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "wick/cli/console.h"

namespace wick {

// libedit is opened when the first editor is made, not linked: programs that read no terminal need neither it nor what it needs, and
// without it lines are read as they are.
class LineEditor {
 public:
  explicit LineEditor(const Console& console);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  // The next line without its end; none at the end of the input.
  [[nodiscard]] std::optional<std::string> read();

 private:
  struct Libedit;

  const Console& console_;
  std::unique_ptr<Libedit> libedit_;  // none: plain lines
};

}  // namespace wick
