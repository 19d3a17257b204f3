// The order of versions, and which wheel of an index's answer is chosen.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "wick/cli/hub/package_index.h"

namespace wick {
namespace {

TEST(PackageIndex, VersionsAreOrderedAsPep440Says) {
  const std::vector<std::string> ascending = {"0.9",        "0.10.dev1", "0.10a1", "0.10rc2", "0.10",
                                              "0.10.post1", "0.10.1",    "1",      "1.2.3",   "2025.1"};
  for (size_t a = 0; a < ascending.size(); ++a) {
    for (size_t b = 0; b < ascending.size(); ++b) {
      EXPECT_EQ(is_earlier_version(ascending[a], ascending[b]), a < b) << ascending[a] << " and " << ascending[b];
    }
  }
  EXPECT_FALSE(is_earlier_version("1.0", "1"));
  EXPECT_FALSE(is_earlier_version("1", "1.0"));
}

TEST(PackageIndex, NamesAreNormalizedAsPep503Says) {
  EXPECT_EQ(normalized_package_name("Friendly-Bard"), "friendly-bard");
  EXPECT_EQ(normalized_package_name("FrIeNdLy-._.-bArD"), "friendly-bard");
}

// What RFC 3986 makes of each reference.
TEST(PackageIndex, AddressesAreRelativeToTheAnswer) {
  const std::string hash(64, 'a');
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"https://files.example/x.whl", "https://files.example/x.whl"}, {"/files/x.whl", "https://index.example:8443/files/x.whl"},
      {"x.whl", "https://index.example:8443/simple/pack/x.whl"},      {"../../files/x.whl", "https://index.example:8443/files/x.whl"},
      {"//cdn.example/x.whl", "https://cdn.example/x.whl"},           {"../../../../x.whl", "https://index.example:8443/x.whl"}};
  for (const auto& [reference, url] : cases) {
    const std::string answer =
        R"({"files":[{"filename":"pack-1-py3-none-any.whl","url":")" + reference + R"(","size":5,"hashes":{"sha256":")" + hash + R"("}}]})";
    const PackageWheel wheel = choose_wheel(answer, "https://index.example:8443/simple/pack/", "pack", "");
    EXPECT_EQ(wheel.url, url) << reference;
    EXPECT_EQ(wheel.bytes, 5U);
    EXPECT_EQ(wheel.version, "1");
  }
}

}  // namespace
}  // namespace wick
