#include "wick/server/setting_flags.h"

namespace wick {

std::string_view flag_of(Setting setting) noexcept {
  switch (setting) {
    case Setting::none: return "";
    case Setting::chat_template: return "--chat-template";
    case Setting::context: return "--context";
    case Setting::device: return "--device";
    case Setting::gpu_layers: return "--gpu-layers";
    case Setting::kv_dtype: return "--kv-type";
    case Setting::precise: return "--precise";
    case Setting::threads: return "--threads";
    case Setting::allow_requantize: return "--allow-requantize";
    case Setting::importance: return "--imatrix";
    case Setting::keep: return "--tensor-type";
  }
  return "";
}

std::string with_value(std::string_view flag, const std::string& value) { return std::string(flag) + (value.empty() ? "" : " ") + value; }

}  // namespace wick
