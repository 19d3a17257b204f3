#include "wick/formats/pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <string_view>

#include "wick/base/error.h"

namespace wick {
namespace {

using ::testing::HasSubstr;
using namespace std::string_view_literals;

Pickle read_pickle(std::string_view stream) { return Pickle::parse(std::as_bytes(std::span(stream)), "a.pkl", 100); }

std::string refused_pickle(ErrorCode code, std::string_view stream) {
  try {
    static_cast<void>(read_pickle(stream));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_THAT(error.what(), HasSubstr("a.pkl: pickle at byte "));
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return "";
}

const PickleValue& root(const Pickle& pickle) { return pickle[pickle.root()]; }

// The expected numbers are those of Python's pickle.loads.
TEST(Pickle, NumbersAreThoseOfPython) {
  const auto integer = [](std::string_view stream) {
    const Pickle pickle = read_pickle(stream);
    EXPECT_EQ(root(pickle).kind, PickleKind::integer);
    return root(pickle).integer;
  };
  EXPECT_EQ(integer("K\xff."), 255);
  EXPECT_EQ(integer("M\x01\x02."), 513);
  EXPECT_EQ(integer("J\xfe\xff\xff\xff."), -2);
  EXPECT_EQ(integer("\x8a\0."sv), 0);
  EXPECT_EQ(integer("\x8a\x01\xff."), -1);
  EXPECT_EQ(integer("\x8a\x02\xff\0."sv), 255);
  EXPECT_EQ(integer("\x8a\x08\0\0\0\0\0\0\0\x80."sv), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(integer("\x8b\x01\0\0\0\x07."sv), 7);
  EXPECT_EQ(root(read_pickle("\x8a\x09\0\0\0\0\0\0\0\0\x01."sv)).kind, PickleKind::large_integer);
  EXPECT_EQ(root(read_pickle("G\xbf\xd0\0\0\0\0\0\0."sv)).floating, -0.25);
  EXPECT_EQ(root(read_pickle("\x88.")).integer, 1);
  EXPECT_EQ(root(read_pickle("N.")).kind, PickleKind::none);
}

// {'a': [1, (2, 3)], 'b': {'c'}} with protocol 4, by way of the memo.
TEST(Pickle, ContainersAndMemo) {
  const Pickle pickle = read_pickle(
      "\x80\x04\x95\x1c\0\0\0\0\0\0\0}\x94(\x8c\x01"
      "a\x94]\x94(K\x01K\x02K\x03\x86\x94"
      "e\x8c\x01"
      "b\x94\x8f\x94(\x8c\x01"
      "c\x94\x90u."sv);
  const PickleValue& dict = root(pickle);
  ASSERT_EQ(dict.kind, PickleKind::dict);
  ASSERT_EQ(dict.items.size(), 4u);
  EXPECT_EQ(pickle[dict.items[0]].text, "a");
  const PickleValue& list = pickle[dict.items[1]];
  ASSERT_EQ(list.items.size(), 2u);
  EXPECT_EQ(pickle[list.items[1]].kind, PickleKind::tuple);
  EXPECT_EQ(pickle[pickle[list.items[1]].items[1]].integer, 3);
  EXPECT_EQ(pickle[dict.items[3]].kind, PickleKind::set);
  const Pickle twice = read_pickle("]q\x07h\x07\x86.");
  EXPECT_EQ(root(twice).items[0], root(twice).items[1]);
}

TEST(Pickle, CallsStayCalls) {
  const Pickle pickle = read_pickle("cposix\nsystem\nX\x02\0\0\0ls\x85R}b(K\x01K\x02u."sv);
  const PickleValue& call = root(pickle);
  ASSERT_EQ(call.kind, PickleKind::call);
  EXPECT_TRUE(pickle.is_global(call.items[0], "posix", "system"));
  EXPECT_EQ(pickle[pickle[call.items[1]].items[0]].text, "ls");
  EXPECT_EQ(pickle.describe(pickle.root()), "'posix.system'(…)");
  EXPECT_EQ(root(read_pickle("cm\nC\n)\x81.")).kind, PickleKind::call);
  EXPECT_EQ(root(read_pickle("X\x01\0\0\0mX\x01\0\0\0C\x93."sv)).name, "C");
  EXPECT_EQ(root(read_pickle("K\x05Q.")).kind, PickleKind::persistent);
}

TEST(Pickle, OrderedAndDefaultDictionariesAreDictionaries) {
  EXPECT_EQ(root(read_pickle("ccollections\nOrderedDict\n)RK\x01K\x02s.")).items.size(), 2u);
  EXPECT_EQ(root(read_pickle("ccollections\nOrderedDict\n](K\x01K\x02\x86"
                             "e\x85R."))
                .items.size(),
            2u);
  EXPECT_EQ(root(read_pickle("ccollections\ndefaultdict\nc__builtin__\nlist\n\x85RK\x01K\x02s.")).kind, PickleKind::dict);
}

TEST(Pickle, BadStreamsAreRefused) {
  const std::string good("\x80\x02}(X\x01\0\0\0aK\x01u."sv);
  EXPECT_EQ(read_pickle(good).stream_bytes(), good.size());
  EXPECT_EQ(read_pickle(good + "more").stream_bytes(), good.size());
  for (size_t length = 0; length < good.size(); ++length) refused_pickle(ErrorCode::corrupt_file, good.substr(0, length));
  EXPECT_THAT(refused_pickle(ErrorCode::corrupt_file,
                             "NX\xff\xff\xff\x7f"
                             "abc"),
              HasSubstr("at byte 101: 2147483647 bytes needed, 3 left"));
  refused_pickle(ErrorCode::corrupt_file, "\x8d\xff\xff\xff\xff\xff\xff\xff\xff.");
  refused_pickle(ErrorCode::corrupt_file, "\x95\xff\0\0\0\0\0\0\0N."sv);
  EXPECT_THAT(refused_pickle(ErrorCode::corrupt_file, "."), HasSubstr("the stack is empty"));
  refused_pickle(ErrorCode::corrupt_file, "NN.");
  refused_pickle(ErrorCode::corrupt_file, "N(0.");  // below the mark
  refused_pickle(ErrorCode::corrupt_file, "N(a.");
  refused_pickle(ErrorCode::corrupt_file, "Nt.");  // no mark
  refused_pickle(ErrorCode::corrupt_file, "K\x01(K\x02u.");
  refused_pickle(ErrorCode::corrupt_file, "}(K\x02u.");
  refused_pickle(ErrorCode::corrupt_file, "]K\x01K\x02s.");
  refused_pickle(ErrorCode::corrupt_file, "h\x05.");
  refused_pickle(ErrorCode::corrupt_file, "cm\nf\nNR.");
  refused_pickle(ErrorCode::corrupt_file, "cm");
  refused_pickle(ErrorCode::corrupt_file, "K\x01K\x02\x93.");
  refused_pickle(ErrorCode::corrupt_file, "\xff.");
  EXPECT_THAT(refused_pickle(ErrorCode::unsupported, "I1\n."), HasSubstr("opcode INT is not supported"));
  EXPECT_THAT(refused_pickle(ErrorCode::unsupported, "(im\nC\n."), HasSubstr("opcode INST"));
  EXPECT_THAT(refused_pickle(ErrorCode::unsupported, "\x82\x01."), HasSubstr("opcode EXT1"));
  EXPECT_THAT(refused_pickle(ErrorCode::unsupported, "\x80\x06N."), HasSubstr("protocol 6"));
}

TEST(Pickle, MemoryStaysInProportion) {
  EXPECT_THAT(refused_pickle(ErrorCode::unsupported, std::string(5'000'000, ']')), HasSubstr("more than 4194304 values"));
  // A list of many pairs, given to OrderedDict again and again.
  std::string stream = "ccollections\nOrderedDict\nq\x01](";
  for (int pair = 0; pair < 10'000; ++pair) stream += "K\x01K\x02\x86";
  stream += "e\x85q\x02";
  for (int call = 0; call < 10'000; ++call) stream += "h\x01h\x02R0";
  EXPECT_THAT(refused_pickle(ErrorCode::unsupported, stream + "."), HasSubstr("more than 4194304 values"));
  // What grows by opcodes that make no value: the stack, the marks, the memo, the elements of a list.
  EXPECT_THAT(refused_pickle(ErrorCode::unsupported, std::string(5'000'000, 'N')), HasSubstr("more than 4194304 values"));
  EXPECT_THAT(refused_pickle(ErrorCode::corrupt_file, std::string(5'000'000, '(')), HasSubstr("more marks"));
  std::string list = "](";
  for (int item = 0; item < 5'000; ++item) list += 'N';
  list += "eq\x01";
  for (int call = 0; call < 1'000; ++call) list += "(" + std::string(5'000, 'N') + "e";
  EXPECT_THAT(refused_pickle(ErrorCode::unsupported, list + "."), HasSubstr("more than 4194304 values"));
  // A file may justify fewer.
  EXPECT_THROW((void)Pickle::parse(std::as_bytes(std::span(std::string_view("NNNN"))), "p", 0, 3), Error);
}

}  // namespace
}  // namespace wick
