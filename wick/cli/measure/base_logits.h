// Files of log-probabilities that another model's are compared with, in the layout of llama-perplexity's --kl-divergence-base:
// "_logits_", then i32: tokens per chunk, vocabulary, chunks; the tokens, i32; then for each scored token f32 scale, f32 minimum, and 16
// bits for each token of the vocabulary (an even number of them): ln p = scale · code + minimum. ln p is cut 16 below the highest.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "wick/base/atomic_file.h"
#include "wick/base/mapped_file.h"
#include "wick/text/tokenizer/vocabulary.h"

namespace wick {

struct BaseLogitsHeader {
  int64_t context = 0;  // tokens per chunk
  int64_t vocabulary = 0;
  int64_t chunks = 0;
  std::vector<TokenId> tokens = {};  // context · chunks

  // Tokens of a chunk that are scored: those of its second half.
  [[nodiscard]] int64_t rows_per_chunk() const noexcept { return context - 1 - context / 2; }
};

class BaseLogitsWriter {
 public:
  // Errors: not_found, io.
  BaseLogitsWriter(const std::filesystem::path& path, const BaseLogitsHeader& header);
  void add(std::span<const float> logits);
  // Gives the file its name.
  void finish();

 private:
  AtomicFile file_;
  std::vector<uint16_t> row_;
};

class BaseLogits {
 public:
  // Errors: not_found, io; corrupt_file for sizes that contradict each other.
  static BaseLogits open(const std::filesystem::path& path);

  [[nodiscard]] const BaseLogitsHeader& header() const noexcept { return header_; }
  // ln p of every token of the vocabulary, for a scored token of the file.
  void read_row(int64_t row, std::span<float> log_probabilities) const;

 private:
  BaseLogitsHeader header_;
  std::shared_ptr<MappedFile> file_;
  size_t rows_begin_ = 0;
};

}  // namespace wick
