// A ForwardingExchange passes everything on to another exchange: the base of those that watch one.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "wick/server/http_exchange.h"

namespace wick::server {

class ForwardingExchange : public HttpExchange {
 public:
  explicit ForwardingExchange(Exchange inner) : inner_(std::move(inner)) {}

  void add_header(std::string name, std::string value) override { inner_->add_header(std::move(name), std::move(value)); }
  void respond(HttpResponse response) override { inner_->respond(std::move(response)); }
  void begin(int status, HeaderFields headers, std::string heartbeat) override {
    inner_->begin(status, std::move(headers), std::move(heartbeat));
  }
  bool write(std::string piece) override { return inner_->write(std::move(piece)); }
  void end() override { inner_->end(); }
  [[nodiscard]] bool is_gone() const override { return inner_->is_gone(); }
  void on_gone(std::function<void()> callback) override { inner_->on_gone(std::move(callback)); }

 private:
  Exchange inner_;
};

}  // namespace wick::server
