#include "wick/server/http_server.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_signal_set.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <csignal>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "wick/base/fail.h"
#include "wick/base/log.h"
#include "wick/server/feed_parser.h"
#include "wick/server/pending_exchange.h"
#include "wick/server/request_head.h"
#include "wick/server/tls.h"
#include "wick/server/utc_time.h"

namespace wick::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using Protocol = asio::generic::stream_protocol;
using Executor = asio::io_context::executor_type;
using Socket = Protocol::socket::rebind_executor<Strand>::other;
// Of one executor, not of any: that takes less time to compile, and so does a loop in place of a composed operation of Asio or Beast.
template <class T>
using Task = asio::awaitable<T, Strand>;

// Awaits an operation, whose error goes to `error`.
auto into(error_code& error) { return asio::redirect_error(asio::use_awaitable_t<Strand>(), error); }

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

// What a client may send ahead, while its request is answered, before nobody reads it.
constexpr size_t kAheadBytes = size_t{32} << 10U;

bool has_body(int status) noexcept { return status >= 200 && status != 204 && status != 304; }

}  // namespace

class Connection;

struct HttpServerState : std::enable_shared_from_this<HttpServerState> {
  HttpServerState(HttpServerOptions chosen, HttpServer::Handler handle, HttpServer::Refusal refusal, HttpServer::Admission admission)
      : options(std::move(chosen)),
        handler(std::move(handle)),
        refuse(std::move(refusal)),
        admit(std::move(admission)),
        context(options.threads),
        signals(context) {}

  HttpServerOptions options;
  HttpServer::Handler handler;
  HttpServer::Refusal refuse;
  HttpServer::Admission admit;
  asio::io_context context;
  std::optional<asio::basic_socket_acceptor<asio::ip::tcp, Executor>> tcp;
  std::optional<asio::basic_socket_acceptor<asio::local::stream_protocol, Executor>> local;
  asio::basic_signal_set<Executor> signals;
  std::unique_ptr<Tls> tls;  // none: connections are plain
  std::function<void()> stop_signal, abort_signal;
  std::vector<std::jthread> threads;
  std::string address;
  int port = 0;
  std::atomic<int64_t> active{0}, connections{0};
  std::atomic<bool> draining{false};
  std::mutex mutex;
  std::set<Connection*> open;  // for drain()

  void listen();
  void listen_on_path();
  void run();
  Task<void> accept_all();
  void wait_for_signal(int count);
};

// One client: reads a request, waits for its response, writes it, and again.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<HttpServerState> server, Socket socket, Strand strand, std::string peer)
      : server_(std::move(server)),
        socket_(std::move(socket)),
        strand_(std::move(strand)),
        wake_(std::make_shared<Timer>(strand_)),
        deadline_(strand_),
        peer_(std::move(peer)) {
    error_code ignored;
    socket_.non_blocking(true, ignored);
    ++server_->connections;
    const std::scoped_lock lock(server_->mutex);
    server_->open.insert(this);
  }
  ~Connection() {
    {
      const std::scoped_lock lock(server_->mutex);
      server_->open.erase(this);
    }
    --server_->connections;
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start() {
    asio::co_spawn(strand_, [self = shared_from_this()] { return self->run(); }, asio::detached);
  }

  // The server drains: a connection that waits for a request ends.
  void drain() {
    asio::post(strand_, [weak = weak_from_this()] {
      const std::shared_ptr<Connection> self = weak.lock();
      if (self && self->is_idle_) self->cancel();
    });
  }

 private:
  // What is under way when the time is over ends with an error; set_deadline and clear_deadline forget the deadline before.
  void set_deadline(std::chrono::milliseconds time) {
    is_late_ = false;
    deadline_.expires_after(time);
    deadline_.async_wait([weak = weak_from_this(), turn = ++deadline_turn_](error_code error) {
      const std::shared_ptr<Connection> self = weak.lock();
      if (error || !self || self->deadline_turn_ != turn) return;
      self->is_late_ = true;
      self->cancel();
    });
  }
  void clear_deadline() {
    ++deadline_turn_;
    deadline_.cancel();
  }
  void cancel() {
    error_code ignored;
    socket_.cancel(ignored);
  }

  Task<void> run() {
    bool goes_on = true;
    while (goes_on && !server_->draining) goes_on = co_await serve_one();
    error_code ignored;
    socket_.shutdown(asio::socket_base::shutdown_send, ignored);
    if (lingers_) co_await discard_rest();
    socket_.close(ignored);
  }

  // A client that is still sending what was refused would get a reset instead of the response: reads a little of it.
  Task<void> discard_rest() {
    error_code error;
    std::vector<char> rest(size_t{1} << 16U);
    set_deadline(std::chrono::seconds(2));
    for (size_t total = 0; !error && total < (size_t{64} << 20U);) {
      total += co_await socket_.async_read_some(asio::mutable_buffer(rest.data(), rest.size()), into(error));
    }
  }

  // Reads until the parser has its header, or all of the request. A header must arrive within options.receive, and each receive_bytes of
  // a body within that time again: a large body takes as long as its client's line needs.
  Task<void> read(RequestParser& parser, bool all, error_code& error) {
    parser.eager(all);
    set_deadline(server_->options.receive);
    uint64_t received = 0;
    while (!(all ? parser.is_done() : parser.is_header_done())) {
      if (needs_more(parser, buffer_, error)) {
        const size_t bytes = co_await socket_.async_read_some(buffer_.prepare(room_in(buffer_)), into(error));
        buffer_.commit(bytes);
        take_end(parser, error);
        received += bytes;
        if (all && !error && received >= server_->options.receive_bytes) {
          received = 0;
          set_deadline(server_->options.receive);
        }
      }
      if (error) co_return;
    }
  }

  Task<void> write_all(std::string_view text, error_code& error) {
    while (!text.empty() && !error) {
      text.remove_prefix(co_await socket_.async_write_some(asio::const_buffer(text.data(), text.size()), into(error)));
    }
  }

  // Reads until a request begins. False: none does.
  Task<bool> wait_for_request() {
    error_code error;
    // Asio tells the end of a stream once, and again only to who waits for it.
    if (sends_no_more_) co_await socket_.async_wait(Socket::wait_read, into(error));
    bool has_begun = skip_empty_lines(buffer_);
    if (has_begun) co_return true;
    is_idle_ = true;
    set_deadline(server_->options.idle);
    while (!error && !has_begun) {
      buffer_.commit(co_await socket_.async_read_some(buffer_.prepare(size_t{8} << 10U), into(error)));
      has_begun = skip_empty_lines(buffer_);
    }
    is_idle_ = false;
    co_return has_begun;
  }

  // Whether another request may follow.
  Task<bool> serve_one() {
    if (!co_await wait_for_request()) co_return false;
    RequestParser parser;
    parser.header_limit(server_->options.header_bytes);
    parser.body_limit(server_->options.body_bytes);
    request_ = {};
    error_code error;
    co_await read(parser, false, error);
    // Where the header alone says that the request is refused, too.
    if (!parser.get().target().empty()) request_ = request_of(parser, is_target_);
    request_.peer = peer_;
    if (!error) {
      if (const RequestFault fault = find_framing_fault(parser); fault.status != 0) {
        co_await send_refusal(server_->refuse(fault.status, fault.message, request_));
        co_return false;
      }
      refusal_ = find_refusal();
      if (refusal_ && !parser.is_done()) {
        co_await send_refusal(*refusal_);
        co_return false;
      }
    }
    if (!error && wants_continue(parser)) {
      co_await write_all(kContinue, error);
    }
    if (!error) co_await read(parser, true, error);
    if (error) {
      co_await refuse(error, parser.is_header_done());
      co_return false;
    }
    clear_deadline();
    last_write_ = std::chrono::steady_clock::now();
    co_return co_await answer(parser);
  }

  // The answer to a request whose body is not wanted.
  std::optional<HttpResponse> find_refusal() {
    if (!is_target_) return server_->refuse(400, "the request's target is not a path", request_);
    if (!server_->admit) return std::nullopt;
    try {
      return server_->admit(request_);
    } catch (const std::exception& error) {
      return server_->refuse(500, error.what(), request_);
    }
  }

  Task<void> refuse(error_code error, bool has_header) {
    RequestFault fault = find_read_fault(error, has_header, buffer_, server_->options);
    if (is_late_) {
      const auto seconds = server_->options.receive.count() / 1000;
      fault = {408, has_header ? fmt::format("the body arrived at less than {} bytes in {} s", server_->options.receive_bytes, seconds)
                               : fmt::format("the header did not arrive within {} s", seconds)};
    }
    if (fault.status != 0) co_await send_refusal(server_->refuse(fault.status, fault.message, request_));
  }

  Task<void> send_refusal(const HttpResponse& response) {
    keeps_alive_ = false;
    lingers_ = true;
    std::string text = head(response.status, response.headers, {}, response.body.size());
    if (has_body(response.status) && request_.method != "HEAD") text += response.body;
    error_code ignored;
    set_deadline(server_->options.send);
    co_await write_all(text, ignored);
  }

  Task<bool> answer(RequestParser& parser) {
    const auto& message = parser.get();
    keeps_alive_ = message.keep_alive();
    chunks_ = message.version() >= 11;
    has_begun_ = probes_ = false;
    is_head_ = request_.method == "HEAD";
    request_.body = std::move(parser.get().body());
    const auto exchange = std::make_shared<PendingExchange>(strand_, wake_, server_->options.unsent_bytes);
    ++server_->active;
    if (refusal_) {
      exchange->respond(std::move(*refusal_));
    } else {
      hand_over(exchange);
    }
    const bool all_sent = co_await send(*exchange);
    --server_->active;
    if (!all_sent) exchange->go();
    co_return all_sent&& keeps_alive_;
  }

  void hand_over(const std::shared_ptr<PendingExchange>& exchange) {
    try {
      server_->handler(std::move(request_), exchange);
    } catch (const std::exception& error) {
      exchange->respond(server_->refuse(500, error.what(), {}));
    }
  }

  // Writes an exchange's pieces as they come; false if the client went before the end.
  Task<bool> send(PendingExchange& exchange) {
    // Reads beside it, to notice that the client goes. What it reads is the beginning of the next request.
    const auto watch = std::make_shared<Watch>();
    watch_client(watch, exchange.shared_from_this());
    exchange.set_flush([this, &exchange] { return flush(exchange); });
    bool all_sent = false;
    for (;;) {
      PendingExchange::Work work = exchange.take();
      if (work.gone) break;
      std::string text = std::exchange(unsent_, {});
      if (work.begins) {
        has_begun_ = true;
        const bool fixed = !work.streams;
        text += head(work.status, work.headers, work.extra, fixed ? std::optional(work.body.size()) : std::nullopt);
        if (fixed && has_body(work.status) && !is_head_) text += work.body;
      }
      if (work.streams) append_piece(text, work.body);
      if (work.streams && work.ends && chunks_) text += "0\r\n\r\n";
      if (!text.empty() && !co_await write_text(text)) break;
      if (work.ends) {
        all_sent = true;
        break;
      }
      if (text.empty() && !co_await wait_for_work(work)) break;
    }
    exchange.set_flush({});
    if (all_sent) exchange.sent_all();
    watch->is_wanted = false;
    if (watch->is_reading) {
      cancel();
      while (watch->is_reading) {
        error_code ignored;
        wake_->expires_after(std::chrono::seconds(1));
        co_await wake_->async_wait(into(ignored));
      }
    }
    co_return all_sent && !watch->is_gone;
  }

  // Sleeps until there is work that flush() cannot do, and meanwhile sends heartbeats, and what a client that sends no more is asked by
  // whether it still reads. False if the client is gone.
  Task<bool> wait_for_work(const PendingExchange::Work& work) {
    error_code error;
    const bool beats = work.streams && !work.heartbeat.empty();
    const std::chrono::milliseconds silence = beats ? server_->options.heartbeat : std::chrono::hours(24);
    wake_->expires_at(probes_ ? std::chrono::steady_clock::now() : last_write_ + silence);
    is_waiting_ = true;
    co_await wake_->async_wait(into(error));
    is_waiting_ = false;
    const bool is_due = !error && beats && std::chrono::steady_clock::now() - last_write_ >= silence;
    if (!std::exchange(probes_, false) && !is_due) co_return true;
    std::string text;
    if (beats) append_piece(text, work.heartbeat);
    if (!has_begun_ && chunks_) text = kContinue;
    if (text.empty()) co_return true;
    co_return co_await write_text(text);
  }

  // Writes the pieces that have come while the coroutine sleeps, where the system takes them at once; false where the coroutine is needed.
  bool flush(PendingExchange& exchange) {
    if (!is_waiting_ || !unsent_.empty()) return false;
    const std::optional<std::string> piece = exchange.take_piece();
    if (!piece) return false;
    append_piece(unsent_, *piece);
    error_code error;
    const size_t sent = unsent_.empty() ? 0 : socket_.write_some(asio::const_buffer(unsent_.data(), unsent_.size()), error);
    // An error comes again when the coroutine writes.
    if (error || sent < unsent_.size()) {
      unsent_.erase(0, error ? 0 : sent);
      return false;
    }
    unsent_.clear();
    last_write_ = std::chrono::steady_clock::now();
    return true;
  }

  Task<bool> write_text(const std::string& text) {
    error_code error;
    // Most often the system takes it at once, and nobody has to wait.
    size_t sent = socket_.write_some(asio::const_buffer(text.data(), text.size()), error);
    if (error == asio::error::would_block) {
      error.clear();
      sent = 0;
    }
    last_write_ = std::chrono::steady_clock::now();
    if (error || sent == text.size()) co_return !error;
    set_deadline(server_->options.send);
    co_await write_all(std::string_view(text).substr(sent), error);
    clear_deadline();
    co_return !error;
  }

  void append_piece(std::string& text, const std::string& piece) const {
    if (piece.empty() || is_head_) return;
    if (!chunks_) {
      text += piece;
    } else {
      text += fmt::format("{:x}\r\n", piece.size());
      text += piece;
      text += "\r\n";
    }
  }

  // The beginning of a response; without a length it is a stream.
  std::string head(int status, const HeaderFields& headers, const HeaderFields& extra, std::optional<size_t> length) {
    std::string text = fmt::format("HTTP/1.1 {} {}\r\n", status, reason_phrase(status));
    append_field(text, "Date", http_date(std::chrono::system_clock::now()));
    for (const auto& [name, value] : headers.all()) append_field(text, name, value);
    for (const auto& [name, value] : extra.all()) append_field(text, name, value);
    if (length) {
      if (has_body(status)) append_field(text, "Content-Length", std::to_string(*length));
    } else if (chunks_) {
      append_field(text, "Transfer-Encoding", "chunked");
    } else {
      keeps_alive_ = false;  // the end of the connection is the end of the response
    }
    if (server_->draining) keeps_alive_ = false;
    append_field(text, "Connection", keeps_alive_ ? "keep-alive" : "close");
    text += "\r\n";
    return text;
  }

  struct Watch {
    bool is_wanted = true, is_reading = false, is_gone = false;
  };
  void watch_client(const std::shared_ptr<Watch>& watch, const std::shared_ptr<PendingExchange>& exchange) {
    // A client that sends ahead is alive; its next requests wait in the buffer, up to a limit.
    if (buffer_.size() >= kAheadBytes) return;
    watch->is_reading = true;
    socket_.async_read_some(buffer_.prepare(size_t{4} << 10U),
                            [self = shared_from_this(), watch, exchange](error_code error, size_t bytes) {
                              watch->is_reading = false;
                              self->buffer_.commit(bytes);
                              self->sends_no_more_ = self->sends_no_more_ || error == asio::error::eof;
                              if (!watch->is_wanted) {
                                self->wake_->cancel();
                              } else if (error == asio::error::eof) {
                                self->watch_for_reset(watch, exchange);
                              } else if (error) {
                                watch->is_gone = true;
                                exchange->go();
                              } else {
                                self->watch_client(watch, exchange);
                              }
                            });
  }

  // A client that sends no more may still wait for its answer. One that has closed its socket answers what it is sent next with a reset.
  // Where the answer has not begun, that is a "100 Continue", of which a client of HTTP/1.1 takes any number (RFC 9110, 15.2).
  void watch_for_reset(const std::shared_ptr<Watch>& watch, const std::shared_ptr<PendingExchange>& exchange) {
    probes_ = true;
    wake_->cancel();
    watch->is_reading = true;
    socket_.async_wait(Socket::wait_error, [self = shared_from_this(), watch, exchange](error_code) {
      watch->is_reading = false;
      if (!watch->is_wanted) {
        self->wake_->cancel();
      } else {
        watch->is_gone = true;
        exchange->go();
      }
    });
  }

  std::shared_ptr<HttpServerState> server_;
  Socket socket_;
  Strand strand_;
  std::shared_ptr<Timer> wake_;
  Timer deadline_;
  uint64_t deadline_turn_ = 0;
  bool is_late_ = false;
  std::string peer_;
  beast::flat_buffer buffer_{kMaxBuffered};
  HttpRequest request_;  // that which is read, as far as it is
  bool is_target_ = false;
  std::optional<HttpResponse> refusal_;  // where no handler is asked
  std::string unsent_;                   // of a stream, what the system did not take
  std::chrono::steady_clock::time_point last_write_;
  bool is_waiting_ = false, is_idle_ = false, keeps_alive_ = false, chunks_ = true, is_head_ = false, lingers_ = false;
  bool has_begun_ = false;  // the answer's head was written
  bool sends_no_more_ = false;
  bool probes_ = false;  // something is to be sent that draws a reset from a client that has gone
};

void HttpServerState::listen() {
  if (!options.unix_socket.empty()) {
    listen_on_path();
    return;
  }
  error_code error;
  const asio::ip::address host = asio::ip::make_address(options.host == "localhost" ? "127.0.0.1" : options.host, error);
  if (error) fail(ErrorCode::invalid_argument, "--host {}: not an IP address; give one such as 127.0.0.1 or ::1", options.host);
  const asio::ip::tcp::endpoint endpoint(host, static_cast<uint16_t>(options.port));
  tcp.emplace(context);
  tcp->open(endpoint.protocol());
  tcp->set_option(asio::socket_base::reuse_address(true));
  tcp->bind(endpoint, error);
  if (!error) tcp->listen(asio::socket_base::max_listen_connections, error);
  const std::string shown = host.is_v6() ? fmt::format("[{}]", host.to_string()) : host.to_string();
  if (error) {
    fail(ErrorCode::io, "{}:{}: cannot listen there: {}; choose another --port, or 0 for any that is free", shown, options.port,
         error.message());
  }
  port = tcp->local_endpoint().port();
  address = fmt::format("{}://{}:{}", tls ? "https" : "http", shown, port);
}

void HttpServerState::listen_on_path() {
  const std::string& path = options.unix_socket;
  error_code error;
  const asio::local::stream_protocol::endpoint endpoint = [&] {
    try {
      return asio::local::stream_protocol::endpoint(path);
    } catch (const boost::system::system_error&) {
      fail(ErrorCode::invalid_argument, "--unix-socket {}: the path is too long for a socket; 107 bytes are allowed", path);
    }
  }();
  if (std::filesystem::is_socket(path)) {
    asio::local::stream_protocol::socket probe(context);
    probe.connect(endpoint, error);
    if (!error) fail(ErrorCode::io, "--unix-socket {}: another process listens there", path);
    std::filesystem::remove(path);
  }
  error.clear();
  local.emplace(context);
  local->open(endpoint.protocol());
  local->bind(endpoint, error);
  if (!error) local->listen(asio::socket_base::max_listen_connections, error);
  if (error) fail(ErrorCode::io, "--unix-socket {}: cannot listen there: {}", path, error.message());
  address = "unix:" + path;
}

// What one connection throws ends that connection, and no other.
void HttpServerState::run() {
  for (;;) {
    try {
      context.run();
      return;
    } catch (const std::exception& error) {
      log_warning("a connection ended by an internal error: {}", error.what());
    }
  }
}

Task<void> HttpServerState::accept_all() {
  const std::shared_ptr<HttpServerState> self = shared_from_this();
  while (!draining) {
    error_code error;
    const Strand strand = asio::make_strand(context.get_executor());
    if (connections >= options.connections) {
      Timer pause(strand, std::chrono::milliseconds(10));
      co_await pause.async_wait(into(error));
      continue;
    }
    Socket socket(strand);
    std::string peer = "unix";
    if (tcp) {
      asio::ip::tcp::socket::rebind_executor<Strand>::other accepted(strand);
      co_await tcp->async_accept(accepted, into(error));
      if (!error) {
        error_code ignored;
        accepted.set_option(asio::ip::tcp::no_delay(true), ignored);
        const asio::ip::tcp::endpoint remote = accepted.remote_endpoint(ignored);
        peer = fmt::format("{}:{}", remote.address().to_string(), remote.port());
        if (tls) {
          socket.assign(Protocol(AF_UNIX, SOCK_STREAM), tls->accept(accepted.release()), error);
        } else {
          socket = Socket(std::move(accepted));
        }
      }
    } else {
      asio::local::stream_protocol::socket::rebind_executor<Strand>::other accepted(strand);
      co_await local->async_accept(accepted, into(error));
      if (!error) socket = Socket(std::move(accepted));
    }
    if (!error) {
      std::make_shared<Connection>(self, std::move(socket), strand, std::move(peer))->start();
    } else if (!draining) {
      // Too many open files, say: others will be closed.
      Timer pause(strand, std::chrono::milliseconds(50));
      co_await pause.async_wait(into(error));
    }
  }
}

void HttpServerState::wait_for_signal(int count) {
  signals.async_wait([weak = weak_from_this(), count](error_code error, int) {
    const std::shared_ptr<HttpServerState> self = weak.lock();
    if (error || !self) return;
    if (count == 0) {
      self->wait_for_signal(1);
      self->stop_signal();
    } else {
      self->abort_signal();
    }
  });
}

HttpServer::HttpServer(HttpServerOptions options, Handler handler, Refusal refuse, Admission admit)
    : state_(std::make_shared<HttpServerState>(std::move(options), std::move(handler), std::move(refuse), std::move(admit))) {
  if (!state_->options.tls_certificate.empty()) state_->tls = make_tls(state_->options.tls_certificate, state_->options.tls_key);
  state_->listen();
  asio::co_spawn(asio::make_strand(state_->context), [state = state_] { return state->accept_all(); }, asio::detached);
  for (int i = 0; i < std::max(state_->options.threads, 1); ++i) state_->threads.emplace_back([state = state_.get()] { state->run(); });
}

HttpServer::~HttpServer() {
  drain();
  state_->context.stop();
  state_->threads.clear();
  if (state_->local) {
    std::error_code ignored;
    std::filesystem::remove(state_->options.unix_socket, ignored);
  }
}

int HttpServer::port() const noexcept { return state_->port; }
const std::string& HttpServer::address() const noexcept { return state_->address; }
int64_t HttpServer::active_requests() const noexcept { return state_->active; }
int64_t HttpServer::open_connections() const noexcept { return state_->connections; }

void HttpServer::post(std::function<void()> work) { asio::post(state_->context, std::move(work)); }

void HttpServer::on_signal(std::function<void()> stop, std::function<void()> abort) {
  state_->stop_signal = std::move(stop);
  state_->abort_signal = std::move(abort);
  state_->signals.add(SIGINT);
  state_->signals.add(SIGTERM);
  state_->wait_for_signal(0);
}

void HttpServer::drain() {
  if (state_->draining.exchange(true)) return;
  asio::post(state_->context, [state = state_] {
    error_code ignored;
    if (state->tcp) state->tcp->close(ignored);
    if (state->local) state->local->close(ignored);
  });
  const std::scoped_lock lock(state_->mutex);
  for (Connection* connection : state_->open) connection->drain();
}

bool HttpServer::wait_drained(std::chrono::milliseconds limit) {
  drain();
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (state_->active > 0 && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return state_->active == 0;
}

}  // namespace wick::server
