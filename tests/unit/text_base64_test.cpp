// Base64 against the vectors of RFC 4648, section 10.
#include "wick/base/base64.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace wick {
namespace {

TEST(Base64, IsThatOfTheStandard) {
  for (const auto& [bytes, text] : {std::pair<std::string, std::string>{"f", "Zg=="},
                                    {"fo", "Zm8="},
                                    {"foo", "Zm9v"},
                                    {"foob", "Zm9vYg=="},
                                    {"fooba", "Zm9vYmE="},
                                    {"foobar", "Zm9vYmFy"},
                                    {std::string("\xff\xfe\0", 3), "//4A"}}) {
    EXPECT_EQ(encode_base64(bytes), text);
    EXPECT_EQ(decode_base64(text), bytes);
  }
  EXPECT_EQ(encode_base64(""), "");
}

}  // namespace
}  // namespace wick
