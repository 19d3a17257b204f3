// Tokenizer files and texts that were made to cost time are read and encoded in a time that grows with their size: a megabyte in less
// than a second, ten in at most fifteen times as long. Built only where the program itself is optimized.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "wick/base/error.h"
#include "wick/text/tokenizer.h"

namespace wick {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;

double best_of_three(const std::function<void()>& work) {
  double best = 1e9;
  for (int run = 0; run < 3; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

// `make(size)` makes an input of about so many bytes, `work` is timed; errors are answers too.
void expect_linear(const std::function<std::string(size_t)>& make, const std::function<void(const std::string&)>& work) {
  const auto seconds = [&](size_t size) {
    const std::string input = make(size);
    return best_of_three([&] {
      try {
        work(input);
      } catch (const Error&) {}
    });
  };
  const double one = seconds(kMegabyte);
  EXPECT_LT(one, 1.0) << "seconds for a megabyte";
  // A time too short to compare is short enough.
  EXPECT_LT(seconds(10 * kMegabyte), 15 * std::max(one, 0.02)) << "seconds for ten megabytes; one took " << one;
}

void read(const std::string& file) { static_cast<void>(Tokenizer::parse(file, "input")); }

std::string repeat(std::string_view text, size_t size) {
  std::string result;
  while (result.size() < size) result += text;
  return result;
}

std::string model_file(const std::string& vocab, const std::string& fields = "") {
  return R"({"model":{"type":"BPE","vocab":{)" + vocab + R"(},"merges":[]})" + fields + "}";
}

// A file with a list of as many items as fit: item(index) makes each.
std::string list_of(size_t size, const std::function<std::string(size_t)>& item) {
  std::string list;
  for (size_t index = 0; list.size() < size; ++index) list += (index == 0 ? "" : ",") + item(index);
  return list;
}

TEST(LinearTime, ManyTokens) {
  expect_linear(
      [](size_t size) {
        return model_file(list_of(size, [](size_t id) { return "\"t" + std::to_string(id) + "\":" + std::to_string(id); }));
      },
      read);
}

// Texts of 16 letters in which a hash that is not keyed collides: words of 8 bytes whose upper bits differ in pairs.
TEST(LinearTime, TokensWithSimilarBits) {
  const auto token = [](size_t index) {
    std::string text(16, 'a');
    for (size_t bit = 0; bit < 16; ++bit) text[bit] = ((index >> bit) & 1) != 0 ? 'A' : 'a';
    return "\"" + text + std::to_string(index >> 16) + "\":" + std::to_string(index);
  };
  expect_linear([&](size_t size) { return model_file(list_of(size, token)); }, read);
}

TEST(LinearTime, ManyMerges) {
  expect_linear(
      [](size_t size) {
        return R"({"model":{"type":"BPE","vocab":{"a":0,"aa":1},"merges":[)" + list_of(size, [](size_t) { return R"(["a","a"])"; }) + "]}}";
      },
      read);
}

TEST(LinearTime, ManyAddedTokens) {
  const auto token = [](size_t id) { return R"({"id":)" + std::to_string(id + 1) + R"(,"content":"<)" + std::to_string(id) + R"(>"})"; };
  const std::string normalizer = R"(,"normalizer":{"type":"NFKC"},"added_tokens":[)";
  expect_linear([&](size_t size) { return model_file(R"("a":0)", normalizer + list_of(size, token) + "]"); }, read);
  const auto equal = [](size_t id) { return R"({"id":)" + std::to_string(id) + R"(,"content":"x","special":true})"; };
  expect_linear([&](size_t size) { return model_file(R"("a":0)", normalizer + list_of(size, equal) + "]"); }, read);
}

TEST(LinearTime, ManyStepsAndDeepOnes) {
  for (const std::string step : {R"({"type":"NFC"})", R"({"type":"Replace","pattern":{"Regex":"(\\w+\\b)+"},"content":""})"}) {
    expect_linear(
        [&](size_t size) {
          return model_file(R"("a":0)",
                            R"(,"normalizer":{"type":"Sequence","normalizers":[)" + list_of(size, [&](size_t) { return step; }) + "]}");
        },
        read);
  }
  expect_linear(
      [](size_t size) {
        const std::string open = R"({"type":"Sequence","decoders":[)";
        const size_t depth = size / (open.size() + 2);
        std::string file = R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[]},"decoder":)";
        for (size_t level = 0; level < depth; ++level) file += open;
        for (size_t level = 0; level < depth; ++level) file += "]}";
        return file + "}";
      },
      read);
}

TEST(LinearTime, LongToken) {
  expect_linear([](size_t size) { return model_file("\"" + std::string(size, 'a') + "\":0"); }, read);
}

TEST(LinearTime, PatternsOfEscapes) {
  expect_linear(
      [](size_t size) {
        return model_file(R"("a":0)", R"(,"pre_tokenizer":{"type":"Split","behavior":"Isolated","pattern":{"Regex":")" +
                                          repeat(R"(\\b)", std::min<size_t>(size, 60'000)) + R"("}})");
      },
      read);
}

void encode_with(const std::string& file, const std::string& unit, size_t most = 10 * kMegabyte) {
  const auto tokenizer = Tokenizer::parse(file, "input");
  expect_linear([&](size_t size) { return repeat(unit, std::min(size, most)); },
                [&](const std::string& text) { static_cast<void>(tokenizer->encode(text)); });
}

TEST(LinearTime, TextsThatRunOn) {
  const std::string word_piece =
      R"({"model":{"type":"WordPiece","unk_token":"?","max_input_chars_per_word":1000000000,"vocab":{"?":0,"a":1,"##a":2,")" +
      std::string(250, 'a') + R"(b":3,"##)" + std::string(250, 'a') + R"(b":4}}})";
  encode_with(word_piece, "a");
  const std::string unigram =
      R"({"model":{"type":"Unigram","unk_id":0,"vocab":[["?",0],["a",-1],[")" + std::string(100, 'a') + R"(",-1]]}})";
  encode_with(unigram, "a");
  encode_with(model_file(R"("a":0,"1":1)", R"(,"added_tokens":[{"id":2,"content":")" + std::string(100, 'a') + R"(b"}])"), "a");
}

TEST(LinearTime, NumbersThatRunOn) {
  for (const std::string pattern :
       {R"(\\d{1,3}(?=(?:\\d{3})*\\b))", R"(\\p{N}{1,3}(?=(?:\\p{N}{3})*+(?!\\p{N})))", R"((?=(\\d{3})+(?!\\d)))"}) {
    encode_with(
        model_file(R"("1":0)", R"(,"pre_tokenizer":{"type":"Split","behavior":"Isolated","pattern":{"Regex":")" + pattern + R"("}})"), "1");
  }
}

TEST(LinearTime, MarksThatRunOn) { encode_with(model_file(R"("a":0)", R"(,"normalizer":{"type":"NFD"})"), "\u0301\u0323"); }

TEST(LinearTime, DecodingMarkers) {
  std::string marks;
  for (int index = 0; index < 1000; ++index) marks += "▁";
  const auto tokenizer =
      Tokenizer::parse(model_file("\"" + marks + "\":0",
                                  R"(,"decoder":{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},)"
                                  R"({"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":1}]})"),
                       "input");
  expect_linear([](size_t size) { return std::string(size, ' '); },
                [&](const std::string& text) { static_cast<void>(tokenizer->decode(std::vector<TokenId>(text.size() / 1000, 0))); });
}

}  // namespace
}  // namespace wick
