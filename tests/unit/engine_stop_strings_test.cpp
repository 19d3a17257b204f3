#include "wick/engine/stop_strings.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "wick/base/error.h"

namespace wick {
namespace {

TEST(StopStrings, TextBeforeTheStopComesOutAndTheStopDoesNot) {
  StopStrings stops({"END"});
  EXPECT_EQ(stops.push("one two"), "one two");
  EXPECT_EQ(stops.push(" three END four"), " three ");
  EXPECT_EQ(stops.matched(), "END");
}

TEST(StopStrings, AStopSplitOverPiecesIsFoundAtEverySplit) {
  const std::string text = "abc###def";
  for (size_t first = 0; first <= text.size(); ++first) {
    for (size_t second = first; second <= text.size(); ++second) {
      StopStrings stops({"###"});
      std::string out;
      for (const std::string& piece : {text.substr(0, first), text.substr(first, second - first), text.substr(second)}) {
        if (!stops.matched()) out += stops.push(piece);
      }
      EXPECT_EQ(out, "abc") << first << ' ' << second;
      EXPECT_EQ(stops.matched(), "###");
    }
  }
}

TEST(StopStrings, WhatOnlyBeganLikeAStopComesOutLater) {
  StopStrings stops({"abab!"});
  EXPECT_EQ(stops.push("xab"), "x");
  EXPECT_EQ(stops.push("ab"), "");
  EXPECT_EQ(stops.push("ab"), "ab");  // "ababab" may still end in "abab"
  EXPECT_EQ(stops.push("?"), "abab?");
  EXPECT_FALSE(stops.matched());
}

TEST(StopStrings, WhatIsHeldBackAtTheEndComesOut) {
  StopStrings stops({"END"});
  EXPECT_EQ(stops.push("the EN"), "the ");
  EXPECT_EQ(stops.finish(), "EN");
  EXPECT_FALSE(stops.matched());
}

TEST(StopStrings, TheEarliestAndThenTheLongestWins) {
  StopStrings stops({"b", "ab", "abc"});
  EXPECT_EQ(stops.push("xabc"), "x");
  EXPECT_EQ(stops.matched(), "abc");
}

TEST(StopStrings, CharactersStayWhole) {
  StopStrings stops({"äö"});
  EXPECT_EQ(stops.push("ä"), "");
  EXPECT_EQ(stops.push("ü"), "äü");
  EXPECT_EQ(stops.push("äö"), "");
  EXPECT_EQ(stops.matched(), "äö");
}

TEST(StopStrings, EmptyStopsAreIgnored) {
  StopStrings stops({"", "end", ""});
  EXPECT_EQ(stops.push("a"), "a");
  EXPECT_EQ(stops.push("bend"), "b");
  EXPECT_EQ(stops.matched(), "end");
}

TEST(StopStrings, InvalidStopsAreRefused) { EXPECT_THROW(StopStrings({"\xff"}), Error); }

}  // namespace
}  // namespace wick
