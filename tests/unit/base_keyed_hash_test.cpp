#include "wick/base/keyed_hash.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace wick {
namespace {

TEST(KeyedHash, DependsOnEveryByteAndOnTheLength) {
  std::set<uint64_t> seen;
  for (size_t length = 0; length < 40; ++length) {
    std::string text(length, 'x');
    EXPECT_TRUE(seen.insert(keyed_hash(text)).second) << length;
    EXPECT_EQ(keyed_hash(text), keyed_hash(std::string(length, 'x')));
    for (size_t at = 0; at < length; ++at) {
      text[at] = 'y';
      EXPECT_TRUE(seen.insert(keyed_hash(text)).second) << length << " " << at;
      text[at] = 'x';
    }
  }
}

}  // namespace
}  // namespace wick
