#include "wick/base/fail.h"
#include "wick/cli/adapter_flags.h"
#include "wick/cli/chat_session.h"
#include "wick/cli/generate.h"
#include "wick/cli/load_model.h"
#include "wick/cli/wick_command.h"

namespace wick {
namespace {

// --chat and what only makes sense with it, which implies it.
struct ChatFlags {
  bool chat = false;
  std::string system, tools, chat_template;

  void add_to(Flags& flags) {
    const char* group = "Chat";
    flags.add_switch("--chat", "take the prompt for a message, and answer it by the model's chat template", chat).group(group);
    flags.add_text("--system,--system-prompt", "TEXT", "the system prompt; implies --chat", system).group(group);
    flags.add_text("--tools", "FILE", "a JSON array of the tools that the model may call; implies --chat", tools).group(group);
    flags
        .add_text("--chat-template", "NAME|FILE", "another chat template: a name (chatml, llama3 …) or a Jinja file; implies --chat",
                  chat_template)
        .group(group);
  }
  [[nodiscard]] bool wanted() const { return chat || !system.empty() || !tools.empty() || !chat_template.empty(); }
};

}  // namespace

void run_command(Console& console, const Arguments& arguments) {
  GenerateOptions options;
  ChatFlags chat_flags;
  DeviceChoice device;
  Flags flags("Continues a text with a language model. The continuation alone goes to standard output; notes go to standard error.",
              console);
  add_generate_flags(flags, options, console);
  add_adapter_files(flags, options.adapters);
  chat_flags.add_to(flags);
  add_device(flags, device);
  flags.examples({"wick run --prompt \"Once upon a time\" --max-tokens 200",
                  "wick run --device cpu --prompt '\"My dear,\"' --temperature 0",
                  "wick run --model FILE.gguf --seed 7 --stop \"The End\" < prompt.txt",
                  "wick run -m FILE.gguf -f prompt.txt -n 64 --json --logprobs 5",
                  "wick run -m FILE.gguf --chat --system \"Be brief.\" --prompt \"Who was Jane Austen?\""});
  if (!flags.parse(arguments)) return;
  options.requested_device = device.name;
  if (chat_flags.wanted()) {
    if (!options.receipt.empty()) fail(ErrorCode::invalid_argument, "--chat: --receipt is for texts that are continued");
    check_generate_options(options);
    ChatCommandOptions chat_options;
    chat_options.generate = options;
    chat_options.system = chat_flags.system;
    chat_options.tools_file = chat_flags.tools;
    chat_options.chat_template = chat_flags.chat_template;
    return chat(console, chat_options, [&] { return open_device(console, device, options.threads); });
  }
  generate(console, options, [&] { return open_device(console, device, options.threads); });
}

}  // namespace wick
