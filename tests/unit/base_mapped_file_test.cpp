#include <gtest/gtest.h>

#include <barrier>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <sys/stat.h>

#include "unit/temporary_folder.h"
#include "wick/base/error.h"
#include "wick/base/mapped_file.h"

namespace wick {
namespace {

void write_text(const std::filesystem::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

void expect_not_opened(const std::filesystem::path& path, ErrorCode code, const std::string& part) {
  try {
    const auto file = MappedFile::open(path);
    FAIL() << path << " was opened";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_EQ(std::string(error.what()).find(path.string()), 0U) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(MappedFile, HoldsTheBytesOfTheFileAfterItIsGone) {
  const TemporaryFolder folder;
  write_text(folder / "a.bin", "seven b");
  const auto file = MappedFile::open(folder / "a.bin");
  std::filesystem::remove(folder / "a.bin");
  ASSERT_EQ(file->bytes().size(), 7U);
  EXPECT_EQ(static_cast<char>(file->bytes()[6]), 'b');
}

TEST(MappedFile, ForgottenBytesAreReadAgain) {
  const TemporaryFolder folder;
  write_text(folder / "a.bin", std::string(100000, 'x'));
  const auto file = MappedFile::open(folder / "a.bin");
  file->forget(file->bytes().subspan(100, 50000));
  for (const std::byte byte : file->bytes()) EXPECT_EQ(static_cast<char>(byte), 'x');
}

TEST(MappedFile, WhatIsWrittenToItsBytesDoesNotReachTheFile) {
  const TemporaryFolder folder;
  write_text(folder / "a.bin", "aaaa");
  const auto file = MappedFile::open(folder / "a.bin", MapAccess::copy_on_write);
  const_cast<std::byte&>(file->bytes()[1]) = std::byte{'b'};  // NOLINT: the access allows it
  EXPECT_EQ(file->bytes()[1], std::byte{'b'});
  EXPECT_EQ(MappedFile::open(folder / "a.bin")->bytes()[1], std::byte{'a'});
}

TEST(MappedFile, RefusalsNameThePathAndTheReason) {
  const TemporaryFolder folder;
  write_text(folder / "empty", "");
  expect_not_opened(folder / "absent", ErrorCode::not_found, "no such file");
  expect_not_opened(folder / "empty" / "inside", ErrorCode::not_found, "no such file");
  expect_not_opened(folder.path(), ErrorCode::invalid_argument, "is a directory");
  expect_not_opened(folder / "empty", ErrorCode::corrupt_file, "empty");
  expect_not_opened("/dev/null", ErrorCode::invalid_argument, "not a regular file");
}

TEST(MappedFile, AFifoIsRefusedAtOnce) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  expect_not_opened(folder / "pipe", ErrorCode::invalid_argument, "not a regular file");
}

TEST(MappedFileDeathTest, AFileThatIsCutOffWhileItIsReadEndsTheProgramWithAMessage) {
  const TemporaryFolder folder;
  const std::string name = "cut \x1b[31m.bin";
  write_text(folder / name, std::string(1 << 20, 'x'));
  const auto read_what_is_gone = [&] {
    report_cut_files("wick run");
    const auto file = MappedFile::open(folder / name);
    std::filesystem::resize_file(folder / name, 4096);
    volatile std::byte byte = file->bytes()[(1 << 20) - 1];
    static_cast<void>(byte);
  };
  EXPECT_EXIT(read_what_is_gone(), testing::ExitedWithCode(2), "wick run: error: [^\x1b]*cut \\[31m.bin: the file was cut off");
}

TEST(MappedFileDeathTest, ThreadsThatReadACutFileAtOnceEndTheProgramWithOneMessage) {
  const TemporaryFolder folder;
  const auto read_what_is_gone = [&] {
    report_cut_files("wick run");
    const auto file = MappedFile::open(folder / "cut.bin");
    std::filesystem::resize_file(folder / "cut.bin", 4096);
    std::barrier at_once(8);
    std::vector<std::jthread> threads;
    for (size_t i = 1; i <= 8; ++i) {
      threads.emplace_back([&, i] {
        at_once.arrive_and_wait();
        volatile std::byte byte = file->bytes()[(1 << 20) - 4096 * i];
        static_cast<void>(byte);
      });
    }
  };
  for (int i = 0; i < 20; ++i) {
    write_text(folder / "cut.bin", std::string(1 << 20, 'x'));
    EXPECT_EXIT(read_what_is_gone(), testing::ExitedWithCode(2), "^wick run: error: [^\n]*cut.bin: the file was cut off[^\n]*\n$");
  }
}

}  // namespace
}  // namespace wick
