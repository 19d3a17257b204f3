#include "wick/cli/commands/chat_session.h"
#include "wick/cli/load_model.h"

namespace wick {

void chat_command(Console& console, const Arguments& arguments) {
  ChatCommandOptions options;
  DeviceChoice device;
  Flags flags(
      "Chats with a language model, using its chat template. On a terminal each message is answered as it is typed; "
      "otherwise standard input, or --prompt, is one message, and the answer alone goes to standard output.",
      console);
  add_chat_flags(flags, options, console);
  add_device(flags, device);
  flags.notes(
      "Commands of a conversation:\n"
      "  /system TEXT   sets the system prompt; without TEXT: shows it\n"
      "  /regen         answers the last message again\n"
      "  /edit TEXT     replaces the last message and answers it\n"
      "  /save FILE, /load FILE   the conversation as JSON\n"
      "  /set NAME VALUE          parameters of sampling such as top_k, max_tokens, seed, thinking\n"
      "  /set           shows them\n"
      "  /tools FILE    a JSON array of the tools that the model may call\n"
      "  /clear, /stats, /metrics, /help, /quit\n"
      "  A message of several lines begins and ends with \"\"\", or each line but the last ends with \\.\n");
  flags.examples({"wick chat --model FILE.gguf", "wick chat -m FILE.gguf --system \"Answer in one sentence.\" --temperature 0",
                  "wick chat -m FILE.gguf --chat-template chatml --prompt \"Who was Jane Austen?\""});
  if (!flags.parse(arguments)) return;
  chat(console, options, [&] { return open_model_device(console, device, options.generate.threads); });
}

}  // namespace wick
