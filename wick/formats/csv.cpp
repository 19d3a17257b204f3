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

struct Row {
  int64_t line = 0;  // where it begins, counted from 1
  std::vector<std::string> fields;

  [[nodiscard]] bool is_blank() const { return fields.size() == 1 && trimmed(fields.front()).empty(); }
  [[nodiscard]] bool has_number() const {
    for (const std::string& field : fields) {
      if (number_of(trimmed(field))) return true;
    }
    return false;
  }
};

class RowReader {
 public:
  RowReader(std::string_view text, const std::string& name, char separator) : rest_(text), name_(name), separator_(separator) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
  }

  // The next row; none at the end. A quoted field may hold separators and line ends, and two quotes stand for one.
  std::optional<Row> next() {
    if (rest_.empty()) return std::nullopt;
    Row row{.line = line_, .fields = {""}};
    bool quoted = false;
    size_t at = 0;
    for (; at < rest_.size(); ++at) {
      const char c = rest_[at];
      if (c == '\n') ++line_;
      if (c == '\n' && !quoted) break;
      if (c == '"' && quoted && at + 1 < rest_.size() && rest_[at + 1] == '"') {
        row.fields.back() += '"';
        ++at;
      } else if (c == '"') {
        quoted = !quoted;
      } else if (c == separator_ && !quoted) {
        row.fields.emplace_back();
      } else {
        row.fields.back() += c;
      }
    }
    if (quoted) fail(ErrorCode::corrupt_file, "{}: line {}: a quote is not closed", name_, row.line);
    rest_.remove_prefix(std::min(at + 1, rest_.size()));
    return row;
  }

 private:
  std::string_view rest_;
  const std::string& name_;
  char separator_;
  int64_t line_ = 1;
};

double value_of(const Row& row, size_t column, const std::string& name, const CsvFormat& format) {
  const std::string_view field = trimmed(row.fields[column]);
  if (field.empty() && format.missing) return *format.missing;
  if (field.empty()) fail(ErrorCode::corrupt_file, "{}: line {}, column {}: no value", name, row.line, column + 1);
  const std::optional<double> value = number_of(field);
  if (!value) fail(ErrorCode::corrupt_file, "{}: line {}, column {}: '{:.40}' is not a number", name, row.line, column + 1, field);
  return *value;
}

}  // namespace

CsvTable parse_csv(std::string_view text, const std::string& name, const CsvFormat& format) {
  CsvTable table;
  RowReader reader(text, name, format.separator);
  while (const std::optional<Row> row = reader.next()) {
    if (row->is_blank()) continue;
    const auto width = static_cast<int64_t>(row->fields.size());
    if (table.width == 0) {
      table.width = width;
      if (format.header.value_or(!row->has_number())) {
        for (const std::string& field : row->fields) table.columns.emplace_back(trimmed(field));
        continue;
      }
    }
    if (width != table.width) {
      fail(ErrorCode::corrupt_file, "{}: line {} has {} fields, the first row has {}", name, row->line, width, table.width);
    }
    for (size_t column = 0; column < row->fields.size(); ++column) table.values.push_back(value_of(*row, column, name, format));
    ++table.rows;
  }
  if (table.rows == 0) fail(ErrorCode::corrupt_file, "{}: no row of numbers", name);
  return table;
}

CsvTable read_csv(const std::filesystem::path& path, const CsvFormat& format) {
  const auto file = MappedFile::open(path);
  const std::span<const std::byte> bytes = file->bytes();
  return parse_csv({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string(), format);
}

}  // namespace wick
