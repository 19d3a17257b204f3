// An HttpExchange is one request's answer under way: handlers give it a response at once, or a stream piece by piece, from any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "wick/server/http_message.h"

namespace wick::server {

class HttpExchange {
 public:
  HttpExchange() = default;
  virtual ~HttpExchange() = default;
  HttpExchange(const HttpExchange&) = delete;
  HttpExchange& operator=(const HttpExchange&) = delete;

  // Adds a field to the response that is to come.
  virtual void add_header(std::string name, std::string value) = 0;
  // The whole response. Ignored if a response has begun.
  virtual void respond(HttpResponse response) = 0;

  // A response in pieces: begin, then write any number of times, then end. While nothing is written, `heartbeat` is sent now and then (a
  // comment of an event stream), so that proxies keep the connection; empty: nothing is.
  virtual void begin(int status, HeaderFields headers, std::string heartbeat) = 0;
  // False if the client is gone, or does not read and too much waits for it: then the client counts as gone.
  virtual bool write(std::string piece) = 0;
  virtual void end() = 0;

  [[nodiscard]] virtual bool is_gone() const = 0;
  // Called once, on any thread, when the client goes before the response has ended; at once if it has gone already.
  virtual void on_gone(std::function<void()> callback) = 0;
};

using Exchange = std::shared_ptr<HttpExchange>;

}  // namespace wick::server
