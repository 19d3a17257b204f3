// The input of a batch in OpenAI's format: a file with a request on each line, checked as a whole before any of it is answered.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "wick/base/hash.h"
#include "wick/base/mapped_file.h"
#include "wick/server/json.h"

namespace wick::server {

// The endpoints whose requests a batch may have.
inline constexpr std::array<std::string_view, 5> kBatchUrls = {"/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/embeddings",
                                                               "/v1/rerank"};
// The same for a message, with commas between them.
[[nodiscard]] std::string all_batch_urls();

// A fault of a line, which counts from 1; line 0: of the whole file.
struct BatchProblem {
  int64_t line = 0;
  std::string code;  // OpenAI's word: "duplicate_custom_id"
  std::string message;
};

class BatchInput {
 public:
  // Reads all lines; empty ones are left out. With `url` each request must have that one. Errors: those of MappedFile.
  explicit BatchInput(const std::filesystem::path& path, std::optional<std::string_view> url = {});

  // The first hundred of them. Where there is one, no line may be answered.
  [[nodiscard]] const std::vector<BatchProblem>& problems() const noexcept { return problems_; }

  // --- Requests, by their index in the file ---
  [[nodiscard]] size_t size() const noexcept { return requests_.size(); }
  [[nodiscard]] const std::string& custom_id(size_t index) const noexcept { return *requests_[index].custom_id; }
  [[nodiscard]] std::string_view url(size_t index) const noexcept { return kBatchUrls.at(requests_[index].url); }
  // Parses the line again: bodies are not kept in memory.
  [[nodiscard]] Json body(size_t index) const;
  [[nodiscard]] std::optional<size_t> find(std::string_view custom_id) const;
  // All indices, those of prompts that share a beginning next to one another: the prefix cache has it then.
  [[nodiscard]] std::vector<size_t> in_order_of_prompts() const;

 private:
  // Hashes of the prompt's first 64, 128, … 8192 bytes: prompts with a common beginning have equal first ones.
  using PrefixHashes = std::array<uint64_t, 8>;
  struct Request {
    const std::string* custom_id = nullptr;  // the key in indices_
    std::string_view line = {};              // in the file
    uint8_t url = 0;
    PrefixHashes prefixes = {};
  };

  void read_line(std::string_view text, int64_t line, std::optional<std::string_view> url);
  void read_request(const Json& json, std::string_view text, int64_t line, std::optional<std::string_view> url);
  void add_problem(int64_t line, std::string code, std::string message);
  [[nodiscard]] static PrefixHashes hash_prefixes(size_t url, const Json& body);

  std::shared_ptr<MappedFile> file_;
  std::vector<Request> requests_;
  std::unordered_map<std::string, size_t, KeyedHash, std::equal_to<>> indices_;
  std::vector<BatchProblem> problems_;
};

}  // namespace wick::server
