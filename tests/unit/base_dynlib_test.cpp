#include "wick/base/dynlib.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "unit/temporary_folder.h"
#include "wick/base/error.h"

namespace wick {
namespace {

TEST(DynamicLibrary, FindsTheFunctionsOfALibrary) {
  const DynamicLibrary library("libm.so.6");
  auto* const times_power_of_two = library.function<double(double, int)>("ldexp");
  ASSERT_NE(times_power_of_two, nullptr);
  EXPECT_EQ(times_power_of_two(3, 2), 12);
}

TEST(DynamicLibrary, HasNoSymbolOfAnotherName) {
  const DynamicLibrary library("libm.so.6");
  EXPECT_EQ(library.find("wick_has_no_such_symbol"), nullptr);
}

TEST(DynamicLibrary, OneThatIsNotThereIsRefusedByName) {
  try {
    const DynamicLibrary library("/no/such/libdriver.so.1");
    FAIL() << "opened";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_found);
    EXPECT_THAT(error.what(), testing::MatchesRegex("library /no/such/libdriver.so.1 cannot be opened: cannot open.*"));
  }
}

TEST(DynamicLibrary, WhoeverLacksAllOfThemIsToldWhatTheyAreAndTheRemedy) {
  const auto message = [](std::vector<std::string> names) {
    try {
      static_cast<void>(open_first(names, "a driver", "install it"));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(message({"/no/a.so"}), testing::EndsWith("directory; it is a driver: install it"));
  EXPECT_THAT(message({"/no/a.so", "/no/b.so", "/no/c.so"}), testing::EndsWith("install it; also not there: /no/b.so, /no/c.so"));
  EXPECT_EQ(message({"/no/a.so", "libm.so.6"}), "");
}

TEST(DynamicLibrary, IsLookedForInTheFoldersFirst) {
  const TemporaryFolder folder;
  const std::string empty = folder.path() / "empty";
  std::filesystem::create_directory(empty);
  { std::ofstream(folder.path() / "libm.so.6") << "no library"; }
  set_library_folders({empty, folder.path().string()});
  // One that is there and is none is not passed over for the system's.
  try {
    const DynamicLibrary library("libm.so.6");
    ADD_FAILURE() << "opened";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(folder.path().string()));
  }
  EXPECT_NE(DynamicLibrary("libdl.so.2").find("dlopen"), nullptr) << "what is in no folder is the system's";
  set_library_folders({});
  EXPECT_NE(DynamicLibrary("libm.so.6").find("ldexp"), nullptr);
}

}  // namespace
}  // namespace wick
