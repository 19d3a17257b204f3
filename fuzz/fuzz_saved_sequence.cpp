// Restores any bytes as a saved sequence behind a header that is right, and with the right checksum; only wick::Error may come of it.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "outcome.h"
#include "wick/base/error.h"
#include "wick/base/hash.h"
#include "wick/model/kv/kv_pool.h"

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

wick::KvPool make_pool() {
  const wick::KvLayer full{.kv_heads = 1, .key_dim = 2, .value_dim = 2, .dtype = wick::DType::f32, .retention = {}};
  wick::KvLayer window = full;
  window.retention = {wick::Retention::Kind::window, 4};
  const wick::KvLayout layout{.model = "fuzz", .layers = {full, window}, .states = {3}};
  wick::KvPoolOptions options{.context = 64, .block_size = 4, .step = 8, .keep_prefixes = true};
  options.bytes = wick::KvPool::bytes_for(layout, options, 2);
  return {wick::Device::cpu(), layout, options};
}

void append(std::vector<std::byte>& bytes, const void* data, size_t count) {
  const auto* first = static_cast<const std::byte*>(data);
  bytes.insert(bytes.end(), first, first + count);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static wick::KvPool pool = make_pool();
  constexpr std::array<char, 8> kMagic = {'W', 'I', 'C', 'K', 'S', 'E', 'Q', '1'};
  std::vector<std::byte> bytes;
  append(bytes, kMagic.data(), kMagic.size());
  const uint64_t fingerprint = pool.fingerprint();
  append(bytes, &fingerprint, sizeof(fingerprint));
  append(bytes, data, size);
  const uint64_t sum = wick::fnv1a(wick::kFnvBasis, bytes);
  append(bytes, &sum, sizeof(sum));
  bool accepted = false;
  try {
    const wick::SequenceHandle handle = pool.restore(bytes);
    require(pool.length(handle) <= 64);
    // An empty sequence has the state that all begin with, whatever was saved.
    require(pool.length(handle) == 0 || pool.save(handle) == bytes);
    pool.free(handle);
    accepted = true;
  } catch (const wick::Error&) {}
  require(pool.live_sequences() == 0);
  ++(accepted ? wick::fuzz::outcome.accepted : wick::fuzz::outcome.refused);
  return 0;
}
