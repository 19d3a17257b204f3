#include "wick/base/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include <string>
#include <vector>

#include "unit/bytes_of.h"
#include "unit/temporary_folder.h"
#include "wick/base/error.h"
#include "wick/base/mapped_file.h"

namespace wick {
namespace {

using ::testing::HasSubstr;

std::string content(const std::filesystem::path& path) {
  const auto bytes = read_bytes(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(AtomicFile, TargetAppearsOnlyWithCommit) {
  const TemporaryFolder folder;
  AtomicFile file(folder / "out");
  file.write(bytes_of("hello "));
  file.write(bytes_of("world"));
  EXPECT_EQ(file.size(), 11u);
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
  file.commit();
  EXPECT_EQ(content(folder / "out"), "hello world");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"out"});
}

TEST(AtomicFile, NothingIsLeftWithoutCommit) {
  const TemporaryFolder folder;
  write_bytes(folder / "out", bytes_of("old"));
  { AtomicFile(folder / "out").write(std::vector<std::byte>(1'000'000)); }
  EXPECT_EQ(content(folder / "out"), "old");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"out"});
}

TEST(AtomicFile, AProcessThatIsKilledLeavesNothing) {
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    AtomicFile file(folder / "out");
    file.write(std::vector<std::byte>(1'000'000));
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_EQ(folder.names(), std::vector<std::string>{});
}

TEST(AtomicFile, SmallAndLargePiecesKeepTheirOrder) {
  const TemporaryFolder folder;
  std::string expected;
  AtomicFile file(folder / "out");
  for (const size_t size : {1u, 70'000u, 3u, 65'535u, 65'536u, 0u, 10u}) {
    const std::string piece(size, static_cast<char>('a' + size % 26));
    expected += piece;
    file.write(bytes_of(piece));
  }
  file.commit();
  EXPECT_EQ(content(folder / "out"), expected);
}

TEST(AtomicFile, ReplacedFileKeepsItsPermissions) {
  const TemporaryFolder folder;
  write_bytes(folder / "out", bytes_of("old"));
  ::chmod((folder / "out").c_str(), 0640);
  AtomicFile(folder / "out").commit();
  struct stat status{};
  ASSERT_EQ(::stat((folder / "out").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0640u);
}

TEST(AtomicFile, LinkStaysALink) {
  const TemporaryFolder folder;
  write_bytes(folder / "real", bytes_of("old"));
  std::filesystem::create_symlink(folder / "real", folder / "link");
  AtomicFile file(folder / "link");
  file.write(bytes_of("new"));
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(content(folder / "real"), "new");
}

TEST(AtomicFile, DeviceIsWrittenAndStaysADevice) {
  AtomicFile file("/dev/null");
  file.write(bytes_of("gone"));
  file.commit();
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(AtomicFile, ErrorsNameThePath) {
  const TemporaryFolder folder;
  try {
    AtomicFile file(folder / "none" / "out");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_found);
    EXPECT_THAT(error.what(), HasSubstr("none/out: cannot be written: its folder does not exist"));
  }
  try {
    AtomicFile file(folder.path());
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
    EXPECT_THAT(error.what(), HasSubstr("is a directory"));
  }
}

TEST(AtomicFile, BytesOfAFileThatWasCutOffAreRefusedByName) {
  const TemporaryFolder folder;
  std::ofstream(folder / "source") << std::string(1 << 20, 'x');
  const auto source = MappedFile::open(folder / "source");
  AtomicFile copy(folder / "copy");
  std::filesystem::resize_file(folder / "source", 0);
  try {
    copy.write(source->bytes());
    copy.commit();
    FAIL() << "was written";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::corrupt_file);
    EXPECT_THAT(error.what(), testing::HasSubstr("copy: cannot write at byte 0: the file that these bytes are copied from was cut off"));
  }
}

TEST(AtomicFile, NamesMayBeAsLongAsTheFileSystemAllowsAndLongerOnesAreRefusedAtOnce) {
  const TemporaryFolder folder;
  for (const size_t length : {240UL, 241UL, 255UL}) {
    const std::string name(length, 'n');
    AtomicFile file(folder / name);
    file.write(std::as_bytes(std::span("abc", 3)));
    file.commit();
    EXPECT_TRUE(std::filesystem::exists(folder / name)) << length;
  }
  EXPECT_EQ(folder.names().size(), 3U);
  EXPECT_THROW(AtomicFile(folder / std::string(256, 'n')), Error);
}

}  // namespace
}  // namespace wick
