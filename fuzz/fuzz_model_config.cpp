// Reads any bytes as the config.json of a Hugging Face model; only wick::Error may come of it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "outcome.h"
#include "wick/base/error.h"
#include "wick/model/checkpoint/checkpoint.h"
#include "wick/model/checkpoint/hugging_face.h"
#include "wick/model/decoder_model.h"

namespace {

volatile uint64_t sink = 0;

// What the configuration describes, without tensors.
void describe_layers(wick::TranslatedConfig config) {
  wick::Checkpoint::Folder folder{.path = "input", .architecture = config.architecture};
  folder.metadata = std::move(config.metadata);
  folder.origins = std::move(config.origins);
  folder.values = std::move(config.values);
  const wick::Checkpoint checkpoint(std::move(folder));
  for (const std::string& line : wick::describe_model(wick::describe(checkpoint))) sink = sink + line.size();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try {
    wick::TranslatedConfig config = wick::parse_model_config(bytes, "config.json");
    if (config.architecture == nullptr) std::abort();
    describe_layers(std::move(config));
    ++wick::fuzz::outcome.accepted;
  } catch (const wick::Error& error) {
    sink = sink + std::string_view(error.what()).size();
    ++wick::fuzz::outcome.refused;
  }
  return 0;
}
