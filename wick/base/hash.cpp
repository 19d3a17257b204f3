#include "wick/base/hash.h"

#include <random>

namespace wick {

const HashKey& process_hash_key() {
  static const HashKey kKey = [] {
    std::random_device device;
    const auto number = [&] { return uint64_t{device()} << 32 | device(); };
    return HashKey{.first = number(), .second = number(), .odd = number() | 1};
  }();
  return kKey;
}

}  // namespace wick
