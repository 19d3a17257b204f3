// Fields reads the members of a JSON object by name, type and range, and collects everything that is wrong with them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/server/api_error.h"
#include "wick/server/json.h"

namespace wick::server {

// A member that is null counts as absent, as in OpenAI's API. Members that nobody asks for are ignored.
class Fields {
 public:
  // `object` must outlive it. A violation is recorded if it is no object.
  explicit Fields(const Json& object, std::string path = {});

  [[nodiscard]] const Json* find(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }

  [[nodiscard]] std::optional<std::string> text(std::string_view name);
  [[nodiscard]] std::optional<bool> boolean(std::string_view name);
  [[nodiscard]] std::optional<int64_t> integer(std::string_view name, int64_t minimum,
                                               int64_t maximum = std::numeric_limits<int64_t>::max());
  [[nodiscard]] std::optional<double> number(std::string_view name, double minimum, double maximum);
  // A text, or a list of texts of which there may be so many.
  [[nodiscard]] std::vector<std::string> texts(std::string_view name, size_t most);
  [[nodiscard]] const Json* object(std::string_view name);
  [[nodiscard]] const Json* list(std::string_view name);
  // Whether it is there; a violation if not.
  bool require(std::string_view name);

  // "path.name"
  [[nodiscard]] std::string path_of(std::string_view name) const;
  void violate(std::string_view name, std::string constraint);
  void violate_path(std::string path, std::string constraint, std::string value = {});
  void take(std::vector<Violation> violations);
  // Whether something is wrong with the member.
  [[nodiscard]] bool is_violated(std::string_view name) const;
  [[nodiscard]] std::vector<Violation>& violations() noexcept { return violations_; }
  // Errors: ApiError with all violations, if there are any.
  void check();

 private:
  const Json& object_;
  std::string path_;
  std::vector<Violation> violations_;
};

// A value as an error shows it: as JSON, not longer than a line.
[[nodiscard]] std::string shown(const Json& value);

}  // namespace wick::server
