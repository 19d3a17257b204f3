#include "cli/generate.h"
#include "cli/load_model.h"
#include "cli/wick_command.h"

namespace wick {

void run_command(Console& console, const Arguments& arguments) {
  GenerateOptions options;
  DeviceChoice device;
  CLI::App app("Continues a text with a language model. The continuation alone goes to standard output; notes go to standard error.",
               console.name);
  add_generate_flags(app, options, console);
  add_device(app, device);
  add_version(app, console);
  app.footer(
      examples({"wick run --prompt \"Once upon a time\" --max-tokens 200", "wick run --device cpu --prompt '\"My dear,\"' --temperature 0",
                "wick run --model FILE.gguf --seed 7 --stop \"The End\" < prompt.txt"}));
  if (!parse_flags(app, arguments, console)) return;
  generate(console, options, open_device(console, device, options.threads));
}

}  // namespace wick
