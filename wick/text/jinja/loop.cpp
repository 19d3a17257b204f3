#include "wick/text/jinja/loop.h"

#include <fmt/format.h>

#include "wick/text/jinja/operators.h"

namespace wick::jinja {
namespace {

struct LoopMethod : Callable {
  LoopMethod(Value of, bool is_cycle) : loop(std::move(of)), cycle(is_cycle) {}
  Value call(Renderer& /*renderer*/, Arguments& arguments) override {
    return cycle ? loop.loop().cycle(arguments) : Value::boolean(loop.loop().changed(arguments));
  }
  [[nodiscard]] const char* type_name() const override { return "method"; }
  Value loop;
  bool cycle;
};

}  // namespace

Loop& Value::loop() const { return static_cast<Loop&>(*object_); }

void Loop::start(const Value& iterable) {
  Budget& budget = renderer_.budget();
  if (iterable.is(Kind::loop)) raise("TypeError", "a loop cannot go over another loop's items");
  counted_ = !iterable.is(Kind::iterator) && statement_.filter == nullptr;
  source_ = iterable.is_sequence() ? iterable : make_list(budget, iterate(budget, iterable));
}

std::optional<Value> Loop::pull() {
  if (rest_) return next_ < rest_->size() ? std::optional((*rest_)[next_++]) : std::nullopt;
  Sequence& source = source_.sequence();
  size_t& next = source_.is(Kind::iterator) ? source.next : next_;
  while (next < source.items.size()) {
    Value item = source.items[next++];
    renderer_.budget().step();
    if (statement_.filter == nullptr || renderer_.passes(statement_, item, scope_)) return item;
  }
  return std::nullopt;
}

const std::optional<Value>& Loop::peek() {
  if (!peeked_) {
    after_ = pull();
    peeked_ = true;
  }
  return after_;
}

std::optional<Value> Loop::advance() {
  std::optional<Value> item = peeked_ ? after_ : pull();
  peeked_ = false;
  if (!item) return std::nullopt;
  ++index0_;
  before_ = current_;
  current_ = *item;
  return item;
}

int64_t Loop::length() {
  if (!length_) {
    if (counted_) {
      length_ = static_cast<int64_t>(source_.sequence().items.size());
    } else {
      Values rest;
      while (auto item = pull()) rest.push_back(*item);
      length_ = static_cast<int64_t>(rest.size()) + index0_ + 1 + (peeked_ && after_ ? 1 : 0);
      rest_ = std::move(rest);
      next_ = 0;
    }
  }
  return *length_;
}

std::optional<Value> Loop::attribute(std::string_view name) {
  if (name == "index0") return Value::integer(index0_);
  if (name == "index") return Value::integer(index0_ + 1);
  if (name == "first") return Value::boolean(index0_ == 0);
  if (name == "last") return Value::boolean(!peek());
  if (name == "length") return Value::integer(length());
  if (name == "revindex") return Value::integer(length() - index0_);
  if (name == "revindex0") return Value::integer(length() - index0_ - 1);
  if (name == "depth") return Value::integer(depth0_ + 1);
  if (name == "depth0") return Value::integer(depth0_);
  if (name == "previtem") return index0_ == 0 ? make_undefined("there is no previous item") : before_;
  if (name == "nextitem") return peek() ? *after_ : make_undefined("there is no next item");
  return std::nullopt;
}

Value Loop::recurse(const Arguments& arguments) {
  if (!statement_.recursive) raise("TypeError", "The loop must have the 'recursive' marker to be called recursively.");
  if (arguments.positional.size() != 1 || !arguments.named.empty()) raise("TypeError", "loop() takes 1 argument: what to go over");
  return renderer_.run_inner_loop(statement_, arguments.positional.front(), scope_, depth0_ + 1);
}

Value Loop::cycle(const Arguments& arguments) const {
  if (arguments.positional.empty()) raise("TypeError", "no items for cycling given");
  return arguments.positional[static_cast<size_t>(index0_) % arguments.positional.size()];
}

bool Loop::changed(const Arguments& arguments) {
  bool same = last_ && last_->size() == arguments.positional.size();
  for (size_t index = 0; same && index < last_->size(); ++index) same = is_equal((*last_)[index], arguments.positional[index]);
  if (same) return false;
  last_ = arguments.positional;
  return true;
}

std::optional<Value> find_loop_method(const Value& loop, std::string_view name) {
  if (name != "cycle" && name != "changed") return std::nullopt;
  return Value(Kind::callable, std::make_shared<LoopMethod>(loop, name == "cycle"));
}

}  // namespace wick::jinja
