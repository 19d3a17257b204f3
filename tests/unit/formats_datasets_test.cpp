// IDX, CSV and image files. tests/data/formats/images was written by Pillow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "unit/message_of.h"
#include "unit/shared_data.h"
#include "unit/temporary_folder.h"
#include "wick/base/process.h"
#include "wick/formats/csv.h"
#include "wick/formats/idx.h"
#include "wick/formats/image.h"

namespace wick {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::filesystem::path write(const TemporaryFolder& folder, const std::string& name, const std::string& bytes) {
  std::ofstream(folder / name, std::ios::binary) << bytes;
  return folder / name;
}

// IDX of bytes: two zeros, the type, the rank, big-endian extents.
std::string idx(const std::vector<uint8_t>& dims, const std::string& values, char type = 8) {
  std::string bytes{0, 0, type, static_cast<char>(dims.size())};
  for (const uint8_t dim : dims) bytes += std::string{0, 0, 0, static_cast<char>(dim)};
  return bytes + values;
}

TEST(Idx, ReadsExtentsAndBytes) {
  const TemporaryFolder folder;
  const IdxArray array = read_idx(write(folder, "a", idx({2, 3}, "abcdef")));
  EXPECT_THAT(array.dims, ElementsAre(2, 3));
  EXPECT_THAT(array.values, ElementsAre('a', 'b', 'c', 'd', 'e', 'f'));
}

TEST(Idx, RefusesOtherFiles) {
  const TemporaryFolder folder;
  EXPECT_THAT(message_of([&] { (void)read_idx(folder / "absent"); }), HasSubstr("cannot be opened"));
  EXPECT_THAT(message_of([&] { (void)read_idx(write(folder, "a", "GGUFxxxx")); }), HasSubstr("not an IDX file"));
  EXPECT_THAT(message_of([&] { (void)read_idx(write(folder, "b", idx({2, 3}, "abc"))); }), HasSubstr("truncated"));
  EXPECT_THAT(message_of([&] { (void)read_idx(write(folder, "c", idx({2}, "abc"))); }), HasSubstr("after its 2 elements"));
  EXPECT_THAT(message_of([&] { (void)read_idx(write(folder, "d", idx({1}, "abcd", 0x0d))); }), HasSubstr("only bytes"));
  EXPECT_THAT(message_of([&] { (void)read_idx(write(folder, "e", std::string("\0\0\x08\x04", 4) + std::string(16, '\xff'))); }),
              HasSubstr("1 GiB"));
}

// One that is claimed costs no memory before it is there, and a compressed file's own check is not passed over.
TEST(Idx, ElementsThatAreNotThereCostNothingAndDamageIsNamed) {
  const TemporaryFolder folder;
  const auto claims = write(folder, "a", std::string("\0\0\x08\x02\0\0\x80\0\0\0\x80\0", 12));  // 32768 x 32768
  const uint64_t before = peak_resident_bytes();
  EXPECT_THAT(message_of([&] { (void)read_idx(claims); }), HasSubstr("truncated: 1048576 more bytes were expected"));
  EXPECT_LT(peak_resident_bytes() - before, uint64_t{64} << 20);
  // gzip of idx({2}, "ab"), with another checksum.
  const std::string packed(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x63\x60\xe0\x60\x64\x60\x60\x60\x4a\x4c\x02\x00\x58\x58\x58\x58\x0a\x00\x00\x00", 30);
  EXPECT_THAT(message_of([&] { (void)read_idx(write(folder, "b.gz", packed)); }),
              HasSubstr("b.gz: incorrect data check: the compressed file is damaged"));
  EXPECT_THAT(message_of([&] { (void)read_idx(folder.path()); }), HasSubstr("cannot be read"));
}

TEST(Csv, ReadsNumbersHeaderAndQuotes) {
  const CsvTable table = parse_csv("x, \"y, z\",label\r\n1,-2.5,0\n\n +3,1e3,\"1\"\n", "t.csv");
  EXPECT_THAT(table.columns, ElementsAre("x", "y, z", "label"));
  EXPECT_EQ(table.rows, 2);
  EXPECT_EQ(table.width, 3);
  EXPECT_THAT(table.values, ElementsAre(1, -2.5, 0, 3, 1000, 1));
}

TEST(Csv, AFileOfNumbersAloneHasNoHeader) {
  const CsvTable table = parse_csv("1;2\n3;4", "t.csv", {.separator = ';'});
  EXPECT_TRUE(table.columns.empty());
  EXPECT_THAT(table.values, ElementsAre(1, 2, 3, 4));
}

TEST(Csv, NamesLineAndColumnOfAFault) {
  EXPECT_EQ(message_of([] { (void)parse_csv("a,b\n1,2\n3,x\n", "t.csv"); }), "t.csv: line 3, column 2: 'x' is not a number");
  EXPECT_EQ(message_of([] { (void)parse_csv("1,2\n3\n", "t.csv"); }), "t.csv: line 2 has 1 fields, the first row has 2");
  EXPECT_THAT(message_of([] { (void)parse_csv("a,b\n", "t.csv"); }), HasSubstr("no row"));
  EXPECT_THAT(message_of([] { (void)parse_csv("", "t.csv"); }), HasSubstr("no row"));
  EXPECT_THAT(message_of([] { (void)parse_csv("1,2\n1,\n", "t.csv"); }), HasSubstr("line 2, column 2"));
}

// A typing error in the first row of numbers is no header, so no row is lost without a word.
TEST(Csv, AFirstRowWithANumberIsNoHeader) {
  EXPECT_EQ(message_of([] { (void)parse_csv("1,x\n2,3\n", "t.csv"); }), "t.csv: line 1, column 2: 'x' is not a number");
  EXPECT_EQ(message_of([] { (void)parse_csv("1,NA\n2,3\n", "t.csv"); }), "t.csv: line 1, column 2: 'NA' is not a number");
  EXPECT_EQ(message_of([] { (void)parse_csv("1,2\r3,4\r", "t.csv"); }), "t.csv: line 1, column 2: '2\r3' is not a number");
  EXPECT_THAT(parse_csv("x,1990\n2,3\n", "t.csv", {.header = true}).columns, ElementsAre("x", "1990"));
  EXPECT_EQ(message_of([] { (void)parse_csv("a,b\n2,3\n", "t.csv", {.header = false}); }), "t.csv: line 1, column 1: 'a' is not a number");
}

TEST(Csv, AMissingValueIsAnErrorUnlessOneIsNamed) {
  EXPECT_EQ(message_of([] { (void)parse_csv("1,,3\n", "t.csv"); }), "t.csv: line 1, column 2: no value");
  EXPECT_EQ(message_of([] { (void)parse_csv("a,b\n1,\n", "t.csv"); }), "t.csv: line 2, column 2: no value");
  EXPECT_THAT(parse_csv("1,,3\n,5,\n", "t.csv", {.missing = -1}).values, ElementsAre(1, -1, 3, -1, 5, -1));
  // The separator is no white space at the ends of a line.
  EXPECT_THAT(parse_csv("1\t2\t\n\t3\t4\n", "t.csv", {.separator = '\t', .missing = 0}).values, ElementsAre(1, 2, 0, 0, 3, 4));
}

TEST(Csv, QuotesMayHoldSeparatorsQuotesAndLineEnds) {
  const CsvTable table = parse_csv("\xEF\xBB\xBF\"a,\"\"b\"\"\",\"c\r\nd\"\r\n\"1\",\" 2 \"\r\n", "t.csv");
  EXPECT_THAT(table.columns, ElementsAre("a,\"b\"", "c\r\nd"));
  EXPECT_THAT(table.values, ElementsAre(1, 2));
  EXPECT_EQ(message_of([] { (void)parse_csv("1,2\n\"3,4\n5,6\n", "t.csv"); }), "t.csv: line 2: a quote is not closed");
  EXPECT_EQ(message_of([] { (void)parse_csv("\"a\nb\",c\n1,x\n", "t.csv"); }), "t.csv: line 3, column 2: 'x' is not a number");
}

TEST(Image, ReadsPngInColourAndGray) {
  const auto images = source_file("tests/data/formats/images");
  const Image colour = read_image(images / "rgb.png", 3);
  EXPECT_EQ(colour.height, 2);
  EXPECT_EQ(colour.width, 3);
  EXPECT_THAT(colour.pixels, ElementsAre(255, 0, 0, 0, 255, 0, 0, 0, 255, 10, 20, 30, 128, 128, 128, 255, 255, 255));
  EXPECT_THAT(read_image(images / "gray.png", 1).pixels, ElementsAre(0, 64, 128, 255));
  EXPECT_THAT(read_image(images / "gray.png", 3).pixels, ElementsAre(0, 0, 0, 64, 64, 64, 128, 128, 128, 255, 255, 255));
}

TEST(Image, ReadsJpeg) {
  // The image was filled with (200, 100, 50), which Pillow decodes exactly; decoders may differ by rounding.
  const Image image = read_image(source_file("tests/data/formats/images/solid.jpg"), 3);
  ASSERT_EQ(image.pixels.size(), 8U * 8 * 3);
  EXPECT_NEAR(image.pixels[0], 200, 2);
  EXPECT_NEAR(image.pixels[1], 100, 2);
  EXPECT_NEAR(image.pixels[2], 50, 2);
}

TEST(Image, RefusesOtherAndCutFiles) {
  const TemporaryFolder folder;
  EXPECT_THAT(message_of([&] { (void)read_image(write(folder, "a.png", "GIF89a"), 3); }), HasSubstr("neither a PNG nor a JPEG"));
  for (const char* name : {"rgb.png", "solid.jpg"}) {
    std::ifstream file(source_file("tests/data/formats/images") / name, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    EXPECT_THAT(message_of([&] { (void)read_image(write(folder, "cut", bytes.substr(0, 30)), 3); }), HasSubstr("not a readable")) << name;
  }
  EXPECT_THAT(message_of([&] { (void)read_image(source_file("tests/data/formats/images/rgb.png"), 2); }), HasSubstr("2 channels"));
}

}  // namespace
}  // namespace wick
