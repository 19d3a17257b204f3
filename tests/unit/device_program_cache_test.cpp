// The folder of compiled programs, and what KernelRuntime makes of it: with a driver that counts its calls.
#include "wick/device/program_cache.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "processes.h"
#include "temporary_folder.h"
#include "wick/base/error.h"
#include "wick/base/log.h"
#include "wick/device/kernel_runtime.h"
#include "wick/ir/builder.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

fs::path only_file(const fs::path& folder) {
  fs::path found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    EXPECT_TRUE(found.empty());
    found = entry.path();
  }
  return found;
}

uint64_t bytes_in(const fs::path& folder) {
  uint64_t total = 0;
  for (const auto& entry : fs::directory_iterator(folder)) total += entry.path().extension() == ".program" ? entry.file_size() : 0;
  return total;
}

TEST(ProgramCache, AnotherProcessFindsWhatOneStored) {
  const TemporaryFolder folder;
  ProgramCache(folder / "a/b").store("key", bytes_of("binary"));
  ProgramCache other(folder / "a/b");
  EXPECT_EQ(other.find("key"), bytes_of("binary"));
  EXPECT_EQ(other.find("another key"), std::nullopt);
  other.erase("key");
  EXPECT_EQ(other.find("key"), std::nullopt);
}

TEST(ProgramCache, AnEntryWithAnyByteChangedOrMissingCountsAsMissing) {
  const TemporaryFolder folder;
  ProgramCache cache(folder / "cache");
  cache.store("key", bytes_of("binary"));
  const fs::path file = only_file(folder / "cache");
  std::ifstream in(file, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), {});
  const auto write = [&](const std::string& text) { std::ofstream(file, std::ios::binary | std::ios::trunc) << text; };
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x20);
    write(damaged);
    EXPECT_EQ(cache.find("key"), std::nullopt) << i;
    write(whole.substr(0, i));
    EXPECT_EQ(cache.find("key"), std::nullopt) << i;
  }
  write(whole + "x");
  EXPECT_EQ(cache.find("key"), std::nullopt);
  write(whole);
  EXPECT_EQ(cache.find("key"), bytes_of("binary"));
}

TEST(ProgramCache, AFolderStaysWithinItsBoundAndKeepsWhatWasUsedLast) {
  const TemporaryFolder folder;
  ProgramCache cache(folder / "cache", 20000);
  const std::vector<std::byte> binary(1000);
  for (int i = 0; i < 100; ++i) {
    cache.store("key " + std::to_string(i), binary);
    (void)cache.find("key 0");
    EXPECT_LE(bytes_in(folder / "cache"), 20000U);
  }
  EXPECT_NE(cache.find("key 99"), std::nullopt);
  cache.store("huge", std::vector<std::byte>(30000));
  EXPECT_EQ(cache.find("huge"), std::nullopt);
}

TEST(ProgramCache, ThreadsAndObjectsMayShareAFolder) {
  const TemporaryFolder folder;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      ProgramCache cache(folder / "cache", 30000);
      for (int i = 0; i < 50; ++i) {
        const std::string key = std::to_string((i * 7 + t) % 20);
        const std::optional<std::vector<std::byte>> found = cache.find(key);
        EXPECT_EQ(found.value_or(bytes_of(key + " binary" + std::string(1500, 'x'))), bytes_of(key + " binary" + std::string(1500, 'x')));
        cache.store(key, bytes_of(key + " binary" + std::string(1500, 'x')));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(bytes_in(folder / "cache"), 30000U);
}

// Each child stores and finds its part of the same keys, while the bound throws entries out.
TEST(ProgramCache, ProcessesMayShareAFolder) {
  const TemporaryFolder folder;
  const auto binary_of = [](const std::string& key) { return bytes_of(key + " binary" + std::string(1500, 'x')); };
  const auto work = [&](int part) {
    ProgramCache cache(folder / "cache", 30000);
    for (int i = 0; i < 50; ++i) {
      const std::string key = std::to_string((i * 7 + part) % 20);
      if (cache.find(key).value_or(binary_of(key)) != binary_of(key)) return false;
      cache.store(key, binary_of(key));
    }
    return true;
  };
  run_in_processes(4, work);
  EXPECT_LE(bytes_in(folder / "cache"), 30000U);
  EXPECT_GT(bytes_in(folder / "cache"), 0U);
}

// A process may be ended at any time: what it was writing is no entry, and in nobody's way.
TEST(ProgramCache, AProcessThatIsEndedWhileItWritesLeavesNoHalfEntry) {
  const TemporaryFolder folder;
  const std::vector<std::byte> binary(size_t{1} << 20, std::byte{7});
  for (int i = 0; i < 5; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ProgramCache cache(folder / "cache");
      for (;;) cache.store("key", binary);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5 + 7 * i));
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    ProgramCache cache(folder / "cache");
    EXPECT_EQ(cache.find("key").value_or(binary), binary);
    cache.store("key", binary);
    EXPECT_EQ(cache.find("key"), binary);
  }
}

// What a disk does that is full: files grow no more. For as long as it lives.
class FullDisk {
 public:
  FullDisk() {
    previous_ = std::signal(SIGXFSZ, SIG_IGN);
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &limit_), 0);
    const rlimit none{.rlim_cur = 0, .rlim_max = limit_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &limit_);
    std::signal(SIGXFSZ, previous_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit limit_{};
  void (*previous_)(int) = nullptr;
};

class Warnings {
 public:
  Warnings() {
    set_log_hook([this](LogLevel level, std::string_view message) {
      if (level == LogLevel::warning) messages.emplace_back(message);
    });
  }
  ~Warnings() { set_log_hook({}); }
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;

  std::vector<std::string> messages;
};

TEST(ProgramCache, AFullDiskIsSaidOnceAndWhatIsThereIsStillFound) {
  const TemporaryFolder folder;
  ProgramCache cache(folder / "cache");
  cache.store("before", bytes_of("binary"));
  const Warnings warnings;
  std::vector<std::string> names;
  {
    const FullDisk full;
    for (const char* key : {"first", "second"}) {
      cache.store(key, bytes_of("binary"));
      EXPECT_EQ(cache.find(key), std::nullopt);
    }
    EXPECT_EQ(cache.find("before"), bytes_of("binary"));
  }
  ASSERT_EQ(warnings.messages.size(), 1U);
  EXPECT_NE(warnings.messages[0].find((folder / "cache").string()), std::string::npos) << warnings.messages[0];
  EXPECT_EQ(only_file(folder / "cache").extension(), ".program") << "something half written was left";
}

// A folder that is there and takes no file, not even from root.
TEST(ProgramCache, AFolderThatCannotBeWrittenIsSaidOnce) {
  const fs::path folder = "/proc/self/fdinfo";
  if (!fs::is_directory(folder)) GTEST_SKIP() << "no " << folder;
  const Warnings warnings;
  ProgramCache cache(folder);
  for (const char* key : {"first", "second"}) {
    cache.store(key, bytes_of("binary"));
    EXPECT_EQ(cache.find(key), std::nullopt);
  }
  ASSERT_EQ(warnings.messages.size(), 1U);
  EXPECT_NE(warnings.messages[0].find(folder.string()), std::string::npos) << warnings.messages[0];
}

TEST(ProgramCache, WithoutAFolderNothingIsKeptAndNothingFails) {
  const TemporaryFolder folder;
  std::ofstream(folder / "file") << "not a folder";
  ProgramCache cache(folder / "file/cache");
  cache.store("key", bytes_of("binary"));
  EXPECT_EQ(cache.find("key"), std::nullopt);
}

struct Counts {
  int compiled = 0, loaded = 0, allocated = 0;
  size_t memory = size_t{1} << 20;  // that the device has
};

class CountingQueue final : public Queue {
 public:
  void upload(const std::byte* /*source*/, Buffer& /*target*/, size_t /*offset*/, size_t /*bytes*/) override {}
  void download(const Buffer& /*source*/, size_t /*offset*/, std::byte* /*target*/, size_t /*bytes*/) override {}
  void copy(Buffer& /*source*/, size_t /*from*/, Buffer& /*target*/, size_t /*to*/, size_t /*bytes*/) override {}
  void fill(Buffer& /*target*/, size_t /*offset*/, size_t /*bytes*/, std::byte /*value*/) override {}
  void launch(const Launch& /*launch*/) override {}
  void synchronize() override {}
};

// Memory of a device that has so much of it.
class Block final : public Buffer {
 public:
  Block(Counts& counts, size_t bytes) : counts_(counts), bytes_(bytes) { counts_.memory -= bytes_; }
  ~Block() override { counts_.memory += bytes_; }
  [[nodiscard]] size_t bytes() const noexcept override { return bytes_; }
  [[nodiscard]] std::byte* host_data() noexcept override { return nullptr; }

 private:
  Counts& counts_;
  size_t bytes_;
};

class CountingDriver final : public KernelDriver {
 public:
  CountingDriver(Counts& counts, std::string version) : counts_(counts), version_(std::move(version)) {
    caps_.name = "counting";
    caps_.max_parameter_bytes = 128;
    caps_.memory_bytes = counts.memory;
  }
  [[nodiscard]] const DeviceCaps& caps() const noexcept override { return caps_; }
  [[nodiscard]] Queue& queue() noexcept override { return queue_; }
  [[nodiscard]] std::unique_ptr<Buffer> allocate(size_t bytes) override {
    if (bytes > counts_.memory) return nullptr;
    ++counts_.allocated;
    return std::make_unique<Block>(counts_, bytes);
  }
  [[nodiscard]] const ir::Dialect* dialect() const noexcept override { return &ir::opencl_dialect(); }
  [[nodiscard]] std::string binary_key() const override { return version_; }
  [[nodiscard]] std::vector<std::byte> compile(const ir::Kernel& prepared, const std::string& text) override {
    if (prepared.name == "refused") throw CompilerError{"line 1: no"};
    ++counts_.compiled;
    return bytes_of(version_ + text);
  }
  [[nodiscard]] std::shared_ptr<const Program> load(ir::Kernel prepared, std::span<const std::byte> binary) override {
    const std::string text(reinterpret_cast<const char*>(binary.data()), binary.size());
    if (text.rfind(version_, 0) != 0) return nullptr;
    ++counts_.loaded;
    return std::make_shared<const Program>(std::move(prepared));
  }

 private:
  Counts& counts_;
  std::string version_;
  DeviceCaps caps_;
  CountingQueue queue_;
};

KernelRuntime runtime_of(Counts& counts, const fs::path& folder, const std::string& version = "driver 1") {
  return KernelRuntime(std::make_unique<CountingDriver>(counts, version), {.cache_directory = folder.string()});
}

ir::Kernel kernel_named(const std::string& name) {
  ir::KernelBuilder k(name, {.group_size = 4});
  const ir::Memory y = k.output("y", ir::Element::u32);
  y[k.local_id()] = k.local_id();
  return k.finish();
}

TEST(KernelRuntime, ASecondRunCompilesNothing) {
  const TemporaryFolder folder;
  Counts counts;
  (void)runtime_of(counts, folder / "cache").compile(kernel_named("first"));
  (void)runtime_of(counts, folder / "cache").compile(kernel_named("first"));
  EXPECT_EQ(counts.compiled, 1);
  EXPECT_EQ(counts.loaded, 2);
  (void)runtime_of(counts, folder / "cache").compile(kernel_named("second"));
  EXPECT_EQ(counts.compiled, 2);
  (void)runtime_of(counts, folder / "cache", "driver 2").compile(kernel_named("first"));
  EXPECT_EQ(counts.compiled, 3);
}

TEST(KernelRuntime, WithoutAFolderEachRunCompiles) {
  Counts counts;
  for (int i = 0; i < 2; ++i) (void)runtime_of(counts, {}).compile(kernel_named("first"));
  EXPECT_EQ(counts.compiled, 2);
}

TEST(KernelRuntime, ARefusedKernelIsNamedWithTheDriversWordsAndItsTextIsSaved) {
  const TemporaryFolder folder;
  Counts counts;
  KernelRuntime runtime = runtime_of(counts, folder / "cache");
  try {
    (void)runtime.compile(kernel_named("refused"));
    FAIL();
  } catch (const Error& error) {
    const std::string path = (folder / "cache/wick-refused-refused.cl").string();
    EXPECT_EQ(error.what(), "kernel refused: the OpenCL C compiler of counting refused it; its text is in " + path + ": line 1: no");
    EXPECT_GT(fs::file_size(path), 0U);
  }
}

// What a runtime says of a kernel that its compiler refuses.
std::string refusal_of(const fs::path& cache) {
  Counts counts;
  KernelRuntime runtime = runtime_of(counts, cache);
  try {
    (void)runtime.compile(kernel_named("refused"));
  } catch (const Error& error) {
    return error.what();
  }
  return "it compiled";
}

TEST(KernelRuntime, ARefusedTextIsWrittenNowhereButToTheCache) {
  const std::string begin = "kernel refused: the OpenCL C compiler of counting refused it";
  const fs::path temporary = fs::temp_directory_path() / "wick-refused-refused.cl";
  fs::remove(temporary);
  EXPECT_EQ(refusal_of({}), begin + "; open the device with a cache_directory to keep its text: line 1: no");
  EXPECT_EQ(refusal_of("/proc/self/fdinfo"), begin + ": line 1: no");
  EXPECT_FALSE(fs::exists(fs::symlink_status(temporary)));
}

TEST(KernelRuntime, ARefusedTextFollowsNoLink) {
  const TemporaryFolder folder;
  const fs::path other = folder / "other.txt";
  std::ofstream(other) << "mine";
  fs::create_directory(folder / "cache");
  fs::create_symlink(other, folder / "cache/wick-refused-refused.cl");
  EXPECT_NE(refusal_of(folder / "cache").find("its text is in"), std::string::npos);
  EXPECT_EQ(fs::file_size(other), 4U);
  EXPECT_FALSE(fs::is_symlink(folder / "cache/wick-refused-refused.cl"));
}

TEST(CachingAllocator, AFreedBlockServesTheNextBufferOfItsSize) {
  Counts counts;
  KernelRuntime runtime = runtime_of(counts, {});
  for (int i = 0; i < 10; ++i) (void)runtime.allocate(1000, Lifetime::transient);
  EXPECT_EQ(counts.allocated, 1);
  EXPECT_EQ(runtime.allocated_bytes(), 0U);
  EXPECT_EQ(runtime.peak_allocated_bytes(), 1000U);
  EXPECT_GT(runtime.allocator().statistics().reserved, 999U);
  runtime.allocator().release_kept();
  EXPECT_EQ(runtime.allocator().statistics().reserved, 0U);
  EXPECT_EQ(counts.memory, size_t{1} << 20);
}

TEST(CachingAllocator, KeptBlocksAreGivenBackBeforeMemoryIsCalledOut) {
  Counts counts;
  KernelRuntime runtime = runtime_of(counts, {});
  (void)runtime.allocate(600000, Lifetime::transient);
  const std::unique_ptr<Buffer> large = runtime.allocate(900000, Lifetime::persistent);
  EXPECT_EQ(large->bytes(), 900000U);
  try {
    (void)runtime.allocate(500000, Lifetime::transient);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    EXPECT_STREQ(error.what(), "counting: out of memory: requested 500000 bytes, 900000 of 1048576 in use");
  }
}

TEST(Runtime, ALaunchBeyondWhatTheKernelOrTheDeviceTakesIsRefused) {
  Counts counts;
  KernelRuntime runtime = runtime_of(counts, {});
  const std::shared_ptr<const Program> program = runtime.compile(kernel_named("first"));
  const std::unique_ptr<Buffer> y = runtime.allocate(16, Lifetime::transient);
  const BufferArgument argument{y.get()};
  EXPECT_NO_THROW(runtime.launch({program.get(), {1, 1, 1}, std::span(&argument, 1), {}}));
  EXPECT_THROW(runtime.launch({program.get(), {1, 1, 1}, {}, {}}), Error);
  EXPECT_THROW(runtime.launch({program.get(), {70000, 1, 1}, std::span(&argument, 1), {}}), Error);
}

TEST(Runtime, ALaunchOnBytesThatABufferHasNotIsRefused) {
  Counts counts;
  KernelRuntime runtime = runtime_of(counts, {});
  const std::shared_ptr<const Program> program = runtime.compile(kernel_named("first"));
  const std::unique_ptr<Buffer> y = runtime.allocate(512, Lifetime::transient);
  const auto refusal_of = [&](const BufferArgument& argument) -> std::string {
    try {
      runtime.launch({program.get(), {1, 1, 1}, std::span(&argument, 1), {}});
    } catch (const Error& error) {
      return error.code() == ErrorCode::invalid_argument ? error.what() : "another code";
    }
    return "launched";
  };
  EXPECT_EQ(refusal_of({y.get(), 256, 256}), "launched");
  EXPECT_EQ(refusal_of({y.get(), 256, 257}), "kernel first: buffer y: 257 bytes from 256 on leave a buffer of 512");
  EXPECT_EQ(refusal_of({y.get(), 768, 0}), "kernel first: buffer y: 0 bytes from 768 on leave a buffer of 512");
  EXPECT_EQ(refusal_of({y.get(), 256, SIZE_MAX}),
            fmt::format("kernel first: buffer y: {} bytes from 256 on leave a buffer of 512", SIZE_MAX));
  EXPECT_EQ(refusal_of({y.get(), 4, 4}), "kernel first: buffer y: begins at byte 4, which is not a multiple of 256");
  EXPECT_EQ(refusal_of({nullptr, 0, 4}), "kernel first: no buffer is given as y");
}

}  // namespace
}  // namespace wick
