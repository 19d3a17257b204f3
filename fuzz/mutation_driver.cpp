// Drives a fuzz target without libFuzzer: mutates seed files with a seeded generator, so that the same command tries the same
// inputs on every machine. Knows nothing of the format; an input that crashes or hangs is written to a file first.
//   fuzz_gguf --seeds DIR [--seeds DIR…] --runs N [--seed S] [--max-length BYTES] [--seconds-per-input S] [--mib-per-input M]
//   fuzz_gguf FILE…                                     tries exactly these files
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "outcome.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) __attribute__((weak));
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

// An allocation that is larger than any input justifies is a fault. UBSan ends by SIGABRT, so that its inputs are saved too.
extern "C" const char* __asan_default_options() { return "max_allocation_size_mb=512"; }
extern "C" const char* __ubsan_default_options() { return "print_stacktrace=1:abort_on_error=1"; }

namespace {

using Bytes = std::vector<uint8_t>;

// SplitMix64 (Steele, Lea & Flood 2014): the standard library's distributions differ from one library to the next.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  // In [0, bound); bound > 0. The tiny bias does not matter here.
  size_t below(size_t bound) { return static_cast<size_t>(next() % bound); }

  // A place in [0, size): half of them in the first 512 bytes, where formats keep their counts.
  size_t place(size_t size) { return below(next() % 2 == 0 ? std::min<size_t>(size, 512) : size); }

 private:
  uint64_t state_;
};

constexpr std::array<uint64_t, 30> kInterestingIntegers = {0,
                                                           1,
                                                           2,
                                                           7,
                                                           8,
                                                           16,
                                                           31,
                                                           32,
                                                           64,
                                                           127,
                                                           128,
                                                           255,
                                                           256,
                                                           4096,
                                                           0x7fff,
                                                           0x8000,
                                                           0xffff,
                                                           0x10000,
                                                           0x7fffffff,
                                                           0x80000000,
                                                           0xffffffff,
                                                           0x100000000,
                                                           0x1000000000000,
                                                           0x0fffffffffffffff,
                                                           0x1000000000000000,
                                                           0x2000000000000001,
                                                           0x4000000000000000,
                                                           0x7fffffffffffffff,
                                                           0x8000000000000000,
                                                           0xffffffffffffffff};

void put_integer(Bytes& bytes, size_t at, uint64_t value, size_t width) {
  for (size_t i = 0; i < width && at + i < bytes.size(); ++i) bytes[at + i] = static_cast<uint8_t>(value >> (8 * i));
}

uint64_t get_integer(const Bytes& bytes, size_t at, size_t width) {
  uint64_t value = 0;
  for (size_t i = 0; i < width && at + i < bytes.size(); ++i) value |= static_cast<uint64_t>(bytes[at + i]) << (8 * i);
  return value;
}

Bytes span_of(const Bytes& bytes, Random& random) {
  const size_t begin = random.place(bytes.size());
  const size_t length = 1 + random.below(std::min<size_t>(bytes.size() - begin, size_t{1} << random.below(10)));
  return Bytes(bytes.begin() + static_cast<ptrdiff_t>(begin), bytes.begin() + static_cast<ptrdiff_t>(begin + length));
}

void erase_span(Bytes& bytes, Random& random) {
  const size_t begin = random.place(bytes.size());
  const size_t length = 1 + random.below(std::min<size_t>(bytes.size() - begin, size_t{1} << random.below(8)));
  bytes.erase(bytes.begin() + static_cast<ptrdiff_t>(begin), bytes.begin() + static_cast<ptrdiff_t>(begin + length));
}

void insert_at(Bytes& bytes, size_t at, const Bytes& inserted) {
  bytes.insert(bytes.begin() + static_cast<ptrdiff_t>(at), inserted.begin(), inserted.end());
}

// The head of one seed before the tail of another.
void splice(Bytes& bytes, const Bytes& other, Random& random) {
  bytes.resize(random.below(bytes.size()) + 1);
  const size_t from = random.below(other.size());
  bytes.insert(bytes.end(), other.begin() + static_cast<ptrdiff_t>(from), other.end());
}

// One random change. `other` is a seed to take bytes from; neither is empty.
void mutate(Bytes& bytes, const Bytes& other, Random& random) {
  constexpr std::array<size_t, 4> kWidths = {1, 2, 4, 8};
  const size_t width = kWidths[random.below(kWidths.size())];
  const size_t at = random.place(bytes.size());
  switch (random.below(12)) {
    case 0: bytes[at] = static_cast<uint8_t>(bytes[at] ^ (1u << random.below(8))); break;
    case 1: bytes[at] = static_cast<uint8_t>(random.next()); break;
    case 2:
    case 3:
    case 4: put_integer(bytes, at, kInterestingIntegers[random.below(kInterestingIntegers.size())], width); break;
    case 5: put_integer(bytes, at, get_integer(bytes, at, width) + random.below(33) - 16, width); break;
    case 6: put_integer(bytes, at, random.next(), width); break;
    case 7: bytes.resize(random.below(bytes.size()) + 1); break;
    case 8: erase_span(bytes, random); break;
    case 9: insert_at(bytes, at, span_of(bytes, random)); break;
    case 10: insert_at(bytes, at, span_of(other, random)); break;
    case 11: splice(bytes, other, random); break;
    default: break;
  }
}

// What the handlers of a crash need; only this program's main writes it.
struct Running {
  const Bytes* input = nullptr;
  std::string crash_file;
  unsigned seconds_per_input = 10;
  long mib_per_input = 1024;
} running;

// The most memory that this process has had, in MiB.
long peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

void say(std::string_view text) {
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

// Writes the input that was running; only calls that a signal handler may make.
void save_input() {
  if (running.input == nullptr) return;
  const int file = open(running.crash_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0) return;
  const uint8_t* data = running.input->data();
  size_t left = running.input->size();
  while (left > 0) {
    const ssize_t written = write(file, data, left);
    if (written <= 0) break;
    data += written;
    left -= static_cast<size_t>(written);
  }
  close(file);
  running.input = nullptr;
  say("the input that failed: ");
  say(running.crash_file);
  say("\n");
}

void on_signal(int signal) {
  say(signal == SIGALRM ? "\nfuzz: an input took too long\n" : "\nfuzz: an input crashed the target\n");
  save_input();
  _exit(1);
}

void install_handlers() {
  for (const int signal : {SIGALRM, SIGABRT}) std::signal(signal, on_signal);
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(save_input);
  } else {
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, on_signal);
  }
}

void run_one(const Bytes& input) {
  // A copy of its exact size, so that the sanitizer sees a read one byte past the end.
  const Bytes exact(input.begin(), input.end());
  running.input = &exact;
  const long before = peak_mib();
  alarm(running.seconds_per_input);
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
  alarm(0);
  if (peak_mib() - before > running.mib_per_input) {
    say("\nfuzz: an input took too much memory\n");
    save_input();
    _exit(1);
  }
  running.input = nullptr;
}

Bytes read_file(const std::filesystem::path& path, size_t max_length) {
  std::ifstream file(path, std::ios::binary);
  Bytes bytes;
  std::copy_n(std::istreambuf_iterator<char>(file),
              static_cast<ptrdiff_t>(std::min<uintmax_t>(max_length, std::filesystem::file_size(path))), std::back_inserter(bytes));
  return bytes;
}

// The files of the folders, in the order of their names; each cut to max_length.
std::vector<Bytes> read_seeds(const std::vector<std::string>& folders, size_t max_length) {
  std::vector<std::filesystem::path> paths;
  for (const std::string& folder : folders) {
    if (!std::filesystem::is_directory(folder)) continue;
    std::vector<std::filesystem::path> here;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.is_regular_file() && entry.file_size() > 0) here.push_back(entry.path());
    }
    std::sort(here.begin(), here.end());
    paths.insert(paths.end(), here.begin(), here.end());
  }
  std::vector<Bytes> seeds;
  for (const auto& path : paths) seeds.push_back(read_file(path, max_length));
  return seeds;
}

struct Options {
  std::vector<std::string> seed_folders;
  std::vector<std::string> files;
  uint64_t runs = 1000;
  uint64_t seed = 1;
  size_t max_length = size_t{1} << 16;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag.substr(0, 2) != "--") {
      options.files.emplace_back(flag);
      continue;
    }
    if (i + 1 == argc) {
      std::fprintf(stderr, "fuzz: %s needs a value\n", argv[i]);
      std::exit(2);
    }
    const char* value = argv[++i];
    if (flag == "--seeds") {
      options.seed_folders.emplace_back(value);
    } else if (flag == "--runs") {
      options.runs = std::strtoull(value, nullptr, 10);
    } else if (flag == "--seed") {
      options.seed = std::strtoull(value, nullptr, 10);
    } else if (flag == "--max-length") {
      options.max_length = std::strtoull(value, nullptr, 10);
    } else if (flag == "--mib-per-input") {
      running.mib_per_input = std::strtol(value, nullptr, 10);
    } else if (flag == "--seconds-per-input") {
      running.seconds_per_input = static_cast<unsigned>(std::strtoul(value, nullptr, 10));
    } else {
      std::fprintf(stderr, "fuzz: unknown flag %s; see the head of mutation_driver.cpp\n", argv[i - 1]);
      std::exit(2);
    }
  }
  return options;
}

void run_mutated(const Options& options, const std::vector<Bytes>& seeds) {
  Random random(options.seed);
  for (uint64_t run = 0; run < options.runs; ++run) {
    Bytes input = seeds[random.below(seeds.size())];
    const size_t changes = size_t{1} << random.below(4);  // 1 to 8
    for (size_t change = 0; change < changes; ++change) {
      mutate(input, seeds[random.below(seeds.size())], random);
      if (input.size() > options.max_length) input.resize(options.max_length);
      if (input.empty()) break;
    }
    run_one(input);
    if ((run + 1) % 1000 == 0) {
      std::fprintf(stderr, "fuzz: %llu of %llu\n", static_cast<unsigned long long>(run + 1), static_cast<unsigned long long>(options.runs));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (LLVMFuzzerInitialize != nullptr) LLVMFuzzerInitialize(&argc, &argv);
  const Options options = parse(argc, argv);
  running.crash_file = std::string(argv[0]) + ".crash";
  install_handlers();
  uint64_t inputs = options.files.size();
  for (const std::string& file : options.files) run_one(read_file(file, SIZE_MAX));
  if (!options.seed_folders.empty()) {
    const std::vector<Bytes> seeds = read_seeds(options.seed_folders, options.max_length);
    if (seeds.empty()) {
      std::fprintf(stderr, "fuzz: no seed file in the folders of --seeds\n");
      return 2;
    }
    for (const Bytes& seed : seeds) run_one(seed);
    run_one(Bytes());
    run_mutated(options, seeds);
    inputs += seeds.size() + 1 + options.runs;
  }
  const auto& outcome = wick::fuzz::outcome;
  std::printf("%llu inputs, %llu accepted, %llu refused\n", static_cast<unsigned long long>(inputs),
              static_cast<unsigned long long>(outcome.accepted), static_cast<unsigned long long>(outcome.refused));
  return 0;
}
