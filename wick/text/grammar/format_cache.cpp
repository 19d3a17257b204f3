#include "wick/text/grammar/format_cache.h"

#include <algorithm>

#include "wick/base/hash.h"

namespace wick {
namespace {

// Of what tells formats apart mostly.
size_t hash_of(const OutputFormat& format) {
  uint64_t hash = keyed_hash(format.text, process_hash_key()) + static_cast<uint64_t>(format.kind);
  for (const std::string& choice : format.choices) hash = split_mix(hash ^ keyed_hash(choice, process_hash_key()));
  for (const OutputFormat& part : format.parts) hash = split_mix(hash ^ hash_of(part));
  return static_cast<size_t>(hash);
}

}  // namespace

CompiledFormat::CompiledFormat(Automaton automaton, std::shared_ptr<const TokenTable> tokens, std::weak_ptr<FormatCache> cache,
                               std::shared_ptr<std::atomic<size_t>> total)
    : automaton_(std::move(automaton)),
      tokens_(std::move(tokens)),
      cache_(std::move(cache)),
      total_(std::move(total)),
      masks_(automaton_, *tokens_) {
  count();
}

CompiledFormat::~CompiledFormat() { *total_ -= counted_; }

void CompiledFormat::count() {
  const size_t now = automaton_.bytes() + masks_.bytes();
  *total_ += now - counted_;
  counted_ = now;
}

void CompiledFormat::add_masks(std::span<const Configuration> configurations, const FrameArena& arena, std::span<uint64_t> mask) {
  {
    const std::lock_guard lock(mutex_);
    try {
      masks_.add_masks(configurations, arena, mask);
    } catch (...) {
      masks_.clear();
      count();
      throw;
    }
    count();
  }
  if (const auto cache = cache_.lock()) cache->note_use(*this);
}

bool CompiledFormat::try_to_drop_masks() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  masks_.clear();
  count();
  return true;
}

std::shared_ptr<CompiledFormat> FormatCache::find(size_t hash, const OutputFormat& format) {
  const auto known =
      std::find_if(formats_.begin(), formats_.end(), [&](const Entry& entry) { return entry.hash == hash && entry.format == format; });
  if (known == formats_.end()) return nullptr;
  formats_.splice(formats_.begin(), formats_, known);
  return formats_.front().compiled;
}

std::shared_ptr<CompiledFormat> FormatCache::get(const OutputFormat& format, const std::function<Automaton()>& compile,
                                                 const std::function<std::shared_ptr<const TokenTable>()>& tokens) {
  const size_t hash = hash_of(format);
  {
    const std::lock_guard lock(mutex_);
    if (auto known = find(hash, format)) return known;
  }
  Automaton automaton = compile();
  std::shared_ptr<CompiledFormat> dropped;  // outlives the lock
  const std::lock_guard lock(mutex_);
  if (auto known = find(hash, format)) return known;
  if (tokens_ == nullptr) tokens_ = tokens();
  auto compiled = std::make_shared<CompiledFormat>(std::move(automaton), tokens_, weak_from_this(), total_);
  compiled->last_use_ = ++uses_;
  formats_.push_front({hash, format, compiled});
  std::erase_if(alive_, [](const auto& one) { return one.expired(); });
  alive_.push_back(compiled);
  if (formats_.size() > kMaxFormats) {
    dropped = std::move(formats_.back().compiled);
    formats_.pop_back();
  }
  make_room(compiled.get());
  return compiled;
}

void FormatCache::note_use(CompiledFormat& format) {
  format.last_use_ = ++uses_;
  if (bytes() <= most_bytes_) return;
  const std::lock_guard lock(mutex_);
  make_room(&format);
}

void FormatCache::make_room(const CompiledFormat* keep) {
  if (bytes() <= most_bytes_) return;
  std::vector<std::shared_ptr<CompiledFormat>> by_age;
  for (const auto& one : alive_) {
    if (auto format = one.lock(); format != nullptr && format.get() != keep) by_age.push_back(std::move(format));
  }
  std::sort(by_age.begin(), by_age.end(), [](const auto& left, const auto& right) { return left->last_use_ < right->last_use_; });
  for (const auto& format : by_age) {
    if (bytes() <= most_bytes_) return;
    (void)format->try_to_drop_masks();
  }
  by_age.clear();
  // What is left are the formats themselves.
  while (bytes() > most_bytes_ && formats_.size() > 1) formats_.pop_back();
}

}  // namespace wick
