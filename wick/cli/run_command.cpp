#include "wick/cli/generate.h"
#include "wick/cli/load_model.h"
#include "wick/cli/wick_command.h"

namespace wick {

void run_command(Console& console, const Arguments& arguments) {
  GenerateOptions options;
  DeviceChoice device;
  Flags flags("Continues a text with a language model. The continuation alone goes to standard output; notes go to standard error.",
              console);
  add_generate_flags(flags, options, console);
  add_device(flags, device);
  flags.examples({"wick run --prompt \"Once upon a time\" --max-tokens 200",
                  "wick run --device cpu --prompt '\"My dear,\"' --temperature 0",
                  "wick run --model FILE.gguf --seed 7 --stop \"The End\" < prompt.txt",
                  "wick run -m FILE.gguf -f prompt.txt -n 64 --json --logprobs 5"});
  if (!flags.parse(arguments)) return;
  options.requested_device = device.name;
  generate(console, options, [&] { return open_device(console, device, options.threads); });
}

}  // namespace wick
