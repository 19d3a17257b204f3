// Reads any bytes as a low-rank adapter; only wick::Error may come of it. What does not begin as a GGUF file is a PEFT folder: its
// adapter_config.json up to the first zero byte, then its adapter_model.safetensors.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

#include "command_run.h"
#include "outcome.h"
#include "wick/base/error.h"
#include "wick/model/lora/lora_adapter.h"

namespace {

namespace fs = std::filesystem;

volatile double sink = 0;

fs::path write_adapter(std::string_view bytes) {
  if (bytes.starts_with("GGUF")) {
    fs::path file = wick::fuzz::folder() / "adapter.gguf";
    wick::fuzz::write(file, bytes.data(), bytes.size());
    return file;
  }
  fs::path folder = wick::fuzz::folder() / "adapter";
  fs::create_directories(folder);
  const size_t config = std::min(bytes.find('\0'), bytes.size());
  const std::string_view tensors = bytes.substr(std::min(config + 1, bytes.size()));
  wick::fuzz::write(folder / "adapter_config.json", bytes.data(), config);
  wick::fuzz::write(folder / "adapter_model.safetensors", tensors.data(), tensors.size());
  return folder;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const fs::path path = write_adapter({reinterpret_cast<const char*>(data), size});
  bool accepted = false;
  for (const char* architecture : {"llama", "gpt2", "phi3"}) {
    try {
      const auto adapter = wick::LoraAdapter::open(path, *wick::find_architecture(architecture));
      for (const wick::LoraPair& pair : adapter->pairs()) {
        for (const wick::LoraMatrix* half : {&pair.a, &pair.b}) {
          for (const float number : half->to_floats()) sink = sink + number;
        }
      }
      accepted = true;
    } catch (const wick::Error&) {}
  }
  ++(accepted ? wick::fuzz::outcome.accepted : wick::fuzz::outcome.refused);
  return 0;
}
