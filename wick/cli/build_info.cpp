#include "wick/cli/build_info.h"

#include <fmt/format.h>

#include "wick/base/json.h"
#include "wick/device/registry.h"

namespace wick {

std::string build_info_json() {
  nlohmann::ordered_json json;
  json["version"] = build_info().version;
  json["commit"] = build_info().commit;
  json["compiler"] = build_info().compiler;
  json["build_type"] = build_info().build_type;
  json["backends"] = nlohmann::ordered_json::array();
  for (const Backend* backend : linked_backends()) json["backends"].push_back(to_string(backend->kind));
  for (const Backend* backend : linked_backends()) {
    if (backend->variants == nullptr) continue;
    nlohmann::ordered_json compiled = nlohmann::ordered_json::array();
    nlohmann::ordered_json usable = nlohmann::ordered_json::array();
    for (const VariantInfo& variant : backend->variants()) {
      compiled.push_back(variant.name);
      if (variant.usable) usable.push_back(variant.name);
    }
    nlohmann::ordered_json& entry = json[fmt::format("{}_instruction_sets", to_string(backend->kind))];
    entry["compiled"] = compiled;
    entry["usable"] = usable;
    entry["chosen"] = usable.empty() ? nlohmann::ordered_json() : usable.back();
  }
  return json_text(json, 2);
}

}  // namespace wick
