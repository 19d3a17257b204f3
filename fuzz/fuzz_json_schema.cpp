// Reads any bytes as a JSON Schema and, where it is one, draws texts from it; only wick::Error may come of it.
#include "format_outcome.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  for (const bool any : {false, true}) {
    wick::fuzz::use_format({.kind = wick::OutputFormat::Kind::json_schema, .text = wick::fuzz::text_of(data, size), .any_spelling = any});
  }
  return 0;
}
