// The conversation of `wick chat`: its flags, its commands, and how answers are shown.
#pragma once

#include <functional>
#include <string>

#include "wick/cli/commands/generate.h"
#include "wick/cli/console.h"
#include "wick/cli/flags/flags.h"
#include "wick/device/device.h"

namespace wick {

struct ChatCommandOptions {
  GenerateOptions generate;   // model, prompt, file, sampling, context, threads, precision
  std::string system;         // the system message; empty: none
  std::string tools_file;     // a JSON array; empty: none
  std::string chat_template;  // a name or a file; empty: the model's own
  std::string format;         // of tool calls; empty: what the template tells
  std::string variables;      // JSON: more of the template's variables
  bool no_color = false;
};

// Where a prompt may be a message instead of a text to be continued: --chat, and what implies it.
struct ChatFlags {
  bool chat = false;
  std::string system, tools;

  void add_to(Flags& flags);
  [[nodiscard]] bool wanted() const { return chat || !system.empty() || !tools.empty(); }
};

// Answers the prompt of `generate` as a message. Errors: chat()'s; invalid_argument for what only texts that are continued have.
void chat_once(Console& console, const GenerateOptions& generate, const ChatFlags& flags, const std::string& chat_template,
               const std::function<ModelDevice()>& open_device);

// The body of the subcommand.
void chat_command(Console& console, const Arguments& arguments);

void add_chat_flags(Flags& flags, ChatCommandOptions& options, Console& console);

// Answers --prompt, --file or standard input, or holds a conversation on the terminal. Errors: also not_found for a model without a chat
// template where none is chosen.
void chat(Console& console, const ChatCommandOptions& options, const std::function<ModelDevice()>& open_device);

}  // namespace wick
