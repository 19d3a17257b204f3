#include "wick/device/program_table.h"

#include <mutex>

#include "wick/base/fail.h"
#include "wick/base/hash.h"

namespace wick {

// FNV-1a over the numbers; the name by its own hash.
size_t ProgramTable::Hash::operator()(const ProgramKey& key) const noexcept {
  size_t hash = std::hash<std::string_view>()(key.name);
  for (uint32_t i = 0; i < key.count; ++i) hash = fnv1a(hash, key.numbers[i]);
  return hash;
}

const Program& ProgramTable::get(const ProgramKey& key, const Make& make) {
  WICK_ASSERT(key.count <= ProgramKey::kMaxNumbers);
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = programs_.find(key); found != programs_.end()) return *found->second;
  }
  // Drivers take their time, and others need the table meanwhile: two who ask at once may both make it, and the first one's stays.
  std::shared_ptr<const Program> made = make();
  const std::unique_lock lock(mutex_);
  return *programs_.try_emplace(key, std::move(made)).first->second;
}

}  // namespace wick
