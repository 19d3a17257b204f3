#include "wick/base/remedy.h"

#include <cstddef>
#include <string_view>
#include <utility>

#include "wick/base/fail.h"

namespace wick {
namespace {

std::string spelled_by_library(Setting setting, const std::string& value) {
  return to_string(setting) + (value.empty() ? std::string() : "=" + value);
}

// "A; do this, or do that"
std::string told(const std::string& problem, const Remedies& remedies, const SettingSpelling& spelling) {
  std::vector<std::string> ways;
  for (const Remedy& remedy : remedies) {
    std::string way = remedy.text;
    if (remedy.setting != Setting::none) {
      const std::string setting = spelling ? spelling(remedy.setting, remedy.value) : std::string();
      if (setting.empty()) continue;
      constexpr std::string_view kPlace = "{}";
      const size_t place = way.find(kPlace);
      WICK_ASSERT(place != std::string::npos);
      way.replace(place, kPlace.size(), setting);
    }
    ways.push_back(std::move(way));
  }
  std::string text = problem;
  for (size_t i = 0; i < ways.size(); ++i) text += (i == 0 ? "; " : i + 1 == ways.size() ? ", or " : ", ") + ways[i];
  return text;
}

const RemediableError* remediable(const Error& error) { return dynamic_cast<const RemediableError*>(&error); }

}  // namespace

const char* to_string(Setting setting) noexcept {
  switch (setting) {
    case Setting::none: return "none";
    case Setting::chat_template: return "chat_template";
    case Setting::context: return "context";
    case Setting::device: return "device";
    case Setting::gpu_layers: return "gpu_layers";
    case Setting::kv_dtype: return "kv_dtype";
    case Setting::precise: return "precise";
    case Setting::threads: return "threads";
    case Setting::allow_requantize: return "allow_requantize";
    case Setting::importance: return "importance";
    case Setting::keep: return "keep";
  }
  return "unknown";
}

RemediableError::RemediableError(ErrorCode code, const std::string& problem, Remedies remedies, std::source_location where)
    : Error(code, told(problem, remedies, spelled_by_library), where), problem_(problem), remedies_(std::move(remedies)) {}

std::string problem_of(const Error& error) {
  const RemediableError* const own = remediable(error);
  return own == nullptr ? error.what() : own->problem();
}

Remedies remedies_of(const Error& error) {
  const RemediableError* const own = remediable(error);
  return own == nullptr ? Remedies() : own->remedies();
}

std::string message_of(const Error& error, const SettingSpelling& spelling) {
  return told(problem_of(error), remedies_of(error), spelling);
}

}  // namespace wick
