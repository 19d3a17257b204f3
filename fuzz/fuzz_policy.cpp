// Reads any bytes as a policy of `wick validate`; the command ends with exit code 0 or 2.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "command_run.h"
#include "outcome.h"
#include "wick/formats/gguf_writer.h"

namespace {

// A file with one tensor, which a policy can judge.
void write_model(const std::string& path) {
  constexpr std::array<float, 4> kNumbers = {1, -1, 0.5, 0};
  wick::GgufWriter writer;
  writer.add_string("general.architecture", "llama");
  writer.add_tensor("blk.0.attn_norm.weight", wick::DType::f32, wick::Shape{4}, std::as_bytes(std::span(kNumbers)));
  writer.write(path);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string model = wick::fuzz::folder() / "model.gguf";
  const std::string policy = wick::fuzz::folder() / "policy.json";
  if (!std::filesystem::exists(model)) write_model(model);
  wick::fuzz::write(policy, data, size);
  const bool accepted = wick::fuzz::run({"validate", model, "--policy", policy});
  ++(accepted ? wick::fuzz::outcome.accepted : wick::fuzz::outcome.refused);
  return 0;
}
