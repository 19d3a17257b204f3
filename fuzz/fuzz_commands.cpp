// Takes any bytes for a model file and runs the programs on it that a user would: whatever is in the file, they end with exit code 0 or 2.
// This is where a model's configuration is read, its weights are loaded and run, a text is scored, importance is collected and types are
// planned, written and read again.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "command_run.h"
#include "outcome.h"

namespace fs = std::filesystem;
using wick::fuzz::folder;
using wick::fuzz::run;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string model = folder() / "model.gguf";
  const std::string text = folder() / "text.txt";
  const std::string matrix = folder() / "model.imatrix.gguf";
  const std::string small = folder() / "small.gguf";
  wick::fuzz::write(model, data, size);
  constexpr std::string_view kText = "the quick brown fox jumps over the lazy dog and the dog sleeps on";
  wick::fuzz::write(text, kText.data(), kText.size());
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
