#include "wick/server/adapter_fields.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "wick/base/fail.h"

namespace wick::server {

void read_adapters(Fields& fields, const Engine& engine, GenerationParams& params) {
  const std::vector<LoadedAdapter> adapters = engine.adapters();
  // Another name is taken for the model itself, as clients call it in many ways.
  if (const auto model = fields.text("model")) {
    const auto found = std::find_if(adapters.begin(), adapters.end(), [&](const LoadedAdapter& one) { return one.name == *model; });
    if (found != adapters.end()) params.adapters = {{found->name, {}}};
  }
  const Json* const list = fields.list("lora");
  if (list == nullptr) return;
  params.adapters.clear();
  for (size_t index = 0; index < list->size(); ++index) {
    Fields use((*list)[index], fmt::format("lora[{}]", index));
    const auto id = use.integer("id", 0);
    const double scale = use.number("scale", -std::numeric_limits<float>::max(), std::numeric_limits<float>::max()).value_or(1);
    if (use.require("id") && id && *id >= std::ssize(adapters)) {
      use.violate("id", adapters.empty() ? std::string("the model has no adapters") : fmt::format("must be below {}", adapters.size()));
    } else if (id && scale != 0) {
      params.adapters.push_back({adapters[static_cast<size_t>(*id)].name, static_cast<float>(scale)});
    }
    fields.take(std::move(use.violations()));
  }
}

Json adapters_json(const Engine& engine) {
  Json list = Json::array();
  for (const LoadedAdapter& adapter : engine.adapters()) list.push_back({{"id", list.size()}, {"path", adapter.name}, {"scale", 0}});
  return list;
}

}  // namespace wick::server
