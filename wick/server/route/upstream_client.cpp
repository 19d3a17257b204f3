#include "wick/server/route/upstream_client.h"

#include <algorithm>
#include <array>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "wick/base/log.h"
#include "wick/server/feed_parser.h"
#include "wick/server/tls_socket.h"

namespace wick::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using UpstreamExecutor = asio::strand<asio::io_context::executor_type>;
using UpstreamSocket = asio::generic::stream_protocol::socket::rebind_executor<UpstreamExecutor>::other;
using UpstreamResolver = asio::ip::basic_resolver<asio::ip::tcp, UpstreamExecutor>;
using UpstreamTimer = asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>, UpstreamExecutor>;
using UpstreamEndpoint = asio::generic::stream_protocol::endpoint;
template <class T>
using UpstreamTask = asio::awaitable<T, UpstreamExecutor>;
using ResponseParser = http::response_parser<http::buffer_body>;

constexpr uint32_t kMaxResponseHead = 64U << 10U;
constexpr size_t kPieceBytes = size_t{16} << 10U;

auto upstream_into(error_code& error) { return asio::redirect_error(asio::use_awaitable_t<UpstreamExecutor>(), error); }

class Call;

}  // namespace

struct UpstreamState {
  UpstreamState(int count, std::shared_ptr<TlsClient> secure);

  void run();
  void add(Call& call);
  void remove(Call& call);
  // Cancels all calls, and waits for their ends.
  void cancel_all();

  std::shared_ptr<TlsClient> tls;
  asio::io_context context;
  asio::executor_work_guard<asio::io_context::executor_type> work;
  std::mutex mutex;
  std::condition_variable changed;
  std::set<Call*> calls;  // that run
  std::vector<std::jthread> threads;
};

namespace {

// Everything but start(), cancel() and abort() runs on the strand.
class Call final : public UpstreamCall, public std::enable_shared_from_this<Call> {
 public:
  Call(UpstreamState& state, UpstreamRequest request, UpstreamEvents events)
      : state_(state),
        strand_(asio::make_strand(state.context.get_executor())),
        socket_(strand_),
        resolver_(strand_),
        deadline_(strand_),
        request_(std::move(request)),
        events_(std::move(events)) {}

  void start() override {
    state_.add(*this);
    asio::co_spawn(strand_, [self = shared_from_this()] { return self->run(); }, asio::detached);
  }
  void cancel() override {
    asio::post(strand_, [self = shared_from_this()] { self->close({}, true); });
  }
  void abort(std::string error) override {
    asio::post(strand_, [self = shared_from_this(), error = std::move(error)]() mutable { self->close(std::move(error), false); });
  }

 private:
  // Ends with run(), by an exception, too.
  struct Running {
    Call& call;
    explicit Running(Call& one) : call(one) {}
    ~Running() {
      call.events_ = {};  // they may hold the call
      call.state_.remove(call);
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
  };

  // What is under way ends with an error.
  void close(std::string reason, bool is_silent) {
    if (is_closed_) return;
    is_closed_ = true;
    is_silent_ = is_silent;
    reason_ = std::move(reason);
    error_code ignored;
    resolver_.cancel();
    socket_.close(ignored);
  }

  void set_deadline(std::chrono::milliseconds time, const char* reason) {
    deadline_.expires_after(time);
    deadline_.async_wait([weak = weak_from_this(), turn = ++deadline_turn_, reason](error_code error) {
      const std::shared_ptr<Call> self = weak.lock();
      if (!error && self && self->deadline_turn_ == turn) self->close(reason, false);
    });
  }
  void clear_deadline() {
    ++deadline_turn_;
    deadline_.cancel();
  }

  UpstreamTask<void> run() {
    const Running running(*this);
    error_code error;
    if (!is_closed_) {
      connect_end_ = std::chrono::steady_clock::now() + request_.limit.value_or(request_.connect_limit);
      const char* const no_answer = "no answer in time";
      set_deadline(request_.limit.value_or(request_.connect_limit), request_.limit ? no_answer : "no connection in time");
      co_await connect(error);
      if (!request_.limit) clear_deadline();
    }
    if (!error && !is_closed_) {
      // A replica that refuses a body may answer before it has read all of it.
      error_code unsent;
      (void)co_await asio::async_write(socket_, head_and_body(), upstream_into(unsent));
      request_.body.reset();
      co_await receive(error);
      if (error && unsent) error = unsent;
    }
    clear_deadline();
    error_code ignored;
    socket_.close(ignored);
    if (!is_silent_ && events_.end) {
      std::string text = is_closed_ && !reason_.empty() ? reason_ : error ? error.message() : is_closed_ ? "closed" : "";
      if (error == http::error::end_of_stream || error == http::error::partial_message) text = kUpstreamEnded;
      if (error && !is_closed_ && failure_ && !failure_->text().empty()) text = failure_->text();
      is_silent_ = true;
      events_.end(text);
    }
  }

  UpstreamTask<void> connect(error_code& error) {
    std::vector<UpstreamEndpoint> endpoints;
    const asio::ip::address address = asio::ip::make_address(request_.to.url.host, error);
    if (!request_.to.unix_socket.empty()) {
      endpoints.emplace_back(asio::local::stream_protocol::endpoint(request_.to.unix_socket));
    } else if (!error) {
      endpoints.emplace_back(asio::ip::tcp::endpoint(address, static_cast<uint16_t>(std::stoi(request_.to.url.port))));
    } else {
      const auto found = co_await resolver_.async_resolve(request_.to.url.host, request_.to.url.port, upstream_into(error));
      if (error) co_return;
      for (const auto& one : found) endpoints.emplace_back(one.endpoint());
      error = asio::error::host_not_found;
    }
    for (const UpstreamEndpoint& endpoint : endpoints) {
      if (is_closed_) co_return;
      error_code ignored;
      socket_.close(ignored);
      co_await socket_.async_connect(endpoint, upstream_into(error));
      if (error) continue;
      socket_.set_option(asio::ip::tcp::no_delay(true), ignored);  // nothing on a Unix socket
      const HttpUrl& url = request_.to.url;
      if (url.is_secure) failure_ = encrypt_connection(socket_, *state_.tls, url.host, connect_end_, error);
      co_return;
    }
  }

  // For one write.
  [[nodiscard]] std::array<asio::const_buffer, 2> head_and_body() const {
    const std::string_view body = request_.body == nullptr ? std::string_view() : std::string_view(*request_.body);
    return {asio::const_buffer(request_.head.data(), request_.head.size()), asio::const_buffer(body.data(), body.size())};
  }

  UpstreamTask<void> receive(error_code& error) {
    bool is_interim = true;  // 100 Continue, of which there may be any number
    while (is_interim && !error) is_interim = co_await receive_one(error);
  }

  // Whether another response follows.
  UpstreamTask<bool> receive_one(error_code& error) {
    ResponseParser parser;
    parser.header_limit(kMaxResponseHead);
    parser.body_limit(std::numeric_limits<uint64_t>::max());
    bool has_told = false;
    while (!error && !parser.is_done()) {
      auto& body = parser.get().body();
      body.data = piece_.data();
      body.size = piece_.size();
      const bool reads_on = needs_more(parser, buffer_, error);
      const size_t size = piece_.size() - body.size;
      if (error == http::error::need_buffer) error = {};
      if (!error && parser.is_header_done() && !has_told) has_told = tell_head(parser);
      if (size > 0) tell_piece({piece_.data(), size});
      if (!reads_on) continue;
      buffer_.commit(co_await socket_.async_read_some(buffer_.prepare(room_in(buffer_)), upstream_into(error)));
      take_end(parser, error);
    }
    // What ends with the connection may have been cut off.
    if (!error && parser.need_eof() && failure_ && !failure_->text().empty()) error = http::error::partial_message;
    co_return !error && parser.get().result_int() < 200;
  }

  bool tell_head(const ResponseParser& parser) {
    const auto& message = parser.get();
    if (message.result_int() < 200 || is_silent_ || !events_.head) return true;
    UpstreamHead head;
    head.status = static_cast<int>(message.result_int());
    for (const auto& field : message) head.headers.add(std::string(field.name_string()), std::string(field.value()));
    head.has_length = parser.content_length().has_value() || head.status == 204 || head.status == 304;
    events_.head(std::move(head));
    return true;
  }
  void tell_piece(std::string_view piece) {
    if (!is_silent_ && events_.piece) events_.piece(piece);
  }

  UpstreamState& state_;
  UpstreamExecutor strand_;
  UpstreamSocket socket_;
  UpstreamResolver resolver_;
  UpstreamTimer deadline_;
  std::chrono::steady_clock::time_point connect_end_ = {};
  std::shared_ptr<TlsFailure> failure_;  // of https
  uint64_t deadline_turn_ = 0;
  UpstreamRequest request_;
  UpstreamEvents events_;
  beast::flat_buffer buffer_{size_t{128} << 10U};
  std::array<char, kPieceBytes> piece_{};
  bool is_closed_ = false, is_silent_ = false;
  std::string reason_;
};

}  // namespace

UpstreamState::UpstreamState(int count, std::shared_ptr<TlsClient> secure)
    : tls(std::move(secure)), context(count), work(context.get_executor()) {
  for (int i = 0; i < std::max(count, 1); ++i) threads.emplace_back([this] { run(); });
}

// What one call throws ends that call, and no other.
void UpstreamState::run() {
  for (;;) {
    try {
      context.run();
      return;
    } catch (const std::exception& error) {
      log_warning("a request to a replica ended by an internal error: {}", error.what());
    }
  }
}

void UpstreamState::add(Call& call) {
  const std::scoped_lock lock(mutex);
  calls.insert(&call);
}

void UpstreamState::remove(Call& call) {
  const std::scoped_lock lock(mutex);
  calls.erase(&call);
  changed.notify_all();
}

void UpstreamState::cancel_all() {
  std::unique_lock lock(mutex);
  for (Call* call : calls) call->cancel();
  changed.wait(lock, [this] { return calls.empty(); });
}

UpstreamClient::UpstreamClient(int threads, std::shared_ptr<TlsClient> tls)
    : state_(std::make_unique<UpstreamState>(threads, std::move(tls))) {}
UpstreamClient::~UpstreamClient() { stop(); }

void UpstreamClient::stop() {
  if (state_->threads.empty()) return;
  state_->cancel_all();
  state_->context.stop();
  state_->threads.clear();
}

std::shared_ptr<UpstreamCall> UpstreamClient::make_call(UpstreamRequest request, UpstreamEvents events) {
  return std::make_shared<Call>(*state_, std::move(request), std::move(events));
}

}  // namespace wick::server
