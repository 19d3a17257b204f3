#include "wick/formats/csv.h"

#include <charconv>
#include <optional>

#include "wick/base/fail.h"
#include "wick/base/mapped_file.h"

namespace wick {
namespace {

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::optional<double> number_of(std::string_view field) {
  if (field.starts_with('+')) field.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (field.empty() || error != std::errc() || end != field.data() + field.size()) return std::nullopt;
  return value;
}

// The fields of one line; a quoted one may hold separators, and two quotes stand for one.
std::vector<std::string> fields_of(std::string_view line, char separator) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (c == '"' && quoted && at + 1 < line.size() && line[at + 1] == '"') {
      fields.back() += '"';
      ++at;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == separator && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

bool are_numbers(const std::vector<std::string>& fields) {
  for (const std::string& field : fields) {
    if (!number_of(trimmed(field))) return false;
  }
  return true;
}

}  // namespace

CsvTable parse_csv(std::string_view text, const std::string& name, char separator) {
  CsvTable table;
  int64_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = trimmed(text.substr(begin, end - begin));
    begin = end + 1;
    ++number;
    if (line.empty()) continue;
    const std::vector<std::string> fields = fields_of(line, separator);
    if (table.width == 0) {
      table.width = static_cast<int64_t>(fields.size());
      if (!are_numbers(fields)) {
        for (const std::string& field : fields) table.columns.emplace_back(trimmed(field));
        continue;
      }
    }
    if (static_cast<int64_t>(fields.size()) != table.width) {
      fail(ErrorCode::corrupt_file, "{}: line {} has {} fields, the first line has {}", name, number, fields.size(), table.width);
    }
    for (size_t column = 0; column < fields.size(); ++column) {
      const std::optional<double> value = number_of(trimmed(fields[column]));
      if (!value)
        fail(ErrorCode::corrupt_file, "{}: line {}, column {}: '{:.40}' is not a number", name, number, column + 1, fields[column]);
      table.values.push_back(*value);
    }
    ++table.rows;
  }
  if (table.rows == 0) fail(ErrorCode::corrupt_file, "{}: no row of numbers", name);
  return table;
}

CsvTable read_csv(const std::filesystem::path& path, char separator) {
  const auto file = MappedFile::open(path);
  const std::span<const std::byte> bytes = file->bytes();
  return parse_csv({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string(), separator);
}

}  // namespace wick
