#include <gtest/gtest.h>

#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "wick/base/fail.h"
#include "wick/base/log.h"
#include "wick/base/terminal_text.h"

namespace wick {
namespace {

TEST(Error, CarriesCodeTextAndTheLineThatFailed) {
  const auto line = std::source_location::current().line() + 2;
  try {
    fail(ErrorCode::not_found, "{}: no tensor '{}'", "model.gguf", "output.weight");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_found);
    EXPECT_STREQ(error.what(), "model.gguf: no tensor 'output.weight'");
    EXPECT_EQ(error.where().line(), line);
    EXPECT_NE(std::string_view(error.where().file_name()).find("base_error_test.cpp"), std::string_view::npos);
  }
}

TEST(TerminalText, OneLineHoldsNothingThatATerminalObeysAndTellsWhatWasThere) {
  EXPECT_EQ(on_one_line("a\n\r\tb"), "a\\n\\r\\tb");
  EXPECT_EQ(on_one_line(std::string_view("\0\x1b[2J\x7f", 6)), "\\x00\\x1b[2J\\x7f");
  EXPECT_EQ(on_one_line("\xc2\x9b \xe2\x80\xa8 \xe2\x80\xae"),
            "\\xc2\\x9b \\xe2\\x80\\xa8 \\xe2\\x80\\xae");  // CSI, line separator, override
  EXPECT_EQ(on_one_line("\xff\xed\xa0\x80"), "\\xff\\xed\\xa0\\x80") << "no UTF-8";
  EXPECT_EQ(on_one_line("größer 中文 🙂"), "größer 中文 🙂");
  EXPECT_EQ(without_controls("a\n\tb"), "a\n\\tb");
  EXPECT_EQ(answer_without_controls("a\n\tb\x1b"), "a\n\tb\\x1b");
  EXPECT_EQ(json_without_controls("\"\xc2\x9b\""), "\"\\u009b\"");
}

TEST(Error, ABrokenPromiseOfOurOwnCodeAborts) {
  EXPECT_DEATH(WICK_ASSERT(1 + 1 == 3), "internal error: .*base_error_test.cpp:.*1 \\+ 1 == 3 does not hold");
}

TEST(Log, TheHookHearsMessagesUntilItIsReplaced) {
  std::vector<std::string> heard;
  log_warning("nobody listens");
  set_log_hook([&](LogLevel level, std::string_view message) {
    EXPECT_EQ(level, LogLevel::warning);
    heard.emplace_back(message);
  });
  log_warning("{} of {}", 1, 2);
  set_log_hook({});
  log_warning("nobody listens");
  EXPECT_EQ(heard, std::vector<std::string>{"1 of 2"});
}

}  // namespace
}  // namespace wick
