// Reads any bytes as a configuration file of the programs; the command ends with exit code 0 or 2.
#include <cstddef>
#include <cstdint>
#include <string>

#include "command_run.h"
#include "outcome.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string file = wick::fuzz::folder() / "wick.toml";
  wick::fuzz::write(file, data, size);
  const bool accepted = wick::fuzz::run({"list-architectures", "--config", file});
  ++(accepted ? wick::fuzz::outcome.accepted : wick::fuzz::outcome.refused);
  return 0;
}
