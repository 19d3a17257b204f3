// A PendingExchange is an HttpExchange as the server has it: the pieces that a handler gives wait in it for the client's connection.
#pragma once

#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "wick/server/http_exchange.h"

namespace wick::server {

using Strand = boost::asio::strand<boost::asio::io_context::executor_type>;
using Timer = boost::asio::basic_waitable_timer<std::chrono::steady_clock, boost::asio::wait_traits<std::chrono::steady_clock>, Strand>;

// Everything below `mutex_` is shared between threads. What there is to do is done on the connection's
// strand: by `flush_` where that can, else by the connection's coroutine, which sleeps on its timer.
class PendingExchange final : public HttpExchange, public std::enable_shared_from_this<PendingExchange> {
 public:
  PendingExchange(Strand strand, std::shared_ptr<Timer> wake, uint64_t limit)
      : strand_(std::move(strand)), wake_(std::move(wake)), limit_(limit) {}

  void add_header(std::string name, std::string value) override {
    const std::scoped_lock lock(mutex_);
    extra_.add(std::move(name), std::move(value));
  }

  void respond(HttpResponse response) override {
    {
      const std::scoped_lock lock(mutex_);
      if (begun_) return;
      begun_ = ended_ = true;
      status_ = response.status;
      headers_ = std::move(response.headers);
      pending_ = std::move(response.body);
    }
    wake();
  }

  void begin(int status, HeaderFields headers, std::string heartbeat) override {
    {
      const std::scoped_lock lock(mutex_);
      if (begun_) return;
      begun_ = streams_ = true;
      status_ = status;
      headers_ = std::move(headers);
      heartbeat_ = std::move(heartbeat);
    }
    wake();
  }

  bool write(std::string piece) override {
    {
      const std::scoped_lock lock(mutex_);
      if (gone_ || ended_) return false;
      pending_ += piece;
      if (pending_.size() <= limit_) {
        piece.clear();
      }
    }
    if (!piece.empty()) go();
    wake();
    return piece.empty();
  }

  void end() override {
    {
      const std::scoped_lock lock(mutex_);
      ended_ = true;
    }
    wake();
  }

  [[nodiscard]] bool is_gone() const override {
    const std::scoped_lock lock(mutex_);
    return gone_;
  }

  void on_gone(std::function<void()> callback) override {
    {
      const std::scoped_lock lock(mutex_);
      if (!gone_) {
        on_gone_ = std::move(callback);
        return;
      }
    }
    callback();
  }

  // The client is gone.
  void go() {
    std::function<void()> callback;
    {
      const std::scoped_lock lock(mutex_);
      if (gone_ || (ended_ && sent_all_)) return;
      gone_ = true;
      callback = std::exchange(on_gone_, {});
    }
    if (callback) callback();
    wake();
  }

  // The connection's next work.
  struct Work {
    bool gone = false, begins = false, ends = false, streams = false;
    int status = 0;
    HeaderFields headers, extra;
    std::string body;
    std::string heartbeat;
  };
  Work take() {
    const std::scoped_lock lock(mutex_);
    Work work;
    work.gone = gone_;
    work.begins = begun_ && !head_sent_;
    work.ends = ended_;
    work.streams = streams_;
    work.heartbeat = heartbeat_;
    if (work.begins) {
      head_sent_ = true;
      work.status = status_;
      work.headers = std::move(headers_);
      work.extra = extra_;
    }
    if (begun_) work.body = std::exchange(pending_, {});
    return work;
  }
  // The next piece of a stream that goes on; nothing where more is to be done than to write one.
  std::optional<std::string> take_piece() {
    const std::scoped_lock lock(mutex_);
    if (gone_ || ended_ || !streams_ || !head_sent_) return std::nullopt;
    return std::exchange(pending_, {});
  }
  void sent_all() {
    std::function<void()> unused;
    const std::scoped_lock lock(mutex_);
    sent_all_ = true;
    unused = std::exchange(on_gone_, {});
  }
  // On the strand: what writes the pieces that have come, and tells whether that was all there is to do.
  void set_flush(std::function<bool()> flush) { flush_ = std::move(flush); }

 private:
  // At once where this is a thread of the server and the strand is free.
  void wake() {
    boost::asio::dispatch(strand_, [self = shared_from_this()] {
      if (!self->flush_ || !self->flush_()) self->wake_->cancel();
    });
  }

  Strand strand_;
  std::shared_ptr<Timer> wake_;
  std::function<bool()> flush_;
  uint64_t limit_;
  mutable std::mutex mutex_;
  bool begun_ = false, ended_ = false, streams_ = false, head_sent_ = false, gone_ = false, sent_all_ = false;
  int status_ = 0;
  HeaderFields headers_, extra_;
  std::string pending_, heartbeat_;
  std::function<void()> on_gone_;
};

}  // namespace wick::server
