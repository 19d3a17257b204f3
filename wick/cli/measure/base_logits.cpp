#include "wick/cli/measure/base_logits.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

#include "wick/base/fail.h"

namespace wick {
namespace {

constexpr std::string_view kMagic = "_logits_";
constexpr size_t kHeaderBytes = 20;
constexpr float kRange = 16;  // what is further below the highest is cut
constexpr float kCodes = 65535;

// 16-bit words of a row: two floats, and the vocabulary made even.
size_t row_words(int64_t vocabulary) { return 4 + 2 * ((static_cast<size_t>(vocabulary) + 1) / 2); }

}  // namespace

BaseLogitsWriter::BaseLogitsWriter(const std::filesystem::path& path, const BaseLogitsHeader& header)
    : file_(path), row_(row_words(header.vocabulary)) {
  const int32_t sizes[] = {static_cast<int32_t>(header.context), static_cast<int32_t>(header.vocabulary),
                           static_cast<int32_t>(header.chunks)};
  file_.write(std::as_bytes(std::span(kMagic)));
  file_.write(std::as_bytes(std::span(sizes)));
  file_.write(std::as_bytes(std::span(header.tokens)));
}

void BaseLogitsWriter::add(std::span<const float> logits) {
  const auto [lowest, highest] = std::minmax_element(logits.begin(), logits.end());
  const float top = *highest;
  const float bottom = std::max(*lowest, top - kRange);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - top);
  const auto log_sum = static_cast<float>(std::log(sum));
  const float scale = (top - bottom) / kCodes;
  const float minimum = bottom - top - log_sum;
  std::memcpy(row_.data(), &scale, sizeof(scale));
  std::memcpy(row_.data() + 2, &minimum, sizeof(minimum));
  for (size_t id = 0; id < logits.size(); ++id) {
    const float code = scale > 0 ? std::clamp((logits[id] - bottom) / scale, 0.0F, kCodes) : 0;
    row_[4 + id] = static_cast<uint16_t>(std::lround(code));
  }
  file_.write(std::as_bytes(std::span(row_)));
}

void BaseLogitsWriter::finish() { file_.commit(); }

BaseLogits BaseLogits::open(const std::filesystem::path& path) {
  BaseLogits base;
  base.file_ = MappedFile::open(path);
  const std::span<const std::byte> bytes = base.file_->bytes();
  if (bytes.size() < kHeaderBytes || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    fail(ErrorCode::corrupt_file, "{}: not a file of base logits; write one with wick perplexity --kl-divergence-base", path.string());
  }
  int32_t sizes[3];
  std::memcpy(sizes, bytes.data() + kMagic.size(), sizeof(sizes));
  base.header_ = {.context = sizes[0], .vocabulary = sizes[1], .chunks = sizes[2]};
  constexpr int32_t kMax = 1 << 24;
  for (const int32_t size : sizes) {
    if (size >= 1 && size <= kMax) continue;
    fail(ErrorCode::corrupt_file, "{}: {} tokens per chunk, a vocabulary of {} and {} chunks cannot be; write the file again",
         path.string(), sizes[0], sizes[1], sizes[2]);
  }
  // Each factor is at most 2^24 and 2^25 bytes, so that the product of two fits; the third is compared by division.
  const uint64_t token_bytes = static_cast<uint64_t>(sizes[0]) * static_cast<uint64_t>(sizes[2]) * sizeof(TokenId);
  const uint64_t rows = static_cast<uint64_t>(std::max<int64_t>(base.header_.rows_per_chunk(), 0)) * static_cast<uint64_t>(sizes[2]);
  const uint64_t row_bytes = row_words(sizes[1]) * sizeof(uint16_t);
  const uint64_t rest = bytes.size() - kHeaderBytes;
  if (rows == 0 || token_bytes > rest || rows > (rest - token_bytes) / row_bytes) {
    fail(ErrorCode::corrupt_file, "{}: {} chunks of {} tokens and a vocabulary of {} do not fit into its {} bytes; write the file again",
         path.string(), sizes[2], sizes[0], sizes[1], bytes.size());
  }
  base.header_.tokens.resize(static_cast<size_t>(token_bytes / sizeof(TokenId)));
  std::memcpy(base.header_.tokens.data(), bytes.data() + kHeaderBytes, static_cast<size_t>(token_bytes));
  for (const TokenId token : base.header_.tokens) {
    if (token < 0 || token >= sizes[1]) {
      fail(ErrorCode::corrupt_file, "{}: token {} is outside its vocabulary of {}; write the file again", path.string(), token, sizes[1]);
    }
  }
  base.rows_begin_ = kHeaderBytes + static_cast<size_t>(token_bytes);
  return base;
}

void BaseLogits::read_row(int64_t row, std::span<float> log_probabilities) const {
  const size_t words = row_words(header_.vocabulary);
  std::vector<uint16_t> codes(words);
  std::memcpy(codes.data(), file_->bytes().data() + rows_begin_ + static_cast<size_t>(row) * words * sizeof(uint16_t),
              words * sizeof(uint16_t));
  float scale = 0;
  float minimum = 0;
  std::memcpy(&scale, codes.data(), sizeof(scale));
  std::memcpy(&minimum, codes.data() + 2, sizeof(minimum));
  for (size_t id = 0; id < log_probabilities.size(); ++id) log_probabilities[id] = scale * static_cast<float>(codes[4 + id]) + minimum;
}

}  // namespace wick
