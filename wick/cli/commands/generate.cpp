#include "wick/cli/commands/generate.h"

#include <istream>
#include <limits>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/interrupt.h"
#include "wick/base/process.h"
#include "wick/base/terminal_text.h"
#include "wick/cli/commands/generation_report.h"
#include "wick/cli/commands/line_editor.h"
#include "wick/cli/commands/receipt.h"
#include "wick/cli/flags/adapter_flags.h"
#include "wick/cli/flags/format_flags.h"
#include "wick/cli/hub/model_path.h"
#include "wick/cli/load_model.h"
#include "wick/cli/output_file.h"
#include "wick/cli/text_input.h"
#include "wick/device/random_stream.h"
#include "wick/tensor/ops/op_counts.h"

namespace wick {
namespace {

// `echo text | program` means text: the line break that ends it is left out.
std::string without_last_break(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

int64_t choose_context(const GenerateOptions& options, const ModelInfo& info) {
  if (options.context > info.context_length) {
    fail(ErrorCode::invalid_argument, "--context {}: {} was made for positions up to {}", options.context, info.name, info.longest());
  }
  return options.context > 0 ? options.context : info.context_length;
}

// --prompt, --file or standard input; none: a prompt loop.
std::optional<std::string> read_prompt(const Console& console, const GenerateOptions& options) {
  if (options.prompt) return options.prompt;  // an empty one begins at BOS
  std::string prompt;
  if (!options.file.empty() && options.file != "-") {
    prompt = without_last_break(read_text_file(options.file));
    check_prompt(prompt, options.file);
    return prompt;
  } else if (console.input_is_terminal && options.file != "-") {
    return std::nullopt;
  } else {
    prompt = without_last_break(read_standard_input(console, "give --prompt"));
  }
  if (prompt.empty()) {
    fail(ErrorCode::invalid_argument,
         "the prompt is empty; give --prompt TEXT or --file FILE, or write the prompt to standard input; --prompt '' begins without one");
  }
  return prompt;
}

// Says once that standard input holds text which nobody reads.
class UnreadInput {
 public:
  UnreadInput(const Console& console, const GenerateOptions& options) : console_(console), flag_(options.prompt ? "--prompt" : "--file") {
    watched_ = (options.prompt || (!options.file.empty() && options.file != "-")) && !console.input_is_terminal;
  }

  void check() {
    if (!watched_ || console_.in.rdbuf()->in_avail() <= 0) return;
    watched_ = false;
    console_.warn(fmt::format("standard input is not read, since {} is given; --file - takes the prompt from there", flag_));
  }

 private:
  const Console& console_;
  const char* flag_;
  bool watched_ = false;
};

struct Session {
  Console& console;
  const GenerateOptions& options;
  const PlacementOptions& placement;
  const LoadedModel& loaded;
  Generator& generator;
  InterruptGuard& interrupt;
  bool loop = false;
  const OpCounts* counts = nullptr;  // where a receipt is to be written
};

// One request: text to the output piece by piece, or all of it as JSON; seed and timings to the errors. Whether Ctrl-C stopped it.
bool answer(const Session& session, const std::string& prompt) {
  Console& console = session.console;
  const bool json = session.options.json;
  GenerationParams params = session.options.params;
  GenerationReport report{.random_seed = !params.sampling.seed};
  if (report.random_seed) params.sampling.seed = draw_seed();
  const InterruptGuard& interrupt = session.interrupt;
  params.is_cancelled = [&interrupt] { return interrupt.requested(); };
  if (json) params.logprobs = session.options.top_logprobs;
  report.result = session.generator.generate(prompt, params, [&](std::string_view text) {
    if (!json) console.out << (console.output_is_terminal ? answer_without_controls(text) : std::string(text)) << std::flush;
    if (!session.loop && report.first_text_after == 0) report.first_text_after = seconds_since_process_start();
    if (!console.out) fail(ErrorCode::io, "standard output: cannot be written to; is the disk full?");
    return !interrupt.requested();
  });
  if (json) {
    console.out << result_json(session.loaded, report, params) << std::endl;
  } else if (console.output_is_terminal) {
    // A file or pipe gets the text and nothing else; a terminal's next prompt should begin a line.
    console.out << std::endl;
  }
  if (report.result.stop_reason == StopReason::context_full) {
    console.warn(fmt::format("the text ends early: the context of {} tokens is full", session.generator.context()));
  }
  if (!session.options.receipt.empty()) {
    write_receipt(session.options.receipt, {.program = console.name,
                                            .requested_device = session.options.requested_device,
                                            .loaded = session.loaded,
                                            .report = report,
                                            .params = params,
                                            .format = session.options.format,
                                            .adapters = session.options.adapters,
                                            .precision = session.options.precision,
                                            .context = session.generator.context(),
                                            .placement = session.placement,
                                            .prompt = prompt,
                                            .kernels = session.counts->by_name()});
  }
  if (!session.options.no_timings) console.note(console.verbose ? detailed_line(report, params) : summary_line(report, params));
  return interrupt.requested();
}

void prompt_loop(const Session& session) {
  Console& console = session.console;
  console.err << "Each line is a prompt of its own, which the model continues; /help lists commands, Ctrl-D ends.\n";
  LineEditor editor(console, session.interrupt);
  bool interrupted = false;  // the last thing typed was Ctrl-C
  for (;;) {
    const InputLine line = editor.read();
    if (line.kind == InputLine::Kind::end) break;
    if (line.kind == InputLine::Kind::interrupt) {
      console.err << std::endl;
      if (interrupted && line.text.empty()) {
        console.exit_code = kExitInterrupted;
        return;
      }
      interrupted = true;
      console.err << "Ctrl-C again ends the program, as Ctrl-D does." << std::endl;
      continue;
    }
    interrupted = false;
    if (line.text == "/quit" || line.text == "/exit" || line.text == "/bye") return;
    if (line.text == "/help" || line.text == "/?") {
      console.err << "/help  print this list\n/quit  end, as Ctrl-D does\n"
                     "Ctrl-C stops an answer or clears the line; a second one ends the program.\n";
      continue;
    }
    if (line.text.empty()) continue;
    try {
      (void)answer(session, line.text);
    } catch (const Error& error) {
      // A prompt that does not fit is no reason to leave.
      console.error(console.message_of(error));
    }
  }
  console.err << std::endl;
}

}  // namespace

void add_generate_flags(Flags& flags, GenerateOptions& options, Console& console) {
  add_model(flags, options.model);
  const Flags::Added prompt =
      flags.add_value("-p,--prompt,--text", "TEXT", "the text to continue (default: standard input; on a terminal, a prompt loop)",
                      [&options](const std::string& text) { options.prompt = text; });
  flags.add_text("-f,--file", "FILE", "read the prompt from FILE; - is standard input", options.file).excludes(prompt);
  flags.add_value("-n,--max-tokens,--n-predict,--predict,--gen-tokens", "N", "maximum number of tokens to generate (256)",
                  [&options](const std::string& text) {
                    options.params.max_tokens = parse_integer("--max-tokens", text, 0, std::numeric_limits<int64_t>::max());
                    options.limits_tokens = true;
                  });
  add_context(flags, options.context, "context size in tokens, prompt and text together (the model's)", 1);
  flags.add_values("-r,--stop,--reverse-prompt", "TEXT", "stop at this text, which is not printed; repeatable", options.params.stop);
  flags.add_value("--stop-token", "IDS", "stop at any of these token ids, for example 2,32000",
                  [&options](const std::string& text) { options.params.stop_tokens = parse_tokens(text, "--stop-token"); });
  flags.add_switch("--ignore-eos", "continue after the model's end-of-text token", options.params.ignore_eos);
  flags.add_switch("--parse-special", "parse special tokens such as <|im_start|> in the prompt", options.params.parse_special);
  add_threads(flags, options.threads);
  add_precision(flags, options.precision);
  add_draft(flags, options.draft);
  add_mlock(flags, options.mlock);
  flags.add_switch("--json", "print one JSON object: text, tokens, log-probabilities, finish reason, timings", options.json);
  flags.add_integer("--logprobs,--top-logprobs", "with --json: also the N most likely tokens at each position (0)", options.top_logprobs, 0,
                    100);
  flags.add_text("--receipt", "FILE", "write what ran to FILE as JSON: model SHA-256, device, kernel launches, build, timings",
                 options.receipt);
  add_format(flags, options.format);
  add_sampling(flags, options.sampling);
  add_verbosity(flags, console);
  flags.add_switch("--no-timings,--no-show-timings", "do not print seed and speed after the text", options.no_timings).group("General");
}

void resolve_with_model(const Console& console, GenerateOptions& options, const LoadedModel& loaded) {
  options.params.sampling = resolve_sampling(options.sampling, loaded.file, *loaded.tokenizer, console);
  const int32_t vocabulary = loaded.tokenizer->vocab_size();
  for (const TokenId token : options.params.stop_tokens) {
    if (token >= 0 && token < vocabulary) continue;
    fail(ErrorCode::invalid_argument, "--stop-token: token {} is not in the vocabulary of {}", token, vocabulary);
  }
  if (options.format) options.params.constraint = ConstraintCompiler(loaded.tokenizer).compile(*options.format);
}

void generate(Console& console, const GenerateOptions& options, const std::function<ModelDevice()>& open_device) {
  const std::optional<std::string> prompt = read_prompt(console, options);
  if (!prompt && !options.receipt.empty()) fail(ErrorCode::invalid_argument, "--receipt: it is of one prompt; give --prompt or --file");
  std::optional<OpCounts> counts;
  if (!options.receipt.empty()) {
    check_writable(options.receipt, {options.file});
    counts.emplace();
  }
  if (options.top_logprobs > 0 && !options.json) console.warn("--logprobs is for --json alone");
  UnreadInput unread(console, options);
  unread.check();
  const std::filesystem::path path = resolve_model(console, options.model);
  lock_memory_if(options.mlock);
  const ModelDevice device = open_device();
  const LoadedModel loaded = load_model(console, path, device, options.precision);
  if (counts) refuse_to_overwrite(loaded.file, options.receipt);
  const std::shared_ptr<LanguageModel> draft = load_draft(console, options.draft, loaded, options.precision);
  Generator generator(*loaded.model, loaded.tokenizer, choose_context(options, loaded.model->info()), draft.get(), options.draft.tokens);
  GenerateOptions resolved = options;
  load_adapters(options.adapters, *loaded.model, resolved.params);
  resolve_with_model(console, resolved, loaded);
  InterruptGuard interrupt;  // until here Ctrl-C ends the program: there is no answer to stop
  const Session session{.console = console,
                        .options = resolved,
                        .placement = device.placement,
                        .loaded = loaded,
                        .generator = generator,
                        .interrupt = interrupt,
                        .loop = !prompt,
                        .counts = counts ? &*counts : nullptr};
  if (!prompt) {
    prompt_loop(session);
  } else if (answer(session, *prompt)) {
    console.exit_code = kExitInterrupted;
  }
  unread.check();  // what came later
  note_fallback_ops(console, loaded.model->device());
}

}  // namespace wick
