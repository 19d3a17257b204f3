// Reads any bytes as a table of numbers; only wick::Error may come of it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "outcome.h"
#include "wick/base/error.h"
#include "wick/formats/csv.h"

namespace {

template <class Action>
bool accepted(Action&& action) {
  try {
    action();
    return true;
  } catch (const wick::Error&) {
    return false;
  }
}

void walk(const wick::CsvTable& table) {
  if (table.rows < 1 || table.width < 1 || table.values.size() != static_cast<size_t>(table.rows * table.width)) std::abort();
  if (!table.columns.empty() && table.columns.size() != static_cast<size_t>(table.width)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  bool any = false;
  for (const wick::CsvFormat& format : {wick::CsvFormat{}, wick::CsvFormat{.separator = '\t', .header = true, .missing = 0.0}}) {
    any = accepted([&] { walk(wick::parse_csv(text, "input", format)); }) || any;
  }
  ++(any ? wick::fuzz::outcome.accepted : wick::fuzz::outcome.refused);
  return 0;
}
