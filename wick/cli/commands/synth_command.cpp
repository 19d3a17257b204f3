#include <fmt/ranges.h>

#include <ostream>

#include "wick/base/error.h"
#include "wick/base/process.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/cli/flags/flags.h"
#include "wick/cli/progress_bar.h"
#include "wick/cli/text_format.h"
#include "wick/convert/synthetic.h"
#include "wick/convert/synthetic_family.h"

namespace wick {

void synth_command(Console& console, const Arguments& arguments) {
  SyntheticOptions options;
  std::string shape;
  std::string out;
  bool untied = false;
  options.threads = usable_cores();
  Flags flags("Writes a GGUF model with random weights and a working tokenizer, for benchmarks on machines without downloads.", console);
  flags
      .add_value("--arch", "NAME", "the architecture, such as qwen3 (llama)",
                 [&](const std::string& value) { options.architecture = value; })
      .choices(synthetic_architectures());
  flags
      .add_value("--shape", "SHAPE", "1b, 8b, or layers,width,feed-forward,heads,KV heads,vocabulary",
                 [&](const std::string& value) { shape = value; })
      .choices({"1b", "8b"})
      .required();
  flags
      .add_value("--type", "TYPE", "the weights' type or mix, in upper or lower case; see below (q8_0)",
                 [&](const std::string& value) { options.type = value; })
      .choices(synthetic_types());
  flags.add_switch("--untied", "give the model an output matrix of its own (with a SHAPE in numbers)", untied);
  flags.add_text("-o,--out,--output", "FILE", "the file to write", out).required();
  flags.add_value("-s,--seed", "N", "same seed, same file (1)",
                  [&](const std::string& value) { options.seed = parse_seed("--seed", value); });
  add_threads(flags, options.threads);
  add_verbosity(flags, console);
  const std::string types = fmt::format(
      "Architectures: {}\nTypes: {}\nA block format applies to every matrix; the other names are the mixes of wick quantize. Weights are "
      "random codes and scales, not quantized random numbers. BitNet's embedding is f16.",
      fmt::join(synthetic_architectures(), " "), fmt::join(synthetic_types(), " "));
  flags.notes(types);
  flags.examples({"wick synth --arch llama --shape 1b --type q4_k_m --out synthetic-1b.gguf",
                  "wick synth --arch mamba2 --shape 1b --out mamba2-1b.gguf",
                  "wick synth --arch bitnet --shape 1b --type tq2_0 --out bitnet-1b.gguf",
                  "wick synth --shape 4,256,768,8,4,1000 --type q8_0 --out tiny.gguf --seed 7"});
  if (!flags.parse(arguments)) return;

  options.shape = parse_synthetic_shape(shape);
  if (untied) options.shape.tied = false;
  uint64_t bytes = 0;
  {
    ProgressBar bar(console, "writing");
    options.progress = [&](uint64_t done, uint64_t total) {
      bytes = done;
      bar.update(done, total, format_bytes(done));
    };
    write_synthetic_model(out, options);
  }
  console.note(fmt::format("wrote {}, {} of weights", out, format_bytes(bytes)));
}

}  // namespace wick
