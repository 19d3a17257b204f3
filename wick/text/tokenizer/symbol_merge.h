// Greedy pair merging, the step that all byte-pair encodings share: the best pair of neighbours becomes one symbol until none is left.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "wick/text/tokenizer/vocabulary.h"

namespace wick {

// A piece of a word between merges: `length` bytes of the word at `begin`. `id` may be kNoToken where no token has that text.
struct Symbol {
  uint32_t begin = 0;
  uint32_t length = 0;
  TokenId id = kNoToken;
  bool frozen = false;  // never merged
};

// A merge of two adjacent symbols. The lowest priority goes first, among equals the leftmost.
struct PairMerge {
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  uint32_t priority = kNone;
  TokenId merged = kNoToken;
};

struct MergeScratch {
  struct Link {
    int32_t previous;
    int32_t next;
  };
  struct Candidate {
    uint32_t priority;
    int32_t left;
    int32_t right;
    uint32_t length;  // combined length when queued: stale if one has grown since
    TokenId merged;
  };
  std::vector<PairMerge> pairs;
  std::vector<Link> links;
  std::vector<Candidate> heap;
};

// Up to here scanning all pairs for the best is quicker than a heap.
inline constexpr size_t kScannedSymbols = 32;

template <class FindMerge>
void merge_by_scanning(std::vector<Symbol>& symbols, std::vector<PairMerge>& pairs, const FindMerge& find_merge) {
  pairs.clear();
  for (size_t index = 0; index + 1 < symbols.size(); ++index) pairs.push_back(find_merge(symbols[index], symbols[index + 1]));
  while (!pairs.empty()) {
    size_t best = 0;
    for (size_t index = 1; index < pairs.size(); ++index) {
      if (pairs[index].priority < pairs[best].priority) best = index;
    }
    if (pairs[best].priority == PairMerge::kNone) break;
    symbols[best].length += symbols[best + 1].length;
    symbols[best].id = pairs[best].merged;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    pairs.erase(pairs.begin() + static_cast<std::ptrdiff_t>(best));
    if (best > 0) pairs[best - 1] = find_merge(symbols[best - 1], symbols[best]);
    if (best < pairs.size()) pairs[best] = find_merge(symbols[best], symbols[best + 1]);
  }
}

// O(n log n): a heap of candidates over a linked list of symbols.
template <class FindMerge>
void merge_by_heap(std::vector<Symbol>& symbols, MergeScratch& scratch, const FindMerge& find_merge) {
  using Candidate = MergeScratch::Candidate;
  std::vector<Candidate>& heap = scratch.heap;
  std::vector<MergeScratch::Link>& links = scratch.links;
  const auto at = [&](int32_t index) -> Symbol& { return symbols[static_cast<size_t>(index)]; };
  const auto link = [&](int32_t index) -> MergeScratch::Link& { return links[static_cast<size_t>(index)]; };
  const auto later = [](const Candidate& a, const Candidate& b) {
    return a.priority != b.priority ? a.priority > b.priority : a.left > b.left;
  };
  const auto consider = [&](int32_t left, int32_t right) {
    if (left < 0 || right < 0) return false;
    const PairMerge merge = find_merge(at(left), at(right));
    if (merge.priority == PairMerge::kNone) return false;
    heap.push_back({merge.priority, left, right, at(left).length + at(right).length, merge.merged});
    return true;
  };
  const auto count = static_cast<int32_t>(symbols.size());
  heap.clear();
  links.resize(symbols.size());
  for (int32_t index = 0; index < count; ++index) link(index) = {index - 1, index + 1 < count ? index + 1 : -1};
  for (int32_t index = 1; index < count; ++index) consider(index - 1, index);
  std::make_heap(heap.begin(), heap.end(), later);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), later);
    const Candidate best = heap.back();
    heap.pop_back();
    Symbol& left = at(best.left);
    Symbol& right = at(best.right);
    if (left.length == 0 || right.length == 0 || left.length + right.length != best.length) continue;
    left.length = best.length;
    left.id = best.merged;
    right.length = 0;
    const int32_t next = link(best.right).next;
    link(best.left).next = next;
    if (next >= 0) link(next).previous = best.left;
    if (consider(link(best.left).previous, best.left)) std::push_heap(heap.begin(), heap.end(), later);
    if (consider(best.left, next)) std::push_heap(heap.begin(), heap.end(), later);
  }
  std::erase_if(symbols, [](const Symbol& symbol) { return symbol.length == 0; });
}

// Merges `symbols` (each of length 1 or more) in place. FindMerge: PairMerge(const Symbol& left, const Symbol& right).
template <class FindMerge>
void merge_symbols(std::vector<Symbol>& symbols, MergeScratch& scratch, const FindMerge& find_merge) {
  if (symbols.size() < 2) return;
  if (symbols.size() <= kScannedSymbols) {
    merge_by_scanning(symbols, scratch.pairs, find_merge);
  } else {
    merge_by_heap(symbols, scratch, find_merge);
  }
}

}  // namespace wick
