// The chat page as the worker carries it, and who gets it compressed.
#include <gtest/gtest.h>

#include <string_view>

#include "wick/server/chat_page_data.h"
#include "wick/server/gzip.h"

namespace wick::server {
namespace {

TEST(Gzip, ThePageUnpacksToOneHtmlDocument) {
  const std::string page = gunzip(kChatPage);
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_TRUE(page.ends_with("</html>\n"));
  EXPECT_LE(kChatPage.size(), 250'000U);
}

TEST(Gzip, ThePolicyAllowsNoScriptButItsOwn) {
  const std::string_view policy = kChatPagePolicy;
  EXPECT_EQ(policy.find("unsafe"), std::string_view::npos);
  EXPECT_NE(policy.find("default-src 'none'"), std::string_view::npos);
  // Base64 of 32 bytes: 43 characters and a filler.
  const size_t begin = policy.find("script-src 'sha256-");
  ASSERT_NE(begin, std::string_view::npos);
  EXPECT_EQ(policy.substr(begin + 19 + 43, 2), "='");
}

TEST(Gzip, AcceptedWhereAClientListsItWithAWeight) {
  for (const char* fields : {"gzip", "br, gzip", "GZIP;q=0.5", " deflate , gzip ; q=1"}) EXPECT_TRUE(accepts_gzip(fields)) << fields;
  for (const char* fields : {"", "br", "gzip;q=0", "gzip; q=0.000, br", "x-gzip"}) EXPECT_FALSE(accepts_gzip(fields)) << fields;
}

}  // namespace
}  // namespace wick::server
