// The program `wick`: its subcommands, each in a file of its own.
#pragma once

#include "cli/program.h"

namespace wick {

[[nodiscard]] int run_wick(Program& program, const Arguments& arguments);

// A subcommand's body. The program's name is that of the subcommand: "wick bench".
using Subcommand = void (*)(Program& program, const Arguments& arguments);

void run_command(Program& program, const Arguments& arguments);
void inspect_command(Program& program, const Arguments& arguments);
void tokenize_command(Program& program, const Arguments& arguments);
void detokenize_command(Program& program, const Arguments& arguments);
void logits_command(Program& program, const Arguments& arguments);
void perplexity_command(Program& program, const Arguments& arguments);
void bench_command(Program& program, const Arguments& arguments);
void imatrix_command(Program& program, const Arguments& arguments);
void quantize_command(Program& program, const Arguments& arguments);
void synth_command(Program& program, const Arguments& arguments);
void devices_command(Program& program, const Arguments& arguments);
void coverage_command(Program& program, const Arguments& arguments);

}  // namespace wick
