#include "wick/cli/commands/wick_command.h"

#include <fmt/format.h>

#include <array>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "wick/cli/build_info.h"
#include "wick/cli/commands/chat_session.h"
#include "wick/cli/commands/subcommands.h"
#include "wick/cli/flags/flag_sources.h"

namespace wick {
namespace {

constexpr auto kWickSubcommands = std::to_array<Subcommand>({
    {"run", "continue a text with a language model", run_command},
    {"chat", "talk with a language model", chat_command},
    {"serve", "serve a language model over HTTP", serve_command},
    {"route", "put several servers behind one address", route_command},
    {"batch", "answer a file of requests in OpenAI's batch format", batch_command},
    {"pull", "download a model from a hub", pull_command},
    {"list", "list the models that were downloaded", list_command},
    {"rm", "remove a model that was downloaded", rm_command},
    {"info", "show what this program finds here, or what a model is", info_command},
    {"inspect", "show the metadata and tensors of a model file", inspect_command},
    {"tokenize", "turn text into token ids", tokenize_command},
    {"detokenize", "turn token ids into text", detokenize_command},
    {"logits", "write a model's logits for a text to a .npy file", logits_command},
    {"grammar", "check a JSON Schema, grammar or pattern, and texts against it", grammar_command},
    {"perplexity", "measure how well a model predicts a text", perplexity_command},
    {"score", "say how likely a model finds given texts", score_command},
    {"embed", "turn texts into vectors with a model", embed_command},
    {"rerank", "score texts by a query with a reranker", rerank_command},
    {"classify", "label texts or their tokens with a classifier", classify_command},
    {"bench", "measure the speed of a model", bench_command},
    {"load-test", "measure how fast a server answers many requests", load_test_command},
    {"imatrix", "compute an importance matrix for `wick quantize --imatrix`", imatrix_command},
    {"quantize", "convert a model to another quantization", quantize_command},
    {"convert", "write a Hugging Face folder as a GGUF file", convert_command},
    {"gguf", "show, change, split, merge and hash GGUF files", gguf_command},
    {"validate", "check the numbers in a model file against a policy", validate_command},
    {"compat-check", "check whether this program can run a model file", compat_check_command},
    {"list-architectures", "list the architectures that this version runs", list_architectures_command},
    {"trace-diff", "find the first matrix whose input differs between two runs", trace_diff_command},
    {"verify-receipt", "check a receipt of wick run --receipt", verify_receipt_command},
    {"synth", "write a model with random weights, for benchmarks", synth_command},
    {"devices", "list the devices that this program can use", devices_command},
    {"coverage", "list which ops run natively on which backend", coverage_command},
    {"completion", "print completions for bash, zsh or fish", completion_command},
    {"man", "print or write man pages", man_command},
});

FlagRecord own_switch(const std::string& name, const std::string& short_name, const std::string& description) {
  return {.name = name,
          .short_name = short_name,
          .aliases = {},
          .value_name = {},
          .description = description,
          .group = "Flags",
          .variable = {}};
}

CommandGroup wick_group() {
  return {.name = "wick",
          .description = "Runs, quantizes and measures language models.",
          .examples = {"wick run --prompt \"Once upon a time\" --max-tokens 200", "wick inspect models/novelist-20m-q8_0.gguf",
                       "wick bench --model FILE.gguf --prompt-tokens 512 --max-tokens 128 --json"},
          .flags = {own_switch("--help", "-h", "print this help"), own_switch("--version", "", "print the version"),
                    own_switch("--build-info", "", "print as JSON what this program was built from and with")},
          .subcommands = kWickSubcommands};
}

// What configuration files may have for the command, or for those below it.
void append_sections(const CommandRecord& command, std::vector<SectionFlags>& sections) {
  for (const CommandRecord& subcommand : command.subcommands) append_sections(subcommand, sections);
  if (!command.subcommands.empty()) return;
  SectionFlags own{.section = section_of(command.name), .flags = {}};
  for (const FlagRecord& flag : command.flags) {
    if (flag.positional) continue;
    own.flags.push_back(flag.name);
    own.flags.insert(own.flags.end(), flag.aliases.begin(), flag.aliases.end());
  }
  sections.push_back(std::move(own));
}

void dispatch(Console& console, const Arguments& arguments) {
  if (!arguments.empty() && arguments.front() == "--version") {
    console.out << fmt::format("wick {} ({})\n", build_info().version, build_info().commit);
    return;
  }
  if (!arguments.empty() && arguments.front() == "--build-info") {
    console.out << build_info_json() << '\n';
    return;
  }
  seed_process(console);
  console.sections = [&console] {
    std::vector<SectionFlags> sections;
    append_sections(describe_wick(console), sections);
    return sections;
  };
  run_group(console, wick_group(), arguments);
}

}  // namespace

CommandRecord describe_wick(Console& console) {
  CommandRecord record = describe(console, wick_group());
  record.summary = "run, quantize and measure language models";
  return record;
}

int run_wick(Console& console, const Arguments& arguments) {
  return run_guarded(console, [&] { dispatch(console, arguments); });
}

}  // namespace wick
