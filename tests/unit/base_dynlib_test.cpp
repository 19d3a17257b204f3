#include "wick/base/dynlib.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    EXPECT_THAT(error.what(), testing::HasSubstr("/no/such/libdriver.so.1"));
  }
}

}  // namespace
}  // namespace wick
