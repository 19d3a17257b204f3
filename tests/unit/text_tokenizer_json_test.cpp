// What a tokenizer.json means, judged against Hugging Face's tokenizers library (0.23): the expected ids and texts are its own.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "text_vectors.h"
#include "wick/base/error.h"
#include "wick/text/tokenizer/streaming_detokenizer.h"
#include "wick/text/tokenizer/tokenizer.h"

namespace wick {
namespace {

using testing::HasSubstr;
using Ids = std::vector<TokenId>;

std::shared_ptr<const Tokenizer> parse(const std::string& model, const std::string& fields = "") {
  return Tokenizer::parse(R"({"model":)" + model + (fields.empty() ? "" : "," + fields) + "}", "test.json");
}

std::shared_ptr<const Tokenizer> byte_pair(const std::string& vocab, const std::string& fields = "", const std::string& merges = "") {
  return parse(R"({"type":"BPE","vocab":{)" + vocab + R"(},"merges":[)" + merges + "]}", fields);
}

std::string split(const std::string& pattern) {
  return R"("pre_tokenizer":{"type":"Split","pattern":{"Regex":")" + pattern + R"("},"behavior":"Isolated","invert":false})";
}

std::string decode(const Tokenizer& tokenizer, const Ids& ids) { return tokenizer.decode(ids); }

std::string stream(const std::shared_ptr<const Tokenizer>& tokenizer, const Ids& ids) {
  StreamingDetokenizer detokenizer(tokenizer);
  std::string text;
  for (const TokenId id : ids) text += detokenizer.push(id);
  return text + detokenizer.finish();
}

void expect_refused(const std::string& file, const std::string& part) {
  try {
    static_cast<void>(Tokenizer::parse(file, "test.json"));
    FAIL() << "was read";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("test.json"));
    EXPECT_THAT(error.what(), HasSubstr(part));
  }
}

constexpr const char* kByteLevel = R"("pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"use_regex":true})";

TEST(TokenizerJson, ByteWithoutTokenIsLeftOut) {
  const auto tokenizer = byte_pair(R"("a":0,"b":1,"ï":2)", kByteLevel);
  EXPECT_EQ(tokenizer->encode("a b", kPlain), (Ids{0, 1}));
  EXPECT_EQ(tokenizer->encode("\v", kPlain), (Ids{}));
}

TEST(TokenizerJson, ByteWithoutTokenIsTheUnknownTokenWhereThereIsOne) {
  const std::string vocab = R"("type":"BPE","vocab":{"a":0,"b":1,"?":2},"merges":[],"unk_token":"?")";
  EXPECT_EQ(parse("{" + vocab + "}", kByteLevel)->encode("axyb", kPlain), (Ids{0, 2, 2, 1}));
  EXPECT_EQ(parse("{" + vocab + R"(,"fuse_unk":true})", kByteLevel)->encode("axyb", kPlain), (Ids{0, 2, 1}));
}

// Expected by Hugging Face's library.
TEST(TokenizerJson, UnknownTokenComesAfterTheFallbackBytesThatFollowIt) {
  const std::string model =
      R"({"type":"BPE","vocab":{"<unk>":0,"a":1,"<0x09>":2,"<0x0A>":3},"merges":[],"unk_token":"<unk>","byte_fallback":true,"fuse_unk":)";
  EXPECT_EQ(parse(model + "false}")->encode("axx\tx\nax\t", kPlain), (Ids{1, 0, 2, 0, 3, 0, 1, 2, 0}));
  EXPECT_EQ(parse(model + "true}")->encode("axx\tx\nax\t", kPlain), (Ids{1, 2, 3, 0, 1, 2, 0}));
}

TEST(TokenizerJson, UnigramScoresAreDoubles) {
  const auto tokenizer =
      parse(R"({"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["a",-1],["c",-1],["ab",-1.00000001],["bc",-1.00000002]]})");
  EXPECT_EQ(tokenizer->encode("abc", kPlain), (Ids{3, 2}));
}

// With the nearest doubles, the single "x" would come first.
TEST(TokenizerJson, UnigramScoresAreRoundedAsSerdeRoundsThem) {
  const auto tokenizer =
      parse(R"({"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["x",-2.7780156269994674],["xx",-3.9600761572440195]]})");
  EXPECT_EQ(tokenizer->encode("xxxxx", kPlain), (Ids{2, 2, 1}));
}

TEST(TokenizerJson, WordLevelTakesWholeWords) {
  const std::string words = R"("pre_tokenizer":{"type":"Whitespace"})";
  const auto tokenizer = parse(R"({"type":"WordLevel","unk_token":"?","vocab":{"?":0,"ab":1,"a":2,",":3}})", words);
  EXPECT_EQ(tokenizer->encode("ab, abc a", kPlain), (Ids{1, 3, 0, 2}));
  const auto strict = parse(R"({"type":"WordLevel","vocab":{"ab":0}})", words);
  EXPECT_EQ(strict->encode("ab ab", kPlain), (Ids{0, 0}));
  EXPECT_THROW(static_cast<void>(strict->encode("ab b", kPlain)), Error);
}

TEST(TokenizerJson, AnEmptyMatchRightAfterAnotherDoesNotCount) {
  const std::string model = R"({"type":"BPE","vocab":{"a":0,"b":1,"c":2,"-":3},"merges":[]})";
  const std::string replace = R"("normalizer":{"type":"Replace","pattern":{"Regex":"a|"},"content":"-"})";
  EXPECT_EQ(parse(model, replace)->encode("cab", kPlain), (Ids{3, 2, 3, 1, 3}));
  EXPECT_EQ(parse(model, replace)->encode("ca", kPlain), (Ids{3, 2, 3}));
  const auto split_by = [](const std::string& behavior) {
    return R"("pre_tokenizer":{"type":"Split","pattern":{"Regex":"a|b|"},"behavior":")" + behavior + R"(","invert":true})";
  };
  const std::string words = R"({"type":"WordLevel","unk_token":"?","vocab":{"?":0,"b":1,"bc":2," ":3,"a":4}})";
  EXPECT_EQ(parse(words, split_by("MergedWithPrevious"))->encode("abbbc", kPlain), (Ids{4, 1, 1, 2}));
}

TEST(TokenizerJson, FixedLengthCutsByCharacters) {
  const std::string words = R"({"type":"WordLevel","unk_token":"?","vocab":{"?":0,"äb":1,"cd":2,"e":3}})";
  EXPECT_EQ(parse(words, R"("pre_tokenizer":{"type":"FixedLength","length":2})")->encode("äbcde", kPlain), (Ids{1, 2, 3}));
  expect_refused(R"({"model":)" + words + R"(,"pre_tokenizer":{"type":"FixedLength","length":0}})", "length = 0");
}

TEST(TokenizerJson, ByteLevelNormalizerSpellsBytes) {
  EXPECT_EQ(byte_pair(R"("Ġ":0,"Ã":1,"¤":2,"a":3)", R"("normalizer":{"type":"ByteLevel"})")->encode("ä a", kPlain), (Ids{1, 2, 0, 3}));
}

TEST(TokenizerJson, SuffixesAreOfTheWholeTextWhereNothingCutsIt) {
  const auto tokenizer = parse(R"({"type":"BPE","end_of_word_suffix":"</w>","byte_fallback":true,"merges":[],)"
                               R"("vocab":{"<0x3C>":0,"<0x2F>":1,"<0x77>":2,"<0x3E>":3,"-":4,"▁":5,"▁</w>":6,"<0x2D>":7}})");
  EXPECT_EQ(tokenizer->encode("-▁", kPlain), (Ids{4, 6}));
}

TEST(TokenizerJson, WhiteSpaceThatATokenTookAlongIsNoTokenAgain) {
  const auto tokenizer = byte_pair(R"("a":0)", R"("added_tokens":[{"id":1,"content":"  ","lstrip":true,"rstrip":true}])");
  EXPECT_EQ(tokenizer->encode("a     a", kPlain), (Ids{0, 1, 0}));
}

TEST(TokenizerJson, AddedTokenThatTheModelHasKeepsTheModelsId) {
  const auto tokenizer =
      byte_pair(R"("a":0,"b":1,"xy":2)", R"("added_tokens":[{"id":0,"content":"xy","special":false}],)" + std::string(kByteLevel));
  EXPECT_EQ(tokenizer->encode("xya", kPlain), (Ids{2, 0}));
  EXPECT_EQ(tokenizer->token_text(0), "a");
}

TEST(TokenizerJson, AddedTokensGetTheNextFreeIds) {
  const std::string added = R"("added_tokens":[{"id":9,"content":"<x>"},{"id":5,"content":"<y>","special":true},{"id":9,"content":"c"}])";
  const auto tokenizer = byte_pair(R"("a":0,"b":1,"c":2)", added);
  EXPECT_EQ(tokenizer->encode("a<x>b<y>c", {.add_special = false, .parse_special = true}), (Ids{0, 3, 1, 4, 2}));
  EXPECT_EQ(tokenizer->vocab_size(), 5);
}

TEST(TokenizerJson, EqualAddedTextsAreOneTokenAndSpecialIfOneOfThemIs) {
  const auto tokenizer =
      byte_pair(R"("a":0,"b":1,"c":2)", R"("added_tokens":[{"id":3,"content":"xy"},{"id":4,"content":"xy","special":true}])");
  EXPECT_EQ(tokenizer->vocab_size(), 4);
  EXPECT_TRUE(tokenizer->is_control(3));
  EXPECT_EQ(decode(*tokenizer, {0, 3}), "a");
}

TEST(TokenizerJson, SeveralTextsMayHaveOneId) {
  const auto tokenizer = byte_pair(R"("a":0,"b":1,"ab":2,"c":2)", kByteLevel, R"("a b")");
  EXPECT_EQ(tokenizer->encode("ab", kPlain), (Ids{2}));
  EXPECT_EQ(tokenizer->encode("c", kPlain), (Ids{2}));
}

TEST(TokenizerJson, AddedTokensAreNoPiecesOfWords) {
  const auto tokenizer =
      parse(R"({"type":"WordPiece","unk_token":"[UNK]","vocab":{"[UNK]":0,"h":1,"##i":2,"##2":3}})",
            R"("pre_tokenizer":{"type":"BertPreTokenizer"},"added_tokens":[{"id":4,"content":"hi","single_word":true}])");
  EXPECT_EQ(tokenizer->encode("hi2", kPlain), (Ids{1, 2, 3}));
  EXPECT_EQ(tokenizer->encode("hi 2", kPlain), (Ids{4, 0}));
}

TEST(TokenizerJson, EndOfGenerationTokenThatIsNotSpecialIsText) {
  const auto tokenizer = byte_pair(R"("a":0,"b":1)", R"("added_tokens":[{"id":2,"content":"</s>","special":false}],)"
                                                     R"("decoder":{"type":"ByteLevel"},)" +
                                                         std::string(kByteLevel));
  EXPECT_EQ(decode(*tokenizer, {0, 2, 1}), "a</s>b");
  EXPECT_TRUE(tokenizer->ends_generation(2));
}

TEST(TokenizerJson, MetaspaceFirstPrependsOnlyAtTheVeryBeginning) {
  const auto tokenizer = byte_pair(R"("a":0,"▁a":1,"▁":2)",
                                   R"("pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},)"
                                   R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":true}]})",
                                   R"("▁ a")");
  EXPECT_EQ(tokenizer->encode(" a", kPlain), (Ids{0}));
  EXPECT_EQ(tokenizer->encode("a a", kPlain), (Ids{1, 0}));
}

TEST(TokenizerJson, DecodersWorkInTheirOrder) {
  const std::string vocab = R"("▁a":0,"▁":1,"a":2,"<0xE4>":3,"<0xB8>":4,"<0xAD>":5,"<0xFF>":6,"##b":7,"c</w>":8,"!":9,"|":10)";
  const auto sequence = [](const std::string& steps) { return R"({"type":"Sequence","decoders":[)" + steps + "]}"; };
  const std::string space = R"({"type":"Replace","pattern":{"String":"▁"},"content":" "})";
  const std::string strip = R"({"type":"Strip","content":" ","start":1,"stop":0})";
  const std::string fuse = R"({"type":"Fuse"})";
  const std::string bytes = R"({"type":"ByteFallback"})";
  const std::vector<std::tuple<std::string, Ids, std::string>> cases = {
      {sequence(space + "," + strip + "," + fuse), {0, 0}, "aa"},
      {sequence(space + "," + fuse + "," + strip), {0, 0}, "a a"},
      {sequence(fuse + "," + space + "," + strip), {1, 0, 0}, " a a"},
      {sequence(fuse + R"(,{"type":"Replace","pattern":{"String":"a▁a"},"content":"X"})"), {2, 0, 0}, "X▁a"},
      {sequence(fuse + R"(,{"type":"Replace","pattern":{"Regex":"a+"},"content":"X"})"), {2, 2, 0}, "X▁X"},
      {sequence(R"({"type":"Strip","content":"a","start":0,"stop":1})"), {2, 0, 2}, "▁"},
      {sequence(fuse + R"(,{"type":"Strip","content":"a","start":0,"stop":1})"), {2, 0, 2}, "a▁a"},
      {sequence(bytes + "," + fuse), {2, 3, 4, 5, 2}, "a中a"},
      {sequence(bytes + "," + fuse), {3, 4, 5, 6, 2}, "\uFFFD\uFFFD\uFFFD\uFFFDa"},
      {R"({"type":"WordPiece","prefix":"##","cleanup":true})", {2, 7, 2, 9}, "ab a!"},
      {R"({"type":"WordPiece","prefix":"##","cleanup":false})", {7, 7, 9}, "##bb !"},
      {R"({"type":"WordPiece","prefix":"","cleanup":false})", {7, 2, 9}, "##ba!"},
      {sequence(fuse + R"(,{"type":"WordPiece","prefix":"##","cleanup":false})"), {2, 7, 9}, "a##b!"},
      {sequence(fuse + R"(,{"type":"BPEDecoder","suffix":"</w>"},{"type":"Strip","content":"a","start":1,"stop":0})"), {2, 8, 2}, "ca"},
      {sequence(fuse + R"(,{"type":"ByteLevel"})"), {2, 0}, "a▁a"},
      {R"({"type":"BPEDecoder","suffix":"</w>"})", {2, 8, 8}, "ac c"},
      {R"({"type":"CTC","pad_token":"!","word_delimiter_token":"|","cleanup":true})", {2, 2, 9, 2, 10, 2}, "aa a"},
      {R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"always"})", {0, 0}, "a a"},
      {R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"never"})", {0, 0}, " a a"}};
  for (const auto& [decoder, ids, text] : cases) {
    const auto tokenizer = byte_pair(vocab, "\"decoder\":" + decoder);
    EXPECT_EQ(decode(*tokenizer, ids), text) << decoder;
    EXPECT_EQ(stream(tokenizer, ids), text) << decoder;
  }
}

TEST(TokenizerJson, NormalizedTextIsValidBeforePatternsSeeIt) {
  // A map of "a" to the byte 0xE2: the root's unit leads to 'a' (0x61), whose unit leads to the value 0.
  std::string map("\0\0\0\0", 4);
  std::vector<uint32_t> units(0x61 + 1, 0);
  units[0] = 0;
  units[0x61] = 0x61u | (1u << 8) | (0x60u << 10);  // the value's unit: 0x61 ^ 0x60 = 1
  units[1] = 0x80000000u;
  for (const uint32_t unit : units) map.append(reinterpret_cast<const char*>(&unit), 4);
  const auto bytes = static_cast<uint32_t>(4 * units.size());
  map.replace(0, 4, reinterpret_cast<const char*>(&bytes), 4);
  map.append("\xE2\0", 2);
  static constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string base64;
  while (map.size() % 3 != 0) map += '\0';
  for (size_t at = 0; at < map.size(); at += 3) {
    const auto byte = [&](size_t index) { return static_cast<uint32_t>(static_cast<unsigned char>(map[at + index])); };
    const uint32_t bits = byte(0) << 16 | byte(1) << 8 | byte(2);
    for (const uint32_t shift : {18u, 12u, 6u, 0u}) base64 += kDigits[(bits >> shift) & 63];
  }
  const auto tokenizer = byte_pair(R"("a":0,"\uFFFD":1,"x":2)",
                                   R"("normalizer":{"type":"Sequence","normalizers":[{"type":"Precompiled","precompiled_charsmap":")" +
                                       base64 + R"("},{"type":"Replace","pattern":{"Regex":"\\X"},"content":"x"}]})");
  EXPECT_EQ(tokenizer->encode("aa", kPlain), (Ids{2, 2}));
}

TEST(TokenizerJson, SequencesInsideEachOtherHaveADepthLimit) {
  const auto nested = [](const std::string& inner, const char* list, int depth) {
    std::string json;
    for (int level = 0; level < depth; ++level) json += R"({"type":"Sequence",")" + std::string(list) + "\":[";
    json += inner;
    for (int level = 0; level < depth; ++level) json += "]}";
    return json;
  };
  const std::string model = R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[]},)";
  for (const int depth : {9, 20'000}) {
    expect_refused(model + R"("normalizer":)" + nested(R"({"type":"NFC"})", "normalizers", depth) + "}", "Sequence");
    expect_refused(model + R"("pre_tokenizer":)" + nested(R"({"type":"Whitespace"})", "pretokenizers", depth) + "}", "Sequence");
    expect_refused(model + R"("decoder":)" + nested(R"({"type":"Fuse"})", "decoders", depth) + "}", "Sequence");
    expect_refused(model + R"("post_processor":)" + nested(R"({"type":"ByteLevel"})", "processors", depth) + "}", "Sequence");
  }
  EXPECT_NO_THROW(
      static_cast<void>(Tokenizer::parse(model + R"("normalizer":)" + nested(R"({"type":"NFC"})", "normalizers", 3) + "}", "test.json")));
}

TEST(TokenizerJson, WhatWouldExhaustMemoryOrTimeIsRefused) {
  const std::string model = R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[]},)";
  expect_refused(R"({"model":{"type":"BPE","vocab":{")" + std::string(5000, 'a') + R"(":0},"merges":[]}})", "5000 bytes");
  std::string steps = R"({"type":"NFC"})";
  for (int index = 0; index < 300; ++index) steps += R"(,{"type":"NFC"})";
  expect_refused(model + R"("normalizer":{"type":"Sequence","normalizers":[)" + steps + "]}}", "256");
  std::string doubling = R"({"type":"Replace","pattern":{"String":"a"},"content":"aa"})";
  for (int index = 0; index < 60; ++index) doubling += R"(,{"type":"Replace","pattern":{"String":"a"},"content":"aa"})";
  const auto tokenizer = Tokenizer::parse(model + R"("normalizer":{"type":"Sequence","normalizers":[)" + doubling + "]}}", "test.json");
  EXPECT_THROW(static_cast<void>(tokenizer->encode("aaaa", kPlain)), Error);
}

TEST(TokenizerJson, FilesThatWouldExhaustMemoryOrTimeLaterAreRefused) {
  const auto repeated = [](const std::string& item, int count) {
    std::string list = item;
    for (int index = 1; index < count; ++index) list += "," + item;
    return list;
  };
  const std::string model = R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[]},)";
  const std::string twice = R"({"type":"Replace","pattern":{"String":"a"},"content":"aa"})";
  const auto grows = Tokenizer::parse(model + R"("decoder":{"type":"Sequence","decoders":[)" + repeated(twice, 100) + "]}}", "test.json");
  EXPECT_THROW(static_cast<void>(grows->decode(Ids{0})), Error);
  EXPECT_THROW(static_cast<void>(stream(grows, {0})), Error);
  expect_refused(model + R"("decoder":{"type":"Replace","pattern":{"String":"a"},"content":")" + std::string(5000, 'b') + "\"}}",
                 "content of 5000 bytes");
  expect_refused(model + R"("post_processor":{"type":"TemplateProcessing","single":[)" +
                     repeated(R"({"SpecialToken":{"id":"a","type_id":0}})", 100) + R"(],"special_tokens":{"a":{"id":"a","ids":[)" +
                     repeated("0", 100) + R"(],"tokens":[]}}}})",
                 "4096 tokens around a text");
  std::string added;
  for (int index = 0; index < 100; ++index) {
    added += (index == 0 ? "" : ",") + fmt::format(R"({{"id":{},"content":"{}{}"}})", index + 1, std::string(2000, 'x'), index);
  }
  const std::string forms = R"("normalizer":{"type":"Sequence","normalizers":[)" + repeated(R"({"type":"NFKD"})", 250) + "]},";
  expect_refused(model + forms + R"("added_tokens":[)" + added + "]}", "250 normalizers");
}

// Each of these took minutes: white space was looked through anew for each token, a run of flags or joined pictures for each character.
TEST(TokenizerJson, LongRunsTakeTimeInProportionToTheirLength) {
  constexpr size_t kLength = 300'000;
  const auto spaces = byte_pair(R"("a":0)", R"("added_tokens":[{"id":1,"content":" ","lstrip":true,"rstrip":true}])");
  EXPECT_EQ(spaces->encode(std::string(kLength, ' '), kPlain), (Ids{1}));
  const auto repeat = [](const std::string& text) {
    std::string result;
    while (result.size() < kLength) result += text;
    return result;
  };
  const auto digits = byte_pair(R"("1":0,"11":1,"111":2)", split(R"(\\d{1,3}(?=(?:\\d{3})*\\b))"), R"("1 1","11 1")");
  EXPECT_EQ(digits->encode(std::string(kLength, '1'), kPlain), Ids(kLength / 3, 2));
  const std::string words = R"({"type":"WordLevel","unk_token":"?","vocab":{"?":0,"🇩🇪":1}})";
  EXPECT_EQ(parse(words, split("\\\\y"))->encode(repeat("🇩🇪"), kPlain), Ids((kLength + 7) / 8, 1));
  EXPECT_EQ(parse(words, split("\\\\X"))->encode(repeat("👩\u200D"), kPlain), (Ids{0}));
}

TEST(TokenizerJson, PatternsMeanWhatOnigurumaMeans) {
  const auto words = [](const std::string& pattern, const std::string& text) {
    return byte_pair(R"("a":0)", R"("added_tokens":[],)" + split(pattern))->encode(text, kPlain);
  };
  EXPECT_NO_THROW(static_cast<void>(words(R"([\\u4e00-\\u9fff]|[\\p{L}&&[^\\p{Han}]]+|\\y\\O)", "a中")));
}

TEST(TokenizerJson, DigitsAreGroupedFromTheEndOfTheNumber) {
  const std::string vocab = R"("1":0,"11":1,"111":2,"x":3)";
  const std::string merges = R"("1 1","11 1")";
  const auto cohere = byte_pair(vocab, split(R"(\\d{1,3}(?=(?:\\d{3})*\\b))"), merges);
  EXPECT_EQ(cohere->encode("11111", kPlain), (Ids{1, 2}));
  EXPECT_EQ(cohere->encode("x111", kPlain), (Ids{3, 2}));
  EXPECT_EQ(cohere->encode("1111x", kPlain), (Ids{1, 1, 3})) << "a number that is part of a word is not cut";
  const auto afmoe = byte_pair(vocab, split(R"(\\p{N}{1,3}(?=(?:\\p{N}{3})*+(?!\\p{N})))"), merges);
  EXPECT_EQ(afmoe->encode("1111x", kPlain), (Ids{0, 2, 3}));
  const auto super = byte_pair(vocab, split(R"((?=(\\d{3})+(?!\\d)))"), merges);
  EXPECT_EQ(super->encode("11111", kPlain), (Ids{1, 2}));
}

}  // namespace
}  // namespace wick
