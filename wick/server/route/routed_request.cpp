#include "wick/server/route/routed_request.h"

#include <utility>

#include "wick/base/fail.h"
#include "wick/server/api_error.h"
#include "wick/server/router.h"

namespace wick::server {
namespace {

// An event that is longer is passed on in parts.
constexpr size_t kMaxHeldBytes = size_t{1} << 20U;

constexpr int kNotFound = 404;
constexpr int kQueueFull = 429;
constexpr int kNotReady = 503;

}  // namespace

RoutedRequest::RoutedRequest(ReplicaSet& replicas, UpstreamClient& client, const RoutedOptions& options, RoutedKind kind,
                             HttpRequest request, Exchange exchange)
    : replicas_(replicas),
      client_(client),
      options_(options),
      kind_(kind),
      request_(std::move(request)),
      body_(std::make_shared<const std::string>(std::move(request_.body))),
      exchange_(std::move(exchange)) {
  request_.parsed.reset();
}

void RoutedRequest::start(RouteKey key) {
  key_ = std::move(key);
  exchange_->on_gone([weak = weak_from_this()] {
    if (const std::shared_ptr<RoutedRequest> self = weak.lock()) self->cancel();
  });
  attempt();
}

void RoutedRequest::cancel() {
  std::shared_ptr<UpstreamCall> call;
  {
    const std::scoped_lock lock(mutex_);
    is_gone_ = true;
    call = std::exchange(call_, nullptr);
  }
  if (call != nullptr) call->cancel();
}

void RoutedRequest::attempt() {
  lease_.reset();
  try {
    lease_ = replicas_.acquire(key_, tried_);
  } catch (const ApiError& error) {
    if (refusal_) {
      exchange_->respond({.status = refusal_->status, .headers = std::move(refusal_->headers), .body = std::move(refusal_->text)});
    } else if (!failure_.empty()) {
      end_with(ApiError(kNotReady, "REPLICA_FAILED", failure_).retry_after(std::chrono::seconds(1)));
    } else {
      end_with(error);
    }
    return;
  }
  tried_.push_back(lease_->address().name);
  send();
}

void RoutedRequest::send() {
  const std::shared_ptr<RoutedRequest> self = shared_from_this();
  UpstreamRequest message{
      .to = lease_->address(), .head = upstream_head(request_, body_->size(), lease_->address(), options_.key), .body = body_};
  const std::shared_ptr<UpstreamCall> call =
      client_.make_call(std::move(message), {.head = [self](const UpstreamHead& head) { self->take_head(head); },
                                             .piece = [self](std::string_view piece) { self->take_piece(piece); },
                                             .end = [self](const std::string& error) { self->take_end(error); }});
  lease_->attach(call);
  {
    const std::scoped_lock lock(mutex_);
    if (is_gone_) return;
    call_ = call;
  }
  call->start();
}

void RoutedRequest::take_head(const UpstreamHead& head) {
  response_ = Response{.status = head.status, .headers = passed_on(head.headers), .is_stream = !head.has_length};
  if (!response_->is_stream || is_worth_another()) return;
  response_->unit = stream_unit(response_->headers);
  exchange_->begin(response_->status, response_->headers, "");
}

void RoutedRequest::take_piece(std::string_view piece) {
  response_->text += piece;
  if (!response_->is_stream || is_worth_another()) return;
  const size_t whole = whole_units(response_->unit, response_->text);
  pass_on(response_->text.size() - whole > kMaxHeldBytes ? response_->text.size() : whole);
}

void RoutedRequest::pass_on(size_t bytes) {
  if (bytes == 0) return;
  std::string rest = response_->text.substr(bytes);
  response_->text.resize(bytes);
  // Of a client that does not read, on_gone() cancels the call.
  exchange_->write(std::exchange(response_->text, std::move(rest)));
}

bool RoutedRequest::is_worth_another() const {
  if (kind_ == RoutedKind::look_up) return response_->status == kNotFound;
  const bool is_refused = response_->status == kQueueFull || response_->status == kNotReady;
  return is_refused && std::cmp_less_equal(tried_.size(), options_.retries);
}

void RoutedRequest::take_end(const std::string& error) {
  {
    const std::scoped_lock lock(mutex_);
    call_.reset();
    if (is_gone_) return;
  }
  if (error.empty() && response_) {
    if (is_worth_another()) {
      refusal_ = std::exchange(response_, std::nullopt);
      return attempt();
    }
    lease_.reset();  // before the client can send the next request
    if (response_->is_stream) {
      pass_on(response_->text.size());
      exchange_->end();
    } else {
      exchange_->respond({.status = response_->status, .headers = std::move(response_->headers), .body = std::move(response_->text)});
    }
    return;
  }
  failure_ = fmt::format("replica {}: {}", lease_->address().name, error.empty() ? "no response" : error);
  lease_->fail(error);
  const bool has_begun = response_ && response_->is_stream && !is_worth_another();
  if (!has_begun && std::cmp_less_equal(tried_.size(), options_.retries)) {
    response_.reset();
    return attempt();
  }
  end_with(ApiError(kNotReady, "REPLICA_FAILED", failure_ + "; send the request again").retry_after(std::chrono::seconds(1)));
}

void RoutedRequest::end_with(const ApiError& error) {
  const Dialect& dialect = *request_.route->dialect;
  lease_.reset();
  if (response_ && response_->is_stream && !is_worth_another()) {
    // What the replica sent of its last event is no event.
    exchange_->write(stream_error(response_->unit, dialect, error));
    exchange_->end();
  } else {
    exchange_->respond(error.response(dialect));
  }
}

}  // namespace wick::server
