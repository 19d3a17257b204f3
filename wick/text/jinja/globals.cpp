// The functions that every template knows: jinja2's, and those that transformers adds.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "wick/text/jinja/bound_arguments.h"
#include "wick/text/jinja/operators.h"
#include "wick/text/jinja/renderer.h"

namespace wick::jinja {
namespace {

using GlobalFunction = Value (*)(Renderer& renderer, Arguments& arguments);

struct Global : Callable {
  Global(std::string_view title, GlobalFunction of) : name(title), function(of) {}
  Value call(Renderer& renderer, Arguments& arguments) override { return function(renderer, arguments); }
  [[nodiscard]] const char* type_name() const override { return "function"; }
  [[nodiscard]] std::string repr() const override { return fmt::format("<function {}>", name); }
  std::string_view name;
  GlobalFunction function;
};

Value range(Renderer& renderer, Arguments& arguments) {
  const Bound<3> bound("range", arguments, {"start", "stop", "step"}, 1);
  const int64_t start = bound.has(1) ? bound.whole(0, 0) : 0;
  const int64_t stop = bound.has(1) ? bound.whole(1, 0) : bound.whole(0, 0);
  const int64_t step = bound.whole(2, 1);
  if (step == 0) raise("ValueError", "range() arg 3 must not be zero");
  constexpr uint64_t kMax = 100'000;
  const bool empty = step > 0 ? start >= stop : start <= stop;
  const auto distance =
      step > 0 ? static_cast<uint64_t>(stop) - static_cast<uint64_t>(start) : static_cast<uint64_t>(start) - static_cast<uint64_t>(stop);
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
  const uint64_t count = empty ? 0 : (distance - 1) / stride + 1;
  if (count > kMax) {
    raise("OverflowError", fmt::format("Range too big. The sandbox blocks ranges larger than MAX_RANGE ({}).", kMax));
  }
  Values items;
  items.reserve(count);
  for (uint64_t index = 0; index < count; ++index) items.push_back(Value::integer(start + static_cast<int64_t>(index) * step));
  auto sequence = std::make_shared<Sequence>(std::move(items), &renderer.budget());
  sequence->range_step = step;
  return {Kind::range, std::move(sequence)};
}

// dict(), dict(mapping), dict(pairs), each with more by name.
void fill(Renderer& renderer, Dict& dict, const char* function, const Arguments& arguments) {
  if (arguments.positional.size() > 1) {
    raise("TypeError", fmt::format("{} expected at most 1 argument, got {}", function, arguments.positional.size()));
  }
  if (!arguments.positional.empty()) {
    const Value& from = arguments.positional.front();
    if (from.is(Kind::dict)) {
      for (const auto& [key, value] : from.dict().entries) dict.set(key, value);
    } else {
      int64_t index = 0;
      for (const Value& pair : iterate(renderer.budget(), from)) {
        const Values parts = is_iterable(pair) ? iterate(renderer.budget(), pair) : Values();
        if (!is_iterable(pair))
          raise("TypeError", fmt::format("cannot convert dictionary update sequence element #{} to a sequence", index));
        if (parts.size() != 2) {
          raise("ValueError", fmt::format("dictionary update sequence element #{} has length {}; 2 is required", index, parts.size()));
        }
        dict.set(parts[0], parts[1]);
        ++index;
      }
    }
  }
  for (const auto& [name, value] : arguments.named) dict.set(renderer.text(name), value);
}

Value make_dict_of(Renderer& renderer, Arguments& arguments) {
  auto dict = std::make_shared<Dict>(&renderer.budget());
  fill(renderer, *dict, "dict", arguments);
  return make_dict(dict);
}

Value make_namespace(Renderer& renderer, Arguments& arguments) {
  const std::shared_ptr<Namespace> scope = renderer.make_namespace();
  fill(renderer, scope->attributes, "dict", arguments);
  for (const auto& [key, value] : scope->attributes.entries) {
    if (key.is_string() && key.text().starts_with('_')) {
      raise("SecurityError", fmt::format("Chat templates cannot store underscore-prefixed attributes on a namespace, but got {}. Please "
                                         "rename the attribute.",
                                         text_repr(key.text())));
    }
  }
  return {Kind::scope, scope};
}

Value raise_exception(Renderer& /*renderer*/, Arguments& arguments) {
  const Bound<1> bound("raise_exception", arguments, {"message"}, 1);
  raise("TemplateError", to_text(bound.at(0)));
}

Value strftime_now(Renderer& renderer, Arguments& arguments) {
  const Bound<1> bound("strftime_now", arguments, {"format"}, 1);
  return renderer.text(renderer.format_time()(bound.text(0)));
}

struct Cycler : Callable {
  explicit Cycler(Values values) : items(std::move(values)) {}
  Value call(Renderer& /*renderer*/, Arguments& /*arguments*/) override { raise("TypeError", "'Cycler' object is not callable"); }
  [[nodiscard]] const char* type_name() const override { return "Cycler"; }
  std::optional<Value> attribute(Renderer& renderer, std::string_view name) override;
  Values items;
  size_t at = 0;
};

struct CyclerMethod : Callable {
  CyclerMethod(Cycler& of, bool is_next) : cycler(of), next(is_next) {}
  Value call(Renderer& /*renderer*/, Arguments& /*arguments*/) override {
    if (!next) {
      cycler.at = 0;
      return {};
    }
    return cycler.items[cycler.at++ % cycler.items.size()];
  }
  Cycler& cycler;
  bool next;
};

std::optional<Value> Cycler::attribute(Renderer& renderer, std::string_view name) {
  if (name == "current") return items[at % items.size()];
  if (name == "items") return make_tuple(renderer.budget(), items);
  if (name != "next" && name != "reset") return std::nullopt;
  return Value(Kind::callable, std::make_shared<CyclerMethod>(*this, name == "next"));
}

Value make_cycler(Renderer& renderer, Arguments& arguments) {
  if (arguments.positional.empty()) raise("RuntimeError", "at least one item has to be provided");
  // Its methods refer to it: it lives until the end, as a namespace's value does.
  const Value cycler(Kind::callable, std::make_shared<Cycler>(arguments.positional));
  renderer.make_namespace()->attributes.set(renderer.text(std::string_view("cycler")), cycler);
  return cycler;
}

struct Joiner : Callable {
  explicit Joiner(Value text) : separator(std::move(text)) {}
  Value call(Renderer& renderer, Arguments& /*arguments*/) override {
    if (used) return separator;
    used = true;
    return renderer.text(std::string_view());
  }
  [[nodiscard]] const char* type_name() const override { return "Joiner"; }
  Value separator;
  bool used = false;
};

Value make_joiner(Renderer& renderer, Arguments& arguments) {
  const Bound<1> bound("joiner", arguments, {"sep"});
  return {Kind::callable, std::make_shared<Joiner>(bound.has(0) ? bound.at(0) : renderer.text(std::string_view(", ")))};
}

constexpr std::pair<std::string_view, GlobalFunction> kGlobals[] = {
    {"range", range},
    {"dict", make_dict_of},
    {"namespace", make_namespace},
    {"raise_exception", raise_exception},
    {"strftime_now", strftime_now},
    {"cycler", make_cycler},
    {"joiner", make_joiner},
};

}  // namespace

std::optional<Value> find_global(std::string_view name) {
  const auto found = std::find_if(std::begin(kGlobals), std::end(kGlobals), [&](const auto& entry) { return entry.first == name; });
  if (found == std::end(kGlobals)) return std::nullopt;
  return Value(Kind::callable, std::make_shared<Global>(found->first, found->second));
}

}  // namespace wick::jinja
