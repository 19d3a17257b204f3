// Answers of llama.cpp's completion: {"content": …, "stop": …, "timings": …}, or the events of a stream.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "wick/server/answer.h"
#include "wick/server/http_exchange.h"
#include "wick/server/slots.h"
#include "wick/server/worker.h"

namespace wick::server {

struct LlamaOptions {
  int64_t slot = 0;
  bool streams = false;
  bool returns_tokens = false;
  int64_t probabilities = 0;
  bool after_sampling = false;           // the probabilities that tokens are drawn with, in place of the model's own
  std::vector<std::string> fields = {};  // what the answer has; "timings/prompt_n" is a member of a member. Empty: everything
};

// The response that the answers to all prompts of one request make together: an object, or a list for several prompts.
class LlamaResponse {
 public:
  LlamaResponse(Exchange exchange, bool streams, size_t prompts) : exchange_(std::move(exchange)), streams_(streams), answers_(prompts) {}

  void begin();
  void piece(const Json& json);
  void complete(size_t prompt, Json json);
  void fail(const ApiError& error);

 private:
  Exchange exchange_;
  bool streams_;
  std::mutex mutex_;
  bool has_begun_ = false, failed_ = false;
  size_t done_ = 0;
  std::vector<Json> answers_;
};

// A prompt whose answer is written.
struct LlamaPrompt {
  size_t index;  // among the prompts of the request
  const Request& request;
  bool is_cut;  // the context holds fewer tokens than the request asks for
};

[[nodiscard]] std::unique_ptr<AnswerWriter> llama_writer(std::shared_ptr<LlamaResponse> response, std::shared_ptr<Service> service,
                                                         std::shared_ptr<Slots> slots, const LlamaPrompt& prompt, LlamaOptions options);

// llama.cpp's generation_settings.
[[nodiscard]] Json llama_settings(const Tokenizer& tokenizer, const Request& request);

}  // namespace wick::server
