// A CallBeginning finds out whether a text begins with a call of a form, as far as the text is known.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wick/text/chat/call_form.h"
#include "wick/text/chat/tool_schemas.h"

namespace wick {

// The pieces of a form's text that are not white space: marks <…> and […], and what is between them.
[[nodiscard]] std::vector<std::string_view> solid_pieces(std::string_view text);

struct CallBeginning {
  enum class State : uint8_t { none, maybe, found };
  State state = State::none;
  size_t length = 0;      // of the text up to the end of the name, or of an object up to its "{"
  std::string name = {};  // empty for an object, whose name is inside
  std::string id = {};
};

struct BeginningOptions {
  bool first = true;                   // of an answer's calls: the form's `begin` is there
  const ToolSchemas* names = nullptr;  // that there are, whatever is in them; null: none are known
  bool any_name = true;                // others count too, as far as they are words
  bool at_end = false;                 // no more text comes
};

// White space between the parts of a form may be more or less than the form has.
[[nodiscard]] CallBeginning match_beginning(const CallForm& form, std::string_view text, const BeginningOptions& options);

}  // namespace wick
