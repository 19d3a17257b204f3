#include "wick/text/grammar/token_trie.h"

#include <algorithm>

#include "wick/base/utf8.h"
#include "wick/text/grammar/token_constraint.h"
#include "wick/text/tokenizer/tokenizer.h"

namespace wick {
namespace {

size_t bit_word(TokenId id) { return static_cast<size_t>(id) / 64; }
uint64_t bit_of(TokenId id) { return uint64_t{1} << (id % 64); }

// What a text is as a whole.
CharacterClasses faults_of(std::string_view text) {
  CharacterClasses faults;
  if (!is_valid_utf8(text)) {
    faults.set(CharacterClasses::kBroken);
    return faults;
  }
  const size_t characters = count_characters(text);
  for (unsigned index = 0; index < CharacterClasses::kLengths.size(); ++index) {
    if (characters > CharacterClasses::kLengths[index]) faults.set(CharacterClasses::kLong + index);
  }
  return faults;
}

// Which of the masks by number of characters holds up to so many.
constexpr size_t kLengthMasks = CharacterClasses::kLengths[0] + CharacterClasses::kLengths.size() + 1;
size_t length_mask(size_t most) {
  constexpr auto& lengths = CharacterClasses::kLengths;
  if (most <= lengths[0]) return most;
  return lengths[0] + static_cast<size_t>(std::lower_bound(lengths.begin(), lengths.end(), most) - lengths.begin());
}

size_t common_prefix(std::string_view left, std::string_view right) {
  const size_t most = std::min(left.size(), right.size());
  return static_cast<size_t>(std::mismatch(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(most), right.begin()).first -
                             left.begin());
}

}  // namespace

TokenTrie::TokenTrie(std::vector<std::pair<std::string, TokenId>> tokens) {
  std::erase_if(tokens, [](const auto& token) { return token.first.empty(); });
  std::sort(tokens.begin(), tokens.end());
  nodes_.push_back({});
  std::vector<uint32_t> path = {0};  // the nodes from the root to the last token's
  const auto close_to = [&](size_t depth) {
    for (; path.size() > depth + 1; path.pop_back()) nodes_[path.back()].end = static_cast<uint32_t>(nodes_.size());
  };
  std::vector<std::pair<uint32_t, CharacterClasses>> faulty;
  std::string_view last;
  for (const auto& [text, id] : tokens) {
    longest_ = std::max(longest_, text.size());
    close_to(common_prefix(last, text));
    while (path.size() <= text.size()) {
      const auto depth = static_cast<uint16_t>(path.size());
      path.push_back(static_cast<uint32_t>(nodes_.size()));
      nodes_.push_back(
          {.first_token = static_cast<uint32_t>(tokens_.size()), .depth = depth, .byte = static_cast<uint8_t>(text[depth - 1U])});
    }
    tokens_.push_back(id);
    faulty.emplace_back(path.back(), faults_of(text));
    last = text;
  }
  close_to(0);
  nodes_[0].end = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back({.first_token = static_cast<uint32_t>(tokens_.size())});
  classes_.resize(nodes_.size() - 1);
  for (const auto& [index, faults] : faulty) classes_[index].add(faults);
  // Children come behind their parents.
  std::vector<uint32_t> parents(classes_.size(), 0);
  for (uint32_t index = 0; index < classes_.size(); ++index) {
    for (uint32_t child = index + 1; child < nodes_[index].end; child = nodes_[child].end) parents[child] = index;
  }
  for (auto index = static_cast<uint32_t>(classes_.size()); index-- > 1;) {
    classes_[index].set(CharacterClasses::of(nodes_[index].byte));
    classes_[parents[index]].add(classes_[index]);
  }
}

struct TokenTable::Texts {
  std::vector<std::string> bytes;
  std::vector<std::pair<std::string, TokenId>> of_ids;

  explicit Texts(const Tokenizer& tokenizer) {
    for (TokenId id = 0; id < tokenizer.vocab_size(); ++id) {
      const bool has_text = !tokenizer.is_special(id) && !tokenizer.ends_generation(id);
      bytes.push_back(has_text ? tokenizer.token_bytes(id) : std::string());
      if (!bytes.back().empty()) of_ids.emplace_back(bytes.back(), id);
    }
  }
};

TokenTable::TokenTable(const Tokenizer& tokenizer) : TokenTable(tokenizer, Texts(tokenizer)) {}

TokenTable::TokenTable(const Tokenizer& tokenizer, Texts texts)
    : bytes_(std::move(texts.bytes)),
      trie_(std::move(texts.of_ids)),
      up_to_(kLengthMasks, Mask(mask_words(tokenizer.vocab_size()), 0)),
      end_tokens_(tokenizer.end_of_generation()) {
  for (TokenId id = 0; id < vocab_size(); ++id) {
    note(id, bytes(id));
    if (tokenizer.is_added(id)) added_.push_back(id);
  }
}

void TokenTable::note(TokenId id, const std::string& text) {
  if (text.empty() || !is_valid_utf8(text)) return;
  const auto add = [&](Tokens& tokens) {
    if (tokens.mask.empty()) tokens.mask.assign(mask_words(vocab_size()), 0);
    tokens.count += (tokens.mask[bit_word(id)] & bit_of(id)) == 0 ? 1 : 0;
    tokens.mask[bit_word(id)] |= bit_of(id);
  };
  add(beginning_[CharacterClasses::of(static_cast<uint8_t>(text.front()))]);
  for (size_t at = decode_character(text, 0).length; at < text.size(); ++at) {
    add(holding_[CharacterClasses::of(static_cast<uint8_t>(text[at]))]);
  }
  for (size_t most = length_mask(count_characters(text)); most < kLengthMasks; ++most) up_to_[most][bit_word(id)] |= bit_of(id);
}

void TokenTable::add_tokens_of(const CharacterClasses& first, const CharacterClasses& rest, size_t most, std::span<uint64_t> mask) const {
  Mask begins(mask.size(), 0);
  Mask refused(mask.size(), 0);
  const auto add = [](const Tokens& tokens, Mask& to) {
    for (size_t word = 0; word < tokens.mask.size(); ++word) to[word] |= tokens.mask[word];
  };
  for (unsigned index = 0; index < CharacterClasses::kCount; ++index) {
    if (first.test(index)) add(beginning_[index], begins);
    if (!rest.test(index)) add(holding_[index], refused);
  }
  const Mask& short_enough = up_to_[length_mask(most)];
  for (size_t word = 0; word < mask.size(); ++word) mask[word] |= begins[word] & ~refused[word] & short_enough[word];
}

bool TokenTable::is_added(TokenId id) const noexcept { return std::binary_search(added_.begin(), added_.end(), id); }

bool TokenTable::is_end(TokenId id) const noexcept { return std::binary_search(end_tokens_.begin(), end_tokens_.end(), id); }

}  // namespace wick
