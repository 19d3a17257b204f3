#include <gtest/gtest.h>

#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "wick/base/default_log_hook.h"
#include "wick/base/fail_with.h"
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

TEST(Error, RemediesNameSettingsAsTheLibraryHasThemAndAsAFrontEndSpellsThem) {
  const auto spelled = [](Setting setting, const std::string& value) {
    return setting == Setting::context ? "--ctx " + value : std::string();  // a front end without the other settings
  };
  try {
    fail_with({{"64 positions fit ({})", Setting::context, "64"}, {"take {}", Setting::kv_dtype, "q8_0"}, {"lower {}", Setting::threads}},
              ErrorCode::out_of_memory, "no {}", "memory");
  } catch (const Error& error) {
    EXPECT_EQ(problem_of(error), "no memory");
    EXPECT_EQ(remedies_of(error).size(), 3U);
    EXPECT_STREQ(error.what(), "no memory; 64 positions fit (context=64), take kv_dtype=q8_0, or lower threads");
    EXPECT_EQ(message_of(error, spelled), "no memory; 64 positions fit (--ctx 64)");
    EXPECT_EQ(message_of(error, {}), "no memory") << "of who has no settings";
    EXPECT_NE(std::string_view(error.where().file_name()).find("base_error_test.cpp"), std::string_view::npos);
  }
}

TEST(Error, TextThatLooksLikeAPlaceForASettingStaysWhereThereIsNone) {
  const RemediableError error(ErrorCode::not_found, "{}: no such file", {{"name another than {}"}});
  EXPECT_STREQ(error.what(), "{}: no such file; name another than {}");
}

TEST(Error, WithoutRemediesTheMessageIsTheProblem) {
  const Error error(ErrorCode::io, "broken; mend it");
  EXPECT_EQ(problem_of(error), "broken; mend it");
  EXPECT_TRUE(remedies_of(error).empty());
  EXPECT_EQ(message_of(error, {}), "broken; mend it");
}

TEST(Error, EachSettingHasAName) {
  for (int index = 0; index <= static_cast<int>(kLastSetting); ++index) {
    EXPECT_STRNE(to_string(static_cast<Setting>(index)), "unknown");
  }
  EXPECT_STREQ(to_string(Setting::kv_dtype), "kv_dtype");
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
  set_log_hook({});
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

TEST(Log, WithoutAHookEachWarningIsPrintedOnce) {
  testing::internal::CaptureStderr();
  set_log_hook(&default_log_hook);
  for (int i = 0; i < 3; ++i) {
    log_warning("the first");
    log_info("not printed");
    log_warning("the second");
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "wick: warning: the first\nwick: warning: the second\n");
}

}  // namespace
}  // namespace wick
