#include "wick/server/answer.h"

#include <type_traits>
#include <utility>
#include <variant>

namespace wick::server {

std::shared_ptr<Answer> Answer::start(const Worker& worker, std::shared_ptr<Service> service, Request request, const Exchange& exchange,
                                      std::unique_ptr<AnswerWriter> writer) {
  const std::shared_ptr<Answer> answer(new Answer(std::move(service), std::move(writer)));
  answer->choices_.resize(static_cast<size_t>(request.n));
  try {
    answer->stream_ = answer->service_->engine->submit(std::move(request));
  } catch (const Error& error) {
    throw ApiError(error);
  }
  answer->self_ = answer;
  answer->writer_->begin();
  const std::weak_ptr<Answer> weak = answer;
  if (exchange != nullptr) {
    exchange->on_gone([weak] {
      if (const std::shared_ptr<Answer> live = weak.lock()) live->cancel();
    });
  }
  // The engine's thread waits for what on_ready calls: JSON is written elsewhere.
  answer->stream_.on_ready([weak, &worker] {
    worker.post([weak] {
      if (const std::shared_ptr<Answer> live = weak.lock()) live->pump();
    });
  });
  return answer;
}

void start_answers(const Worker& worker, const std::shared_ptr<Service>& service, std::vector<Request> requests, const Exchange& exchange,
                   const std::function<std::unique_ptr<AnswerWriter>(size_t)>& writer_of) {
  std::vector<std::weak_ptr<Answer>> answers;
  const auto cancel_all = [](const std::vector<std::weak_ptr<Answer>>& all) {
    for (const std::weak_ptr<Answer>& weak : all) {
      if (const std::shared_ptr<Answer> answer = weak.lock()) answer->cancel();
    }
  };
  try {
    for (size_t i = 0; i < requests.size(); ++i) {
      answers.push_back(Answer::start(worker, service, std::move(requests[i]), nullptr, writer_of(i)));
    }
  } catch (const ApiError&) {
    cancel_all(answers);
    throw;
  }
  exchange->on_gone([answers = std::move(answers), cancel_all] { cancel_all(answers); });
}

void Answer::pump() {
  std::shared_ptr<Answer> self;
  const std::scoped_lock lock(mutex_);
  while (!over_) {
    std::optional<StreamEvent> event = stream_.poll();
    if (event) {
      take(std::move(*event));
      continue;
    }
    if (!stream_.ended()) return;
    over_ = true;
    writer_->complete(choices_, prompt_);
  }
  self = std::exchange(self_, nullptr);
}

Choice& Answer::choice_at(int64_t index) {
  if (static_cast<size_t>(index) >= choices_.size()) choices_.resize(static_cast<size_t>(index) + 1);
  return choices_[static_cast<size_t>(index)];
}

void Answer::take(StreamEvent&& event) {
  if (auto* const progress = std::get_if<ProgressEvent>(&event)) {
    writer_->progress(*progress);
  } else if (auto* const prompt = std::get_if<PromptEvent>(&event)) {
    prompt_ = std::move(*prompt);
    writer_->prompt(prompt_);
  } else if (auto* const token = std::get_if<TokenEvent>(&event)) {
    Choice& choice = choice_at(token->choice);
    choice.text += token->text;
    choice.tokens.push_back(token->token);
    choice.pieces.push_back(token->text);
    if (token->logprob) choice.logprobs.push_back(*token->logprob);
    writer_->token(choice, *token);
  } else if (auto* const finish = std::get_if<FinishEvent>(&event)) {
    Choice& choice = choice_at(finish->choice);
    choice.text += finish->text;
    choice.finish = std::move(*finish);
    writer_->finish(choice, choice.finish);
  } else if (auto* const error = std::get_if<ErrorEvent>(&event)) {
    over_ = true;
    ApiError api_error(error->error());
    if (error->can_retry) api_error.retry_after(std::chrono::seconds(1));
    writer_->fail(api_error);
  }
}

}  // namespace wick::server
