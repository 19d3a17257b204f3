// Byte-pair encoding with ranked merges: of bytes (GPT-2, Llama 3, tiktoken) or of characters (Llama 2's and Gemma's tokenizer.json).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wick/text/tokenizer/token_model.h"

namespace wick {

// A map from pairs of symbols to their merge, by open addressing.
class MergeTable {
 public:
  struct Entry {
    TokenId left = kNoToken;
    TokenId right = kNoToken;
    PairMerge merge;
  };

  // Makes room for so many more entries.
  void reserve(size_t entries);
  // Inserts entries; of equal pairs the first or the last stays. There must be room.
  void insert(std::span<const Entry> entries, bool last_stays);
  [[nodiscard]] PairMerge find(TokenId left, TokenId right) const noexcept;

 private:
  struct Slot {
    uint64_t key = UINT64_MAX;
    PairMerge merge;
  };
  [[nodiscard]] size_t slot_of(uint64_t key) const noexcept { return keyed_slot(key, bits_, key_); }

  HashKey key_ = process_hash_key();
  std::vector<Slot> slots_;  // 2^bits_
  unsigned bits_ = 0;
  size_t count_ = 0;
};

struct MergeTexts {
  std::string_view left;
  std::string_view right;
};

struct BytePairOptions {
  bool bytes_to_letters = true;        // pieces are raw bytes and the vocabulary is spelled in the byte alphabet; false: pieces as they are
  bool ignore_merges = false;          // a piece that is a token is that token, whatever its merges make of it
  bool whole_newlines = false;         // the same for runs of newlines only
  bool rank_by_id = false;             // no merge list: any two neighbours that together are a token merge, the lowest id first (tiktoken)
  bool byte_fallback = false;          // a character without a token becomes its byte tokens
  bool fuse_unknown = false;           // a run of unknown characters is one unknown token
  bool last_merge_stays = false;       // of equal merges the last one's rank counts, as in Hugging Face's BPE
  bool added_letters = false;          // a letter of the byte alphabet is its byte's token even if it is an added token too
  TokenId unknown = kNoToken;          // for characters without token; they are dropped where there is none
  std::string continuing_prefix = {};  // written before every character but the first ("##"), as in Hugging Face's BPE
  std::string word_suffix = {};        // written after the last character ("</w>")
};

class BytePairModel final : public TokenModel {
 public:
  // `vocabulary` must outlive the model.
  BytePairModel(const Vocabulary& vocabulary, BytePairOptions options);

  void reserve_merges(size_t count) { merges_.reserve(count); }
  // Appends merges in the order of their rank. Returns the ranks of those whose left, right or joint text is no token: they are not
  // taken.
  [[nodiscard]] std::vector<size_t> add_merges(std::span<const MergeTexts> merges);

  void encode(std::string_view piece, EncodeScratch& scratch, std::vector<TokenId>& ids) const override;

 private:
  class WaitingUnknown;

  void split_bytes(std::string_view piece, std::vector<Symbol>& symbols) const;
  void split_characters(std::string_view piece, std::vector<Symbol>& symbols) const;
  void merge_tokens_by_id(std::string_view piece, EncodeScratch& scratch) const;

  const Vocabulary& vocabulary_;
  BytePairOptions options_;
  MergeTable merges_;
  uint32_t next_rank_ = 0;
  std::vector<TokenId> byte_ids_;  // the token of each byte's letter
  ByteFallback fallback_;
};

}  // namespace wick
