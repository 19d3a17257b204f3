#include "wick/backend/cpu/weights/prefetch.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <span>
#include <utility>

namespace wick::cpu {
namespace {

double median(std::vector<double>& samples) {
  const auto middle = samples.begin() + static_cast<ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

// The text up to the next `end`, which is taken off with it.
std::string_view take_until(std::string_view& text, char end) {
  const std::string_view part = text.substr(0, text.find(end));
  text.remove_prefix(std::min(text.size(), part.size() + 1));
  return part;
}

std::optional<PrefetchDistance> parse_distance(std::string_view line) {
  const std::string_view kind = take_until(line, ' ');
  const std::optional<DType> format = parse_dtype(take_until(line, ' '));
  const auto* const name = std::find(kStreamKindNames.begin(), kStreamKindNames.end(), kind);
  int64_t bytes = -1;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), bytes);
  const bool tried = std::find(kPrefetchDistances.begin(), kPrefetchDistances.end(), bytes) != kPrefetchDistances.end();
  if (name == kStreamKindNames.end() || !format || error != std::errc() || end != line.data() + line.size() || !tried) return std::nullopt;
  return PrefetchDistance{{static_cast<StreamKind>(name - kStreamKindNames.begin()), *format}, bytes};
}

}  // namespace

int64_t PrefetchTuner::next() {
  const std::lock_guard lock(mutex_);
  if (const int64_t distance = settled(); distance >= 0) return distance;
  if (candidates_.empty()) {
    for (const int64_t distance : kPrefetchDistances) candidates_.push_back({distance, {}});
  }
  return candidates_[turn_++ % candidates_.size()].distance;
}

bool PrefetchTuner::add(int64_t distance, double seconds_per_byte) {
  const std::lock_guard lock(mutex_);
  if (settled() >= 0) return false;
  const auto used = std::find_if(candidates_.begin(), candidates_.end(), [&](const Candidate& one) { return one.distance == distance; });
  if (used == candidates_.end()) return false;  // a run that began in an earlier round
  used->samples.push_back(seconds_per_byte);
  const auto is_full = [&](const Candidate& one) { return one.samples.size() >= samples_; };
  if (!std::all_of(candidates_.begin(), candidates_.end(), is_full)) return false;
  std::vector<std::pair<double, int64_t>> order;
  for (Candidate& one : candidates_) order.emplace_back(median(one.samples), one.distance);
  std::sort(order.begin(), order.end());
  candidates_.clear();
  if (order.size() <= 2) {
    settle(order.front().second);
    return true;
  }
  for (size_t place = 0; place < (order.size() + 1) / 2; ++place) candidates_.push_back({order[place].second, {}});
  samples_ *= 2;
  return false;
}

std::optional<std::vector<PrefetchDistance>> parse_distances(std::string_view text) {
  std::vector<PrefetchDistance> distances;
  while (!text.empty()) {
    const std::optional<PrefetchDistance> distance = parse_distance(take_until(text, '\n'));
    if (!distance) return std::nullopt;
    distances.push_back(*distance);
  }
  return distances;
}

std::string to_text(const std::vector<PrefetchDistance>& distances) {
  std::string text;
  for (const PrefetchDistance& distance : distances) {
    text += fmt::format("{} {} {}\n", kStreamKindNames[static_cast<size_t>(distance.stream.kind)], to_string(distance.stream.format),
                        distance.bytes);
  }
  return text;
}

PrefetchTable::PrefetchTable(std::string identity, const std::string& cache_directory, std::optional<int64_t> forced)
    : key_("CPU prefetch distances 1\n" + std::move(identity)), forced_(forced) {
  if (forced_ || cache_directory.empty()) return;
  cache_ = std::make_unique<ProgramCache>(cache_directory);
  const std::optional<std::vector<std::byte>> stored = cache_->find(key_);
  if (!stored) return;
  if (const auto distances = parse_distances({reinterpret_cast<const char*>(stored->data()), stored->size()})) take(*distances);
}

void PrefetchTable::take(const std::vector<PrefetchDistance>& distances) {
  for (const PrefetchDistance& distance : distances) {
    if (PrefetchTuner& tuner = tuner_of(Source::memory, distance.stream); tuner.settled() < 0) tuner.settle(distance.bytes);
  }
}

void PrefetchTable::note_weights(const std::byte* data, int64_t bytes) {
  if (forced_ || source_.load(std::memory_order_relaxed) == Source::memory) return;
  const std::lock_guard lock(mutex_);
  // A model that is gone never comes back to where its pass began.
  constexpr int64_t kMaxPassBytes = int64_t{1} << 36;
  if (data == pass_begin_ && pass_bytes_ >= kSharedCachePassBytes)
    source_.store(pass_bytes_ >= kMemoryPassBytes ? Source::memory : Source::shared_cache, std::memory_order_relaxed);
  if (pass_begin_ == nullptr || data == pass_begin_ || pass_bytes_ > kMaxPassBytes) {
    pass_begin_ = data;
    pass_bytes_ = 0;
  }
  pass_bytes_ += bytes;
}

std::vector<PrefetchDistance> PrefetchTable::known() const {
  std::vector<PrefetchDistance> distances;
  for (size_t kind = 0; kind < tuners_.size(); ++kind) {
    for (const DTypeInfo& row : kDTypeRows) {
      const int64_t bytes = tuners_[kind][static_cast<size_t>(row.dtype)].settled();
      if (bytes >= 0) distances.push_back({{static_cast<StreamKind>(kind), row.dtype}, bytes});
    }
  }
  return distances;
}

// With what another process has learnt meanwhile.
void PrefetchTable::store() {
  if (cache_ == nullptr) return;
  const std::lock_guard lock(mutex_);
  if (const std::optional<std::vector<std::byte>> stored = cache_->find(key_)) {
    if (const auto distances = parse_distances({reinterpret_cast<const char*>(stored->data()), stored->size()})) take(*distances);
  }
  const std::string text = to_text(known());
  cache_->store(key_, std::as_bytes(std::span(text)));
}

std::string processor_identity() {
  constexpr std::array<std::string_view, 10> kFields = {"vendor_id",       "cpu family",       "model",       "stepping", "microcode",
                                                        "CPU implementer", "CPU architecture", "CPU variant", "CPU part", "CPU revision"};
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  std::string identity;
  while (std::getline(file, line) && !(line.empty() && !identity.empty())) {  // the first processor's lines
    const std::string_view name = std::string_view(line).substr(0, line.find_last_not_of(" \t", line.find(':') - 1) + 1);
    if (std::find(kFields.begin(), kFields.end(), name) != kFields.end()) identity += line + '\n';
  }
  return identity;
}

}  // namespace wick::cpu
