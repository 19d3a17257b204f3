// The program `wick`: its subcommands, each in a file of its own.
#pragma once

#include "wick/cli/console.h"
#include "wick/cli/flags/command_record.h"

namespace wick {

[[nodiscard]] int run_wick(Console& console, const Arguments& arguments);

// Records of wick and all of its subcommands.
[[nodiscard]] CommandRecord describe_wick(Console& console);

// The bodies of the subcommands. The program's name is that of the subcommand: "wick bench".
void run_command(Console& console, const Arguments& arguments);
void serve_command(Console& console, const Arguments& arguments);
void info_command(Console& console, const Arguments& arguments);
void inspect_command(Console& console, const Arguments& arguments);
void tokenize_command(Console& console, const Arguments& arguments);
void detokenize_command(Console& console, const Arguments& arguments);
void logits_command(Console& console, const Arguments& arguments);
void perplexity_command(Console& console, const Arguments& arguments);
void score_command(Console& console, const Arguments& arguments);
void embed_command(Console& console, const Arguments& arguments);
void batch_command(Console& console, const Arguments& arguments);
void route_command(Console& console, const Arguments& arguments);
void classify_command(Console& console, const Arguments& arguments);
void rerank_command(Console& console, const Arguments& arguments);
void bench_command(Console& console, const Arguments& arguments);
void load_test_command(Console& console, const Arguments& arguments);
void imatrix_command(Console& console, const Arguments& arguments);
void quantize_command(Console& console, const Arguments& arguments);
void convert_command(Console& console, const Arguments& arguments);
void trace_diff_command(Console& console, const Arguments& arguments);
void synth_command(Console& console, const Arguments& arguments);
void devices_command(Console& console, const Arguments& arguments);
void coverage_command(Console& console, const Arguments& arguments);
void grammar_command(Console& console, const Arguments& arguments);
void gguf_command(Console& console, const Arguments& arguments);
void validate_command(Console& console, const Arguments& arguments);
void compat_check_command(Console& console, const Arguments& arguments);
void pull_command(Console& console, const Arguments& arguments);
void list_command(Console& console, const Arguments& arguments);
void rm_command(Console& console, const Arguments& arguments);
void list_architectures_command(Console& console, const Arguments& arguments);
void verify_receipt_command(Console& console, const Arguments& arguments);
void completion_command(Console& console, const Arguments& arguments);
void man_command(Console& console, const Arguments& arguments);

}  // namespace wick
