// CSV files of numbers: a table with a name for each column, where the file has a header.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace wick {

struct CsvTable {
  std::vector<std::string> columns;  // empty where the file has no header
  int64_t rows = 0;
  int64_t width = 0;
  std::vector<double> values;  // row-major
};

// Fields are numbers, between `separator`s, maybe in double quotes (RFC 4180); lines end with LF or CRLF, empty lines do not count. A first
// line that is not numbers alone is the header. Errors: corrupt_file, naming line and column: a field that is no number, a row of
// another width, a file without a row.
[[nodiscard]] CsvTable parse_csv(std::string_view text, const std::string& name, char separator = ',');
// Errors: not_found, io; and parse_csv's.
[[nodiscard]] CsvTable read_csv(const std::filesystem::path& path, char separator = ',');

}  // namespace wick
