#include "wick/server/dialect.h"

namespace wick::server {

std::span<const Dialect* const> Dialect::all() noexcept {
  static constexpr const Dialect* kAll[] = {&fleet, &openai, &responses, &anthropic, &ollama, &llama};
  return kAll;
}

}  // namespace wick::server
