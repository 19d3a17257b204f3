#include <fmt/format.h>

#include "wick/formats/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "unit/shared_data.h"
#include "wick/base/error.h"

namespace wick {
namespace {

using ::testing::HasSubstr;

std::string with_header(std::string_view header, std::string_view data) {
  const uint64_t length = header.size();
  std::string text(8, '\0');
  std::memcpy(text.data(), &length, 8);
  return text.append(header).append(data);
}

SafetensorsFile read_tensors(std::string_view text) { return SafetensorsFile::parse(std::as_bytes(std::span(text)), "m.safetensors"); }

std::string refused_tensors(const std::string& text, ErrorCode code = ErrorCode::corrupt_file) {
  try {
    static_cast<void>(read_tensors(text));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_THAT(error.what(), HasSubstr("m.safetensors: "));
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused: " << text.substr(8);
  return "";
}

constexpr std::string_view kGood =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"U8","shape":[4],"data_offsets":[8,12]},"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})";

TEST(Safetensors, ReadsTensorsInTheOrderOfTheirData) {
  const std::string text = with_header(kGood, std::string("\0\0\x80\x3f\0\0\0\x40wick", 12));
  const SafetensorsFile file = read_tensors(text);
  ASSERT_EQ(file.tensors().size(), 2u);
  EXPECT_EQ(file.tensors()[0].name, "a");
  EXPECT_EQ(file.get("a").dtype, DType::f32);
  EXPECT_EQ(file.get("a").shape, (Shape{1, 2}));
  EXPECT_EQ(std::memcmp(file.get("b").data.data(), "wick", 4), 0);
  EXPECT_EQ(file.metadata().at("format"), "pt");
  EXPECT_EQ(file.find("c"), nullptr);
  EXPECT_THROW(static_cast<void>(file.get("c")), Error);
}

TEST(Safetensors, EveryTruncationIsRefused) {
  const std::string text = with_header(kGood, "0123456789ab");
  for (size_t length = 0; length < text.size(); ++length) refused_tensors(text.substr(0, length));
  refused_tensors(text + "x");
}

TEST(Safetensors, BadHeadersAreRefused) {
  const auto entry = [](std::string_view fields) { return with_header("{\"w\":{" + std::string(fields) + "}}", "0123"); };
  read_tensors(entry(R"("dtype":"U8","shape":[4],"data_offsets":[0,4])"));
  EXPECT_THAT(refused_tensors(entry(R"("dtype":"U8","shape":[4],"data_offsets":[0,5])")), HasSubstr("tensor 'w': data_offsets [0, 5]"));
  refused_tensors(entry(R"("dtype":"U8","shape":[4],"data_offsets":[4,0])"));
  refused_tensors(entry(R"("dtype":"U8","shape":[4],"data_offsets":[0])"));
  refused_tensors(entry(R"("dtype":"U8","shape":[4],"data_offsets":[-1,4])"));
  refused_tensors(entry(R"("dtype":"U8","shape":[4],"data_offsets":[0.0,4])"));
  refused_tensors(entry(R"("dtype":"U8","shape":[3],"data_offsets":[0,4])"));
  refused_tensors(entry(R"("dtype":"U8","shape":[3],"data_offsets":[1,4])"));
  refused_tensors(entry(R"("dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,4])"));
  refused_tensors(entry(R"("dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0])"));
  refused_tensors(entry(R"("dtype":"U8","shape":["4"],"data_offsets":[0,4])"));
  refused_tensors(entry(R"("dtype":4,"shape":[4],"data_offsets":[0,4])"));
  EXPECT_THAT(refused_tensors(entry(R"("shape":[4],"data_offsets":[0,4])")), HasSubstr("field 'dtype' is absent"));
  EXPECT_THAT(refused_tensors(with_header("{\"w\":[}", "0123")), HasSubstr("header at byte "));
  EXPECT_THAT(refused_tensors(with_header("{\"w\":1e999}", "0123")), HasSubstr("beyond the range"));
  refused_tensors(with_header("[]", ""));
  refused_tensors(with_header("{\"w\":1}", ""));
  refused_tensors(with_header("{\"__metadata__\":{\"a\":1}}", ""));
  refused_tensors(with_header("{\"w\xff\":{}}", ""));
  refused_tensors(with_header("{\"w\":" + std::string(100'000, '['), ""));
  EXPECT_THAT(refused_tensors(with_header(
                  R"({"w":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"w":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})", "0123")),
              HasSubstr("'w' stands there twice"));
  EXPECT_THAT(refused_tensors(with_header(
                  R"({"v":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"w":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})", "0123")),
              HasSubstr("its data begin at offset 2, but the tensor before ends at 3"));
  refused_tensors(std::string(8, '\xff') + "{}");
}

// What get() and require_all() say of the refused tensor w.
void expect_refused_tensor(const SafetensorsFile& file, const std::string& reason) {
  ASSERT_EQ(file.refused().size(), 1U);
  EXPECT_EQ(file.refused()[0].name, "w");
  EXPECT_THAT(file.refused()[0].what, HasSubstr(reason));
  EXPECT_EQ(file.find("w"), nullptr);
  for (const auto& use : {std::function<void()>([&] { (void)file.get("w"); }), std::function<void()>([&] { file.require_all(); })}) {
    try {
      use();
      ADD_FAILURE() << "nothing was refused";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported);
      EXPECT_THAT(error.what(), HasSubstr("tensor 'w': " + reason));
    }
  }
  ASSERT_EQ(file.tensors().size(), 1U);
  EXPECT_EQ(file.get("a").shape, (Shape{2}));
}

TEST(Safetensors, TensorsThatWickHasNotAreRefusedByNameAndLeaveTheOthers) {
  const char* other = R"("a":{"dtype":"U8","shape":[2],"data_offsets":[4,6]})";
  for (const char* dtype : {"U16", "U64", "F8_E5M2", "F8_E8M0", "F4", "F6_E2M3", "F6_E3M2", "C64", "f32"}) {
    const std::string header = fmt::format(R"({{"w":{{"dtype":"{}","shape":[4],"data_offsets":[0,4]}},{}}})", dtype, other);
    expect_refused_tensor(read_tensors(with_header(header, "012345")), fmt::format("dtype '{}' is not supported", dtype));
  }
  const std::string header = fmt::format(R"({{"w":{{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,4],"data_offsets":[0,4]}},{}}})", other);
  expect_refused_tensor(read_tensors(with_header(header, "012345")), "rank 9 is not supported");
}

TEST(Safetensors, BooleansReadAsBytes) {
  const SafetensorsFile file =
      read_tensors(with_header(R"({"w":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", std::string("\0\1", 2)));
  EXPECT_EQ(file.get("w").dtype, DType::u8);
}

TEST(Safetensors, ReadsTheGoldens) {
  const auto path = shared_data("data/models/novelist-20m-q8_0.golden.safetensors");
  if (!path) GTEST_SKIP() << kSharedDataMissing;
  const SafetensorsFile file = SafetensorsFile::open(*path);
  EXPECT_EQ(file.get("prompt0.logits").dtype, DType::f32);
  EXPECT_EQ(file.get("prompt0.logits").shape.last(), 8192);
  EXPECT_FALSE(file.metadata().empty());
}

}  // namespace
}  // namespace wick
