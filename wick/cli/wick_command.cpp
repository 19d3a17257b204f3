#include "wick/cli/wick_command.h"

#include <fmt/format.h>

#include <array>
#include <ostream>
#include <string>

#include "wick/base/fail.h"
#include "wick/cli/build_info.h"
#include "wick/cli/flags.h"

namespace wick {
namespace {

struct Entry {
  std::string_view name;
  std::string_view description;
  Subcommand body;
};

constexpr std::array<Entry, 12> kSubcommands = {{
    {"run", "continue a text with a language model", run_command},
    {"inspect", "show the metadata and tensors of a model file", inspect_command},
    {"tokenize", "turn text into token ids", tokenize_command},
    {"detokenize", "turn token ids into text", detokenize_command},
    {"logits", "write a model's logits for a text to a .npy file", logits_command},
    {"perplexity", "measure how well a model predicts a text", perplexity_command},
    {"bench", "measure the speed of a model", bench_command},
    {"imatrix", "collect what lets quantization spend precision where it counts", imatrix_command},
    {"quantize", "turn a model into one of another type", quantize_command},
    {"synth", "write a model with random weights, for benchmarks", synth_command},
    {"devices", "list the devices that this program can use", devices_command},
    {"coverage", "list which ops run natively on which backend", coverage_command},
}};

void print_help(const Console& console) {
  console.out << "Tools around language models.\n\nUsage: wick SUBCOMMAND [FLAGS]; wick SUBCOMMAND --help tells more.\n\nSubcommands:\n";
  for (const Entry& entry : kSubcommands) console.out << fmt::format("  {:<12} {}\n", entry.name, entry.description);
  console.out
      << "\nFlags:\n  -h,--help    print this help\n  --version    print the version\n  --build-info print as JSON what this program was "
         "built from and with\n\n"
      << examples({"wick run --prompt \"Once upon a time\" --max-tokens 200", "wick inspect models/novelist-20m-q8_0.gguf",
                   "wick bench --model FILE.gguf --prompt-tokens 512 --gen-tokens 128 --json"})
      << '\n';
}

void dispatch(Console& console, const Arguments& arguments) {
  if (arguments.empty()) fail(ErrorCode::invalid_argument, "no subcommand; wick --help lists them");
  const std::string& first = arguments.front();
  if (first == "--help" || first == "-h" || first == "help") return print_help(console);
  if (first == "--version") {
    console.out << fmt::format("wick {} ({})\n", build_info().version, build_info().commit);
    return;
  }
  if (first == "--build-info") {
    console.out << build_info_json() << '\n';
    return;
  }
  for (const Entry& entry : kSubcommands) {
    if (entry.name != first) continue;
    console.name = fmt::format("wick {}", entry.name);
    return entry.body(console, {arguments.begin() + 1, arguments.end()});
  }
  fail(ErrorCode::invalid_argument, "no {} '{}'; wick --help lists them", first.starts_with('-') ? "flag" : "subcommand", first);
}

}  // namespace

int run_wick(Console& console, const Arguments& arguments) {
  return run_guarded(console, [&] { dispatch(console, arguments); });
}

}  // namespace wick
