// Depth counts what a Renderer does inside of what, so that the stack never ends.
#pragma once

#include "wick/text/jinja/renderer.h"

namespace wick::jinja {

class Renderer::Depth {
 public:
  explicit Depth(Renderer& renderer) : renderer_(renderer) { renderer_.budget_.check_depth(++renderer_.depth_); }
  ~Depth() { --renderer_.depth_; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;

 private:
  Renderer& renderer_;
};

}  // namespace wick::jinja
