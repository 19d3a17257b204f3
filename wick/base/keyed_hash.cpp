#include "wick/base/keyed_hash.h"

#include <bit>
#include <cstring>
#include <random>

namespace wick {
namespace {

struct Key {
  uint64_t first;
  uint64_t second;
};

const Key& process_key() noexcept {
  static const Key key = [] {
    std::random_device random;
    const auto word = [&] { return uint64_t{random()} << 32 | random(); };
    return Key{word(), word()};
  }();
  return key;
}

struct State {
  uint64_t a, b, c, d;

  void round() noexcept {
    a += b;
    b = std::rotl(b, 13) ^ a;
    a = std::rotl(a, 32);
    c += d;
    d = std::rotl(d, 16) ^ c;
    a += d;
    d = std::rotl(d, 21) ^ a;
    c += b;
    b = std::rotl(b, 17) ^ c;
    c = std::rotl(c, 32);
  }
  void take(uint64_t word) noexcept {
    d ^= word;
    round();
    a ^= word;
  }
};

}  // namespace

uint64_t keyed_hash(std::string_view bytes) noexcept {
  const Key& key = process_key();
  State state{key.first ^ 0x736f6d6570736575u, key.second ^ 0x646f72616e646f6du, key.first ^ 0x6c7967656e657261u,
              key.second ^ 0x7465646279746573u};
  const uint64_t length = uint64_t{bytes.size()} << 56;
  for (; bytes.size() >= sizeof(uint64_t); bytes.remove_prefix(sizeof(uint64_t))) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof(word));
    state.take(word);
  }
  uint64_t rest = 0;
  if (!bytes.empty()) std::memcpy(&rest, bytes.data(), bytes.size());
  state.take(rest | length);
  state.c ^= 0xff;
  for (int round = 0; round < 3; ++round) state.round();
  return state.a ^ state.b ^ state.c ^ state.d;
}

}  // namespace wick
