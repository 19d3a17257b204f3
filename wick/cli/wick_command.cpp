#include "wick/cli/wick_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <string>
#include <vector>

#include "wick/base/fail.h"
#include "wick/cli/build_info.h"
#include "wick/cli/flags.h"
#include "wick/cli/suggest.h"
#include "wick/cli/wrap.h"

namespace wick {
namespace {

struct Entry {
  std::string_view name;
  std::string_view description;
  Subcommand body;
};

constexpr std::array kSubcommands = std::to_array<Entry>({
    {"run", "continue a text with a language model", run_command},
    {"inspect", "show the metadata and tensors of a model file", inspect_command},
    {"tokenize", "turn text into token ids", tokenize_command},
    {"detokenize", "turn token ids into text", detokenize_command},
    {"logits", "write a model's logits for a text to a .npy file", logits_command},
    {"perplexity", "measure how well a model predicts a text", perplexity_command},
    {"bench", "measure the speed of a model", bench_command},
    {"imatrix", "compute an importance matrix for `wick quantize --imatrix`", imatrix_command},
    {"quantize", "convert a model to another quantization", quantize_command},
    {"gguf", "show, change, split, merge and hash GGUF files", gguf_command},
    {"validate", "check the numbers in a model file against a policy", validate_command},
    {"compat-check", "check whether this program can run a model file", compat_check_command},
    {"list-architectures", "list the architectures that this version runs", list_architectures_command},
    {"verify-receipt", "check a receipt of wick run --receipt", verify_receipt_command},
    {"synth", "write a model with random weights, for benchmarks", synth_command},
    {"devices", "list the devices that this program can use", devices_command},
    {"coverage", "list which ops run natively on which backend", coverage_command},
});

std::vector<std::string> subcommand_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kSubcommands) names.emplace_back(entry.name);
  return names;
}

void print_help(const Console& console) {
  console.out << "Runs, quantizes and measures language models.\n\nUsage: wick SUBCOMMAND [FLAGS]; wick help SUBCOMMAND tells "
                 "more.\n\nSubcommands:\n";
  for (const Entry& entry : kSubcommands) console.out << fmt::format("  {:<19} {}\n", entry.name, entry.description);
  console.out << "\nFlags:\n"
                 "  -h, --help          print this help\n"
                 "  --version           print the version\n"
                 "  --build-info        print as JSON what this program was built from and with\n\n"
              << wrap(examples({"wick run --prompt \"Once upon a time\" --max-tokens 200", "wick inspect models/novelist-20m-q8_0.gguf",
                                "wick bench --model FILE.gguf --prompt-tokens 512 --gen-tokens 128 --json"}))
              << '\n';
}

void run_subcommand(Console& console, const std::string& name, const Arguments& arguments) {
  const std::vector<std::string> names = subcommand_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    std::vector<std::string> known = names;
    if (name.starts_with('-')) known = {"--help", "--version", "--build-info"};
    fail(ErrorCode::invalid_argument, "no {} '{}'{}; wick --help lists them", name.starts_with('-') ? "flag" : "subcommand", name,
         did_you_mean(name, known));
  }
  const Entry& entry = kSubcommands[static_cast<size_t>(found - names.begin())];
  console.name = fmt::format("wick {}", entry.name);
  console.sections = names;
  entry.body(console, arguments);
}

void dispatch(Console& console, const Arguments& arguments) {
  const std::string& first = arguments.front();
  if (first == "--version") {
    console.out << fmt::format("wick {} ({})\n", build_info().version, build_info().commit);
  } else if (first == "--build-info") {
    console.out << build_info_json() << '\n';
  } else if (first == "--help" || first == "-h" || first == "help") {
    if (arguments.size() == 1) return print_help(console);
    // `wick help gguf set` is `wick gguf set --help`.
    Arguments rest(arguments.begin() + 2, arguments.end());
    rest.emplace_back("--help");
    run_subcommand(console, arguments[1], rest);
  } else {
    run_subcommand(console, first, {arguments.begin() + 1, arguments.end()});
  }
}

}  // namespace

void describe_subcommands(Console& console, const std::function<void(const std::string& command, const Flags& flags)>& take) {
  for (const Entry& entry : kSubcommands) {
    console.on_flags = [&](const Flags& flags) { take(console.name, flags); };
    console.name = fmt::format("wick {}", entry.name);
    entry.body(console, {});
  }
  console.on_flags = {};
}

int run_wick(Console& console, const Arguments& arguments) {
  if (arguments.empty()) {
    // As git does: whoever types the name alone wants to know what there is, and a script that does has forgotten something.
    print_help(console);
    return kExitInternal;
  }
  return run_guarded(console, [&] { dispatch(console, arguments); });
}

}  // namespace wick
