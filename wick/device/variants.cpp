#include "wick/device/variants.h"

#include "wick/base/fail.h"

namespace wick {

std::vector<VariantInfo> plain_and_native() { return {{"plain", true}, {"native", true}}; }

bool asks_for_plain(DeviceKind kind, int index, std::string_view variant) {
  if (variant == "plain") return true;
  if (variant.empty() || variant == "native") return false;
  fail(ErrorCode::invalid_argument, "{}:{}: no variant '{}'; it has plain and native", to_string(kind), index, variant);
}

}  // namespace wick
