// A CallForm is how a model writes the calls of tools, so that what it writes can be held to the tools' schemas.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "wick/text/grammar/token_constraint.h"

namespace [[gnu::visibility("default")]] wick {

// All texts may hold marks (OutputFormat::Kind::marked), and the name of the function goes between two of them.
struct CallForm {
  enum class Arguments { json, parameters, keys, dsml };  // an object; <parameter=…>; <arg_key>…; <｜DSML｜parameter …>

  std::string_view format;  // of chat_formats()
  std::string_view sign;    // what templates of models hold that write so; the first form that fits counts
  std::string_view begin;   // of the calls: a free text before them never holds it
  std::string_view before_name;
  std::string_view after_name;
  Arguments arguments = Arguments::json;
  std::string_view call_end;
  std::string_view between = {};  // two calls
  std::string_view end = {};      // of all calls
  bool spaced = false;            // before_name and after_name are JSON, where spaces and line breaks may stand
  std::string_view number = {};   // a pattern of what follows the name
};

// How a model with this template writes calls in this format; null where there are none to be written ("plain").
[[nodiscard]] const CallForm* find_call_form(std::string_view format, std::string_view template_source);

// One call or several of `tools` (as in ChatPrompt), with arguments that fit the parameters' schemas. `only`: the one function that may be
// called; empty: any. Errors: invalid_argument for tools that are no list of functions, and where `only` is none of them.
[[nodiscard]] OutputFormat calls_of_form(const CallForm& form, const std::string& tools, const std::string& only, bool parallel);

// The parts of the tools' schemas that calls can be constrained to.
struct EnforceableTools {
  struct Refusal {
    size_t index = 0;  // of the tool
    std::string name;  // of its function
    std::string reason;
  };
  std::string tools;  // with looser schemas where something cannot be enforced
  std::vector<Refusal> refusals;
};
// The enforceable tools for a model with this template and call format. If no call form is known, the schemas are refused that no form
// could enforce, and the tools stay as they are. Errors: invalid_argument for tools that are no list of functions.
[[nodiscard]] EnforceableTools enforceable_tools(std::string_view format, std::string_view template_source, const std::string& tools,
                                                 ConstraintCompiler& constraints);

}  // namespace wick
