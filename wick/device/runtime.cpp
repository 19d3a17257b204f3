#include "wick/device/runtime.h"

#include <span>

#include "wick/base/fail.h"

namespace wick {

std::shared_ptr<const Program> Runtime::compile_source(const std::string& name, const KernelSource& /*source*/,
                                                       const std::string& /*entry*/, const KernelSignature& /*signature*/) {
  fail(ErrorCode::unsupported, "kernel {}: {} compiles no source texts; write it with ir/builder.h", name, caps().name);
}

std::shared_ptr<const PreparedWeight> Runtime::prepare_weight(const Operand& /*weight*/, const WeightUse& /*use*/) { return nullptr; }

const Buffer& Runtime::constant(const ProgramKey& key, const std::function<std::vector<uint32_t>()>& make) {
  const std::lock_guard lock(constants_mutex_);
  for (const auto& [known, buffer] : constants_) {
    if (known == key) return *buffer;
  }
  const std::vector<uint32_t> words = make();
  const auto bytes = std::as_bytes(std::span(words));
  std::unique_ptr<Buffer> buffer = allocate(bytes.size(), Lifetime::persistent);
  queue().upload(bytes.data(), *buffer, 0, bytes.size());
  constants_.emplace_back(key, std::move(buffer));
  return *constants_.back().second;
}

void Runtime::forget_programs() {
  constants_.clear();
  programs_.clear();
}

}  // namespace wick
