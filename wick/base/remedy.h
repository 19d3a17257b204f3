// A Remedy is one way out of an error: what to do, or which setting of the library to change. Programs spell the settings as their flags.
#pragma once

#include <functional>
#include <source_location>
#include <string>
#include <vector>

#include "wick/base/error.h"

namespace [[gnu::visibility("default")]] wick {

// Options that a caller sets when opening a device, loading a model or quantizing a file: fields of DeviceOptions, LlmOptions and
// QuantizeOptions, keywords in Python, options in wick/c.h.
enum class Setting { none, chat_template, context, device, gpu_layers, kv_dtype, precise, threads, allow_requantize, importance, keep };
inline constexpr Setting kLastSetting = Setting::keep;

// The name in the library: "kv_dtype"; "none" for none.
[[nodiscard]] const char* to_string(Setting setting) noexcept;

struct Remedy {
  std::string text;  // "shorten the prompt"; with a setting, "{}" is where it is named: "raise {}, up to 4096"
  Setting setting = Setting::none;
  std::string value = {};  // that would do, "512"; empty: the text says how to change it
};
using Remedies = std::vector<Remedy>;

// How a front end names a setting with a value (which may be empty): "--context 512". Empty where it has no such setting.
using SettingSpelling = std::function<std::string(Setting setting, const std::string& value)>;

// An Error that knows remedies. what() is the problem and the remedies, the settings spelled as the library has them: "context=512".
class RemediableError : public Error {
 public:
  RemediableError(ErrorCode code, const std::string& problem, Remedies remedies,
                  std::source_location where = std::source_location::current());

  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
  [[nodiscard]] const Remedies& remedies() const noexcept { return remedies_; }

 private:
  std::string problem_;
  Remedies remedies_;
};

// An error's message without its remedies, and its remedies; the whole message, and none, if the error has no remedies.
[[nodiscard]] std::string problem_of(const Error& error);
[[nodiscard]] Remedies remedies_of(const Error& error);
// The message with the settings spelled by a front end; remedies by settings that it has not are left out.
[[nodiscard]] std::string message_of(const Error& error, const SettingSpelling& spelling);

}  // namespace wick
