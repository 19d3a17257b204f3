// Reads any bytes as a receipt, once as they are and once with the checksum that they should have; only wick::Error may come of it.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "command_run.h"
#include "outcome.h"
#include "wick/base/json.h"
#include "wick/cli/hub/sha256.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string receipt = wick::fuzz::folder() / "receipt.json";
  // A receipt of a model in one file names it by SHA-256; that of the seed is one byte.
  const std::string model = wick::fuzz::folder() / "model.gguf";
  wick::fuzz::write(model, "x", 1);
  const auto verify = [&](std::string_view text) {
    wick::fuzz::write(receipt, text.data(), text.size());
    return wick::fuzz::run({"verify-receipt", receipt, "--model", model});
  };
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  bool accepted = verify(text);
  if (nlohmann::ordered_json json = wick::parse_ordered_json(text); json.is_object()) {
    json.erase("sha256");
    const std::string sum = wick::sha256_of(std::string_view(wick::json_text(json)));
    json["sha256"] = sum;
    accepted = verify(wick::json_text(json)) || accepted;
  }
  ++(accepted ? wick::fuzz::outcome.accepted : wick::fuzz::outcome.refused);
  return 0;
}
