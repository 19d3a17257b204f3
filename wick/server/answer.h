// An Answer is a request to the engine under way: its events go, one at a time and on the server's threads, to a writer that speaks one
// API's words.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "wick/engine/engine.h"
#include "wick/server/api_error.h"
#include "wick/server/http_exchange.h"
#include "wick/server/worker.h"

namespace wick::server {

// State of one choice so far.
struct Choice {
  std::string text;
  std::vector<TokenId> tokens;
  std::vector<std::string> pieces;  // the text that came with each token
  std::vector<GeneratedLogprob> logprobs;
  FinishEvent finish;
};

class AnswerWriter {
 public:
  AnswerWriter() = default;
  virtual ~AnswerWriter() = default;
  AnswerWriter(const AnswerWriter&) = delete;
  AnswerWriter& operator=(const AnswerWriter&) = delete;

  // The request was accepted: a response in pieces begins.
  virtual void begin() {}
  virtual void progress(const ProgressEvent& /*event*/) {}
  virtual void prompt(const PromptEvent& /*event*/) {}
  // The choice has the token, and its text, already.
  virtual void token(const Choice& /*choice*/, const TokenEvent& /*event*/) {}
  virtual void finish(const Choice& /*choice*/, const FinishEvent& /*event*/) {}
  // All choices have ended, which stand in their order.
  virtual void complete(const std::vector<Choice>& choices, const PromptEvent& prompt) = 0;
  virtual void fail(const ApiError& error) = 0;
};

class Answer : public std::enable_shared_from_this<Answer> {
 public:
  // Submits the request; the writer gets its events until complete() or fail(). When the client goes, the request is cancelled. The service
  // lives as long as the answer. Errors: Engine::submit's, as ApiError; the writer is not called then.
  static std::shared_ptr<Answer> start(const Worker& worker, std::shared_ptr<Service> service, Request request, const Exchange& exchange,
                                       std::unique_ptr<AnswerWriter> writer);

  void cancel() { stream_.cancel(); }

 private:
  Answer(std::shared_ptr<Service> service, std::unique_ptr<AnswerWriter> writer)
      : service_(std::move(service)), writer_(std::move(writer)) {}
  void pump();
  void take(StreamEvent&& event);
  [[nodiscard]] Choice& choice_at(int64_t index);

  std::shared_ptr<Service> service_;
  std::unique_ptr<AnswerWriter> writer_;
  Stream stream_;
  std::mutex mutex_;
  PromptEvent prompt_;
  std::vector<Choice> choices_;
  bool over_ = false;
  std::shared_ptr<Answer> self_;  // until it is over
};

// Starts an answer to each request; `writer_of` makes the writer of the request with that index. Where one is refused, those before it are
// cancelled; when the client goes, all are. Errors: Engine::submit's, as ApiError.
void start_answers(const Worker& worker, const std::shared_ptr<Service>& service, std::vector<Request> requests, const Exchange& exchange,
                   const std::function<std::unique_ptr<AnswerWriter>(size_t)>& writer_of);

}  // namespace wick::server
