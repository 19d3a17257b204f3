#include "wick/cli/generate.h"

#include <algorithm>
#include <istream>
#include <ostream>
#include <string>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/process.h"
#include "wick/cli/load_model.h"
#include "wick/cli/model_path.h"
#include "wick/cli/text_format.h"
#include "wick/cli/text_input.h"

namespace wick {
namespace {

void add_sampling_flags(Flags& flags, SamplingParams& sampling) {
  const char* group = "Sampling";
  flags.add_decimal("--temperature", "0: always the likeliest token; higher: more surprises; 0 to 2 (0.8)", sampling.temperature, 0, 2)
      .group(group);
  flags.add_integer("--top-k", "choose among the K likeliest tokens; 0: all (40)", sampling.top_k, 0).group(group);
  flags
      .add_decimal("--top-p", "choose among the likeliest tokens that together reach this probability; 0 to 1 (0.95)", sampling.top_p, 0, 1)
      .group(group);
  flags.add_decimal("--min-p", "leave out tokens less likely than this share of the likeliest; 0 to 1 (0.05)", sampling.min_p, 0, 1)
      .group(group);
  flags
      .add_decimal("--repetition-penalty", "above 1: tokens that were there become less likely; 1 and 0: off; 0 to 2 (1)",
                   sampling.repetition_penalty, 0, 2)
      .group(group);
  flags.add_decimal("--presence-penalty", "taken from the logit of tokens that were there; -2 to 2 (0)", sampling.presence_penalty, -2, 2)
      .group(group);
  flags.add_decimal("--frequency-penalty", "taken from it once for each time; -2 to 2 (0)", sampling.frequency_penalty, -2, 2).group(group);
  flags.add_integer("--penalty-window", "tokens that penalties look back on; -1: all, 0: none (64)", sampling.penalty_window, -1)
      .group(group);
  flags
      .add_value("--seed", "N", "same seed, same text, on one kind of processor (random, and printed)",
                 [&sampling](const std::string& text) { sampling.seed = parse_seed("--seed", text); })
      .group(group);
}

// The whole of standard input, without the line break that ends it: `echo text | program` means text.
std::string read_prompt(const Console& console) {
  std::string prompt = read_standard_input(console, "give --prompt");
  if (prompt.ends_with('\n')) prompt.pop_back();
  if (prompt.ends_with('\r')) prompt.pop_back();
  return prompt;
}

int64_t choose_context(const GenerateOptions& options, const ModelInfo& info) {
  if (options.context > info.context_length) {
    fail(ErrorCode::invalid_argument, "--context {}: {} was made for at most {} positions", options.context, info.name,
         info.context_length);
  }
  return options.context > 0 ? options.context : info.context_length;
}

void note_result(const Console& console, const GenerationResult& result, double first_text_after) {
  const std::string first = first_text_after > 0 ? fmt::format("first text {:.0f} ms after start; ", first_text_after * 1000) : "";
  console.note(fmt::format(
      "prefill {} tokens in {:.3f} s ({:.1f} tokens/s); decode {} tokens in {:.3f} s ({:.1f} tokens/s); {}stopped by {}; peak "
      "memory {}",
      result.prompt_tokens, result.prefill_seconds, result.prefill_tokens_per_second(), result.tokens.size(), result.decode_seconds,
      result.decode_tokens_per_second(), first, to_string(result.stop_reason), format_bytes(peak_resident_bytes())));
}

// One request: text to the output piece by piece, seed and timings to the errors.
void answer(Console& console, Generator& generator, const std::string& prompt, GenerationParams params, bool loop) {
  const bool random = !params.sampling.seed;
  if (random) params.sampling.seed = random_seed();
  if (params.sampling.temperature > 0) {
    console.note(random ? fmt::format("seed {0} (random; --seed {0} repeats it)", *params.sampling.seed)
                        : fmt::format("seed {}", *params.sampling.seed));
  }
  double first_text_after = 0;
  const GenerationResult result = generator.generate(prompt, params, [&](std::string_view text) {
    console.out << text << std::flush;
    if (!loop && first_text_after == 0) first_text_after = seconds_since_process_start();
    if (!console.out) fail(ErrorCode::io, "standard output: cannot be written to; is the disk full?");
    return true;
  });
  // A file or pipe gets the text and nothing else; a terminal's next prompt should stand on a line of its own.
  if (console.output_is_terminal) console.out << std::endl;
  note_result(console, result, first_text_after);
}

void prompt_loop(Console& console, Generator& generator, const GenerationParams& params) {
  console.err << "Write the beginning of a text; /help lists commands, /quit or Ctrl-D ends.\n";
  std::string line;
  while (console.err << "> " << std::flush, std::getline(console.in, line)) {
    if (line == "/quit") return;
    if (line == "/help") {
      console.err << "/quit  end\n/help  this list\nAnything else is continued by the model; each line is a text of its own.\n";
      continue;
    }
    if (line.empty()) continue;
    try {
      answer(console, generator, line, params, true);
    } catch (const Error& error) {
      // A prompt that does not fit is no reason to leave.
      console.error(error.what());
    }
  }
  console.err << std::endl;
}

}  // namespace

void add_generate_flags(Flags& flags, GenerateOptions& options, Console& console) {
  flags.add_value("--model", "FILE|DIR", "a GGUF model, or a folder with one (default: the model that comes with Wick)",
                  [&options](const std::string& text) {
                    if (text.empty()) fail(ErrorCode::invalid_argument, "--model: an empty name; name a .gguf file");
                    options.model = text;
                  });
  flags.add_value("--prompt", "TEXT", "the text to continue (default: standard input; on a terminal, a prompt loop)",
                  [&options](const std::string& text) { options.prompt = text; });
  flags.add_integer("--max-tokens", "the most tokens to generate (256)", options.params.max_tokens, 0);
  flags.add_values("--stop", "TEXT", "end before this text; may come several times", options.params.stop);
  flags.add_switch("--ignore-eos", "go on when the model ends its text", options.params.ignore_eos);
  flags.add_switch("--parse-special", "control tokens spelled out in the prompt are those tokens", options.params.parse_special);
  flags.add_integer("--context", "the most tokens that prompt and text may have together (the model's)", options.context, 1);
  add_threads(flags, options.threads);
  add_precision(flags, options.precision);
  flags.add_switch("--quiet", "say nothing but errors", console.quiet);
  add_sampling_flags(flags, options.params.sampling);
}

void check_generate_options(const GenerateOptions& options) {
  for (const std::string& stop : options.params.stop) {
    if (stop.empty()) fail(ErrorCode::invalid_argument, "--stop '': a stop string must not be empty");
  }
}

void generate(Console& console, const GenerateOptions& options, const Device& device) {
  check_generate_options(options);
  const std::filesystem::path path = resolve_model(console, options.model);
  const bool loop = !options.prompt && console.input_is_terminal;
  const LoadedModel loaded = load_model(console, path, device, options.precision);
  Generator generator(*loaded.model, loaded.tokenizer, choose_context(options, loaded.model->info()));
  if (loop) {
    prompt_loop(console, generator, options.params);
  } else {
    answer(console, generator, options.prompt ? *options.prompt : read_prompt(console), options.params, false);
  }
  note_fallback_ops(console, device);
}

}  // namespace wick
