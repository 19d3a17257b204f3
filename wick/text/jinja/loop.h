// A Loop is what a template's `loop` is: the items of a {% for %}, taken one by one as the body needs them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "wick/text/jinja/renderer.h"
#include "wick/text/jinja/syntax_tree.h"
#include "wick/text/jinja/value.h"

namespace wick::jinja {

struct Loop : Object {
  Loop(Renderer& renderer, const Statement& statement, std::shared_ptr<Scope> scope, int depth0)
      : renderer_(renderer), statement_(statement), scope_(std::move(scope)), depth0_(depth0) {}

  void start(const Value& iterable);
  // The next item; none at the end.
  [[nodiscard]] std::optional<Value> advance();
  // loop.index, loop.last …; undefined for what a loop has not.
  [[nodiscard]] std::optional<Value> attribute(std::string_view name);
  // loop(items) of a recursive loop.
  [[nodiscard]] Value recurse(const Arguments& arguments);
  [[nodiscard]] Value cycle(const Arguments& arguments) const;
  [[nodiscard]] bool changed(const Arguments& arguments);

 private:
  [[nodiscard]] std::optional<Value> pull();
  [[nodiscard]] const std::optional<Value>& peek();
  [[nodiscard]] int64_t length();

  Renderer& renderer_;
  const Statement& statement_;
  std::shared_ptr<Scope> scope_;
  int depth0_;
  Value source_;          // a sequence
  size_t next_ = 0;       // in it
  bool counted_ = false;  // the length is the source's
  int64_t index0_ = -1;
  std::optional<int64_t> length_;
  std::optional<Values> rest_;  // what was taken out of the source to count it
  bool peeked_ = false;
  std::optional<Value> after_;
  Value current_, before_;
  std::optional<Values> last_;  // what changed() saw
};

// `loop.cycle` and `loop.changed`, bound to their loop.
[[nodiscard]] std::optional<Value> find_loop_method(const Value& loop, std::string_view name);

}  // namespace wick::jinja
