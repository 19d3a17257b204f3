// Software prefetch distances, learnt on this machine: which one reads a stream fastest depends on the processor, on the format's unpacking
// and on how many threads read, and no processor's name tells it.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/device/program_cache.h"
#include "wick/layout/dtype.h"

namespace wick::cpu {

// The distances that are tried, in bytes; 0 leaves memory to the hardware prefetchers.
inline constexpr std::array<int64_t, 6> kPrefetchDistances = {0, 1024, 2816, 4096, 8192, 16384};

// The largest that a test may ask for.
inline constexpr int64_t kMaxPrefetchBytes = int64_t{1} << 20;

// The kinds of sequential reads: weights for one or two rows of activations, weights for more, rows of the key/value cache.
enum class StreamKind : uint8_t { gemv, skinny_gemm, kv_cache };
inline constexpr std::array<std::string_view, 3> kStreamKindNames = {"gemv", "skinny_gemm", "kv_cache"};

struct StreamId {
  StreamKind kind;
  DType format;
  friend bool operator==(const StreamId&, const StreamId&) = default;
};

// Finds the distance of one stream by successive halving: runs of the stream alternate between the distances, and the slower half of them,
// by the median time a byte, drops out of each round. Any thread may call.
class PrefetchTuner {
 public:
  // -1 until it is known.
  [[nodiscard]] int64_t settled() const noexcept { return settled_.load(std::memory_order_relaxed); }
  void settle(int64_t distance) noexcept { settled_.store(distance, std::memory_order_relaxed); }
  // The distance for the next run.
  [[nodiscard]] int64_t next();
  // How long a run took. True if it settled the distance.
  bool add(int64_t distance, double seconds_per_byte);

  static constexpr size_t kSamplesOfFirstRound = 24;  // of each distance; twice as many in each later round

 private:
  struct Candidate {
    int64_t distance;
    std::vector<double> samples;
  };

  std::atomic<int64_t> settled_{-1};
  std::mutex mutex_;
  std::vector<Candidate> candidates_;  // empty before the first run
  size_t turn_ = 0;
  size_t samples_ = kSamplesOfFirstRound;
};

struct PrefetchDistance {
  StreamId stream;
  int64_t bytes;
  friend bool operator==(const PrefetchDistance&, const PrefetchDistance&) = default;
};

// A line "gemv q4_k 8192" each; none if any line is not of that form, or its distance not one that is tried.
[[nodiscard]] std::optional<std::vector<PrefetchDistance>> parse_distances(std::string_view text);
[[nodiscard]] std::string to_text(const std::vector<PrefetchDistance>& distances);

// The distances of all streams of one runtime.
class PrefetchTable {
 public:
  // `identity` is all that distances depend on: processor, instruction set, threads. `cache_directory` keeps what was learnt for the next
  // run (ProgramCache: damaged and foreign files are ignored); empty: nowhere. `forced` is used for every stream, and nothing is learnt.
  PrefetchTable(std::string identity, const std::string& cache_directory, std::optional<int64_t> forced);

  // Weights begin at `data` and are read once by a step. Nothing is learnt before a pass over all weights was seen to read more than a
  // core's own caches hold.
  void note_weights(const std::byte* data, int64_t bytes);

  // Calls body(prefetch distance) for a run that reads `bytes` bytes of the stream, and learns from it; `initial` is the distance until one
  // is known.
  template <class Body>
  void run(StreamId stream, int64_t initial, int64_t bytes, const Body& body) {
    if (forced_) return body(*forced_);
    const Source source = source_.load(std::memory_order_relaxed);
    PrefetchTuner& tuner = tuner_of(source, stream);
    if (const int64_t settled = tuner.settled(); settled >= 0) return body(settled);
    if (bytes < kMinRunBytes || source == Source::unknown) return body(initial);
    const int64_t distance = tuner.next();
    const auto begin = std::chrono::steady_clock::now();
    body(distance);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (tuner.add(distance, seconds / static_cast<double>(bytes)) && source == Source::memory) store();
  }

  // Those that are known of weights read from memory.
  [[nodiscard]] std::vector<PrefetchDistance> known() const;

  static constexpr int64_t kMinRunBytes = 32 * 1024;
  // A pass of so many bytes reads memory; one of fewer, but more than a core's own caches hold, may find them in a shared cache.
  static constexpr int64_t kMemoryPassBytes = int64_t{128} << 20;
  static constexpr int64_t kSharedCachePassBytes = int64_t{16} << 20;

 private:
  // Where a pass finds the weights. The distance that suits one need not suit the other; those of a shared cache are learnt anew by each
  // process, since other programs use it too.
  enum class Source : uint8_t { unknown, shared_cache, memory };
  using Tuners = std::array<std::array<PrefetchTuner, kDTypeCount>, kStreamKindNames.size()>;

  [[nodiscard]] PrefetchTuner& tuner_of(Source source, StreamId stream) {
    Tuners& tuners = source == Source::shared_cache ? cached_tuners_ : tuners_;
    return tuners[static_cast<size_t>(stream.kind)][static_cast<size_t>(stream.format)];
  }
  void take(const std::vector<PrefetchDistance>& distances);
  void store();

  std::string key_;
  std::optional<int64_t> forced_;
  std::unique_ptr<ProgramCache> cache_;  // nullptr: none
  Tuners tuners_, cached_tuners_;        // of weights in memory, and in a shared cache
  std::atomic<Source> source_{Source::unknown};
  std::mutex mutex_;
  const std::byte* pass_begin_ = nullptr;  // the weights that begin a pass
  int64_t pass_bytes_ = 0;                 // since then
};

// Identifies this processor model: vendor, family, model, stepping and microcode, or the equivalent.
[[nodiscard]] std::string processor_identity();

}  // namespace wick::cpu
