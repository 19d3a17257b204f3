#include <fmt/format.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "unit/gguf_samples.h"
#include "wick/base/error.h"
#include "wick/formats/gguf.h"
#include "wick/formats/split_name.h"

namespace wick {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class GgufSplit : public ::testing::Test {
 protected:
  static std::string name(int index, int count) { return fmt::format("model-{:05}-of-{:05}.gguf", index + 1, count); }
  void write_parts(int32_t tensors = 3) {
    for (uint16_t index = 0; index < 3; ++index) split_part_writer(index, 3, tensors).write(folder_ / name(index, 3));
  }
  std::string refused(ErrorCode code, const std::filesystem::path& path) {
    try {
      static_cast<void>(GgufFile::open(path));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      return error.what();
    }
    return "nothing was refused";
  }
  TemporaryFolder folder_;
};

TEST_F(GgufSplit, PartsBecomeOneFile) {
  write_parts();
  const GgufFile file = GgufFile::open(folder_ / name(0, 3));
  ASSERT_EQ(file.tensors().size(), 3u);
  EXPECT_EQ(file.get_string("general.architecture"), "llama");
  EXPECT_EQ(file.tensors()[2].name, "part.2");
  EXPECT_NE(file.find_tensor("part.1"), nullptr);
  EXPECT_NE(file.tensors()[0].file, file.tensors()[1].file);
  uint64_t bytes = 0;
  for (int index = 0; index < 3; ++index) bytes += std::filesystem::file_size(folder_ / name(index, 3));
  EXPECT_EQ(file.file_bytes(), bytes);
}

TEST_F(GgufSplit, MissingPartIsNamed) {
  write_parts();
  std::filesystem::remove(folder_ / name(1, 3));
  EXPECT_THAT(refused(ErrorCode::not_found, folder_ / name(0, 3)), AllOf(HasSubstr(name(1, 3)), HasSubstr("part 2 of 3 is missing")));
}

TEST_F(GgufSplit, LaterPartMustNotBeOpenedFirst) {
  write_parts();
  EXPECT_THAT(refused(ErrorCode::invalid_argument, folder_ / name(1, 3)),
              AllOf(HasSubstr("part 2 of 3"), HasSubstr("-00001-of-00003.gguf")));
}

TEST_F(GgufSplit, NamesMustFollowThePattern) {
  split_part_writer(0, 3, 3).write(folder_ / "model.gguf");
  EXPECT_THAT(refused(ErrorCode::corrupt_file, folder_ / "model.gguf"), HasSubstr("'-00001-of-00003.gguf'"));
}

TEST_F(GgufSplit, PartsMustAgreeOnTheirCount) {
  write_parts();
  split_part_writer(1, 4, 3).write(folder_ / name(1, 3));
  EXPECT_THAT(refused(ErrorCode::corrupt_file, folder_ / name(0, 3)), AllOf(HasSubstr(name(1, 3)), HasSubstr("'split.count' is 4")));
}

TEST_F(GgufSplit, PartsMustBeInTheirPlace) {
  write_parts();
  split_part_writer(2, 3, 3).write(folder_ / name(1, 3));
  EXPECT_THAT(refused(ErrorCode::corrupt_file, folder_ / name(0, 3)), AllOf(HasSubstr(name(1, 3)), HasSubstr("'split.no' is 2")));
  vocabulary_writer().write(folder_ / name(1, 3));
  EXPECT_THAT(refused(ErrorCode::corrupt_file, folder_ / name(0, 3)), HasSubstr("'split.no' is absent"));
}

TEST_F(GgufSplit, TensorTwiceNamesThePart) {
  write_parts();
  GgufWriter again;
  static constexpr float kValues[8] = {};
  again.add("split.no", {uint16_t{1}});
  again.add("split.count", {uint16_t{3}});
  again.add_tensor("first", DType::f32, {8}, std::as_bytes(std::span(kValues)));
  again.write(folder_ / name(1, 3));
  EXPECT_THAT(refused(ErrorCode::corrupt_file, folder_ / name(0, 3)), AllOf(HasSubstr(name(1, 3)), HasSubstr("tensor 'first' at byte")));
}

TEST(SplitName, IsReadAsItIsWritten) {
  const std::optional<SplitName> name = SplitName::parse("folder/a-of-b-00002-of-00013.gguf");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->stem, "folder/a-of-b");
  EXPECT_EQ(name->number, 2U);
  EXPECT_EQ(name->count, 13U);
  EXPECT_EQ(name->to_string(), "folder/a-of-b-00002-of-00013.gguf");
  EXPECT_EQ((SplitName{.stem = "m", .number = 123456, .count = 200000}.to_string()), "m-123456-of-200000.gguf");
  EXPECT_EQ(SplitName::parse("m-123456-of-200000.gguf")->number, 123456U);
  for (const char* other : {"", "model.gguf", "m-1-of-3.gguf", "m-00001-of-00003", "m-00001-of-.gguf", "m-of-00003.gguf",
                            "00001-of-00003.gguf", "m-0000x-of-00003.gguf", "m-000001-of-00003.gguf", "m-00001-of-00003.gguf.part",
                            "-of-.gguf", "-of-", "m-99999999999999999999-of-00003.gguf"}) {
    EXPECT_FALSE(SplitName::parse(other)) << other;
  }
}

TEST_F(GgufSplit, TensorCountIsChecked) {
  write_parts(4);
  EXPECT_THAT(refused(ErrorCode::corrupt_file, folder_ / name(0, 3)),
              HasSubstr("'split.tensors.count' is 4, but the 3 parts hold 3 tensors"));
}

}  // namespace
}  // namespace wick
