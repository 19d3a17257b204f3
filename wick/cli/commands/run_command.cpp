#include "wick/cli/commands/chat_session.h"
#include "wick/cli/commands/generate.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/cli/flags/adapter_flags.h"
#include "wick/cli/load_model.h"

namespace wick {

void run_command(Console& console, const Arguments& arguments) {
  GenerateOptions options;
  ChatFlags chat_flags;
  std::string chat_template;
  DeviceChoice device;
  Flags flags("Continues a text with a language model. The continuation alone goes to standard output; notes go to standard error.",
              console);
  add_generate_flags(flags, options, console);
  add_adapter_files(flags, options.adapters);
  chat_flags.add_to(flags);
  flags
      .add_text("--chat-template", "NAME|FILE", "another chat template: a name (chatml, llama3 …) or a Jinja file; implies --chat",
                chat_template)
      .group("Chat");
  add_device(flags, device);
  flags.examples({"wick run --prompt \"Once upon a time\" --max-tokens 200",
                  "wick run --device cpu --prompt '\"My dear,\"' --temperature 0",
                  "wick run --model FILE.gguf --seed 7 --stop \"The End\" < prompt.txt",
                  "wick run -m FILE.gguf -f prompt.txt -n 64 --json --logprobs 5",
                  "wick run -m FILE.gguf --chat --system \"Be brief.\" --prompt \"Who was Jane Austen?\""});
  if (!flags.parse(arguments)) return;
  options.requested_device = device.name;
  const auto open = [&] { return open_model_device(console, device, options.threads); };
  if (chat_flags.wanted() || !chat_template.empty()) return chat_once(console, options, chat_flags, chat_template, open);
  generate(console, options, open);
}

}  // namespace wick
