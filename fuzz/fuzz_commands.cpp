// Takes any bytes for a model file and runs the programs on it that a user would: whatever is in the file, they end with exit code 0 or 2.
// This is where a model's configuration is read, its weights are loaded and run, a text is scored, importance is collected and types are
// planned, written and read again.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "outcome.h"
#include "wick/cli/commands/wick_command.h"

namespace {

namespace fs = std::filesystem;

// One folder for all inputs of this process.
const fs::path& folder() {
  static const fs::path made = [] {
    fs::path path = fs::temp_directory_path() / ("wick-fuzz-" + std::to_string(::getpid()));
    fs::create_directories(path);
    std::ofstream(path / "text.txt") << "the quick brown fox jumps over the lazy dog and the dog sleeps on";
    std::atexit([] {
      std::error_code ignored;
      fs::remove_all(folder(), ignored);
    });
    return path;
  }();
  return made;
}

void write(const fs::path& path, const uint8_t* data, size_t size) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
}

// The lines that are no warnings.
int error_lines(const std::string& words) {
  std::istringstream lines(words);
  int count = 0;
  for (std::string line; std::getline(lines, line);) count += line.find(": warning: ") == std::string::npos;
  return count;
}

// Whether the command succeeded. Exit code 1 says that Wick itself is at fault; an error is one line, whatever was warned of before.
bool run(const wick::Arguments& arguments) {
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  wick::Console console{.name = "wick", .executable = {}, .in = in, .out = out, .err = err};
  const int code = wick::run_wick(console, arguments);
  if (code == wick::kExitSuccess) return true;
  if (code != wick::kExitUserError || error_lines(err.str()) != 1) {
    std::fprintf(stderr, "exit code %d: %s\n", code, err.str().c_str());
    std::abort();
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string model = folder() / "model.gguf";
  const std::string text = folder() / "text.txt";
  const std::string matrix = folder() / "model.imatrix.gguf";
  const std::string small = folder() / "small.gguf";
  write(model, data, size);
  const wick::Arguments common = {"--device", "cpu", "--threads", "1", "--quiet"};
  const auto with = [&](wick::Arguments arguments) {
    arguments.insert(arguments.end(), common.begin(), common.end());
    return arguments;
  };
  bool accepted = run(with({"logits", "--model", model, "--tokens", "0,1,2", "--out", folder() / "logits.npy"}));
  if (accepted) {
    accepted = run(with({"perplexity", "--model", model, "--file", text, "--ctx", "4", "--chunks", "2"}));
    run(with({"perplexity", "--model", model, "--file", text, "--ctx", "8", "--chunks", "1", "--second-half"}));
    run(with({"run", "--model", model, "--prompt", "the", "--max-tokens", "3", "--seed", "1"}));
    run(with({"imatrix", "--model", model, "--file", text, "--ctx", "4", "--chunks", "1", "--out", matrix}));
  }
  // Any file may be quantized, also one that runs nowhere; and any file may be named as a matrix of importance.
  for (const char* type : {"Q4_0", "Q4_K_M", "IQ2_XS"}) {
    if (run({"quantize", model, small, type, "--threads", "1", "--quiet"})) accepted = true;
    run({"quantize", model, small, type, "--imatrix", fs::exists(matrix) ? matrix : model, "--keep", "attn=q8_0", "--threads", "1",
         "--quiet"});
  }
  run({"inspect", model, "--json"});
  std::error_code ignored;
  fs::remove(matrix, ignored);
  ++(accepted ? wick::fuzz::outcome.accepted : wick::fuzz::outcome.refused);
  return 0;
}
