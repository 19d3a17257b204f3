// Reads any bytes as a pattern that a text is to match, and draws texts from it; only wick::Error may come of it.
#include "format_outcome.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  wick::fuzz::use_format({.kind = wick::OutputFormat::Kind::regex, .text = wick::fuzz::text_of(data, size)});
  return 0;
}
