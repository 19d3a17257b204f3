// CSV files of numbers: a table with a name for each column, where the file has a header.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
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

struct CsvFormat {
  char separator = ',';
  // Whether the first row names the columns. None: it does where no field of it is a number.
  std::optional<bool> header = {};
  // The value of an empty field. None: it is an error.
  std::optional<double> missing = {};
};

// Fields are numbers, maybe in double quotes, as RFC 4180 has them; rows end with LF or CRLF, blank lines do not count. Errors:
// corrupt_file, naming line and column: a field that is not a number, a row of another width, a quote that is not closed, no row.
[[nodiscard]] CsvTable parse_csv(std::string_view text, const std::string& name, const CsvFormat& format = {});
// Errors: not_found, io; and parse_csv's.
[[nodiscard]] CsvTable read_csv(const std::filesystem::path& path, const CsvFormat& format = {});

}  // namespace wick
