#include <bit>
#include <unordered_map>

#include "wick/base/fail.h"
#include "wick/base/half.h"
#include "wick/ir/arithmetic.h"
#include "wick/ir/dialect/dialect.h"
#include "wick/ir/dialect/hex_float.h"
#include "wick/ir/dialect/usage.h"

namespace wick::ir {
namespace {

class Printer {
 public:
  Printer(const Kernel& kernel, const Dialect& dialect) : kernel_(kernel), dialect_(dialect), usage_(usage_of(kernel, dialect)) {}

  std::string run() {
    for (uint32_t slot = 0; slot < kernel_.tiles.size(); ++slot) {
      line(expand(dialect_.declaration, {{'T', tile_type(slot)}, {'n', tile(slot)}}));
    }
    for (const Statement& statement : kernel_.body) print(statement);
    std::string text(dialect_.version);
    for (const Preamble& preamble : dialect_.preambles) {
      if (usage_.has(preamble.feature)) text += expand(preamble.text, {{'s', subgroup_size()}});
    }
    return text + dialect_.head(kernel_, usage_, dialect_) + body_ + "}\n";
  }

 private:
  // --- names ----------------------------------------------------------------------------------------------------------------------

  [[nodiscard]] std::string subgroup_size() const { return std::to_string(kernel_.subgroup_size); }
  static std::string variable(uint32_t slot) { return "a" + std::to_string(slot); }
  static std::string tile(uint32_t slot) { return "t" + std::to_string(slot); }
  [[nodiscard]] std::string memory(Space space, uint32_t slot) const {
    return space == Space::buffer ? argument_name(kernel_.buffers[slot].name) : shared_name(slot);
  }
  std::string define(NodeId id, char kind, uint32_t& counter) { return names_[id] = kind + std::to_string(counter++); }

  template <class... Text>
  [[nodiscard]] std::string need(std::string_view text, fmt::format_string<Text...> what, Text&&... values) const {
    if (text.empty())
      fail(ErrorCode::unsupported, "kernel {}: {} has no {}", kernel_.name, dialect_.name,
           fmt::format(what, std::forward<Text>(values)...));
    return std::string(text);
  }
  [[nodiscard]] std::string type(Type t) const { return need(dialect_.types[static_cast<std::size_t>(t)], "{}", to_string(t)); }
  [[nodiscard]] std::string vector_type(Type t, uint32_t lanes) const {
    return expand(need(dialect_.vectors[static_cast<std::size_t>(t)], "vectors of {}", to_string(t)), {{'n', std::to_string(lanes)}});
  }
  [[nodiscard]] std::string type(const Node& node) const { return node.lanes > 1 ? vector_type(node.type, node.lanes) : type(node.type); }

  void line(const std::string& text) {
    if (!text.empty()) body_ += std::string(indent_ * 2, ' ') + text + "\n";
  }

  // --- expressions ----------------------------------------------------------------------------------------------------------------

  [[nodiscard]] std::string literal(const Node& node) const {
    const std::string number = std::to_string(whole_of(node.type, node.bits));
    switch (node.type) {
      case Type::b1: return node.bits != 0 ? "true" : "false";
      case Type::u32: return number + "u";
      case Type::i32:
        if (node.bits == 0x80000000U) return fmt::format("(-2147483647{0} - 1{0})", dialect_.i32_suffix);
        return parenthesised(number + std::string(dialect_.i32_suffix));
      case Type::i64:
        if (node.bits == uint64_t{1} << 63) return fmt::format("(-9223372036854775807{0} - 1{0})", dialect_.i64_suffix);
        return parenthesised(number + std::string(dialect_.i64_suffix));
      case Type::f16: return convert(Op::cast, Type::f32, Type::f16, f32_literal(f16_bits_to_float(static_cast<uint16_t>(node.bits))));
      case Type::f32: return f32_literal(std::bit_cast<float>(static_cast<uint32_t>(node.bits)));
      case Type::f64:
        return parenthesised(expand(dialect_.f64_literal, {{'h', hex_float(std::bit_cast<double>(node.bits))},
                                                           {'l', std::to_string(node.bits & 0xffffffffU)},
                                                           {'u', std::to_string(node.bits >> 32)}}));
    }
    assertion_failed("a literal of no type");
  }
  [[nodiscard]] std::string f32_literal(float value) const {
    return parenthesised(expand(dialect_.f32_literal,
                                {{'h', hex_float(static_cast<double>(value))}, {'b', std::to_string(std::bit_cast<uint32_t>(value))}}));
  }
  // A literal with a sign, which may stand behind an operator.
  static std::string parenthesised(std::string text) { return text[0] == '-' ? "(" + text + ")" : text; }

  [[nodiscard]] std::string leaf(const Node& node) const {
    const std::string dimension(1, "xyz"[node.slot % 3]);
    const auto id = [&](std::string_view text) {
      return expand(text, {{'d', dimension}, {'i', std::to_string(node.slot)}, {'s', subgroup_size()}});
    };
    switch (node.op) {
      case Op::constant: return literal(node);
      case Op::parameter: return "p." + argument_name(kernel_.parameters[node.slot].name);
      case Op::group_id: return id(dialect_.group_id);
      case Op::group_count: return id(dialect_.group_count);
      case Op::local_id: return id(dialect_.local_id);
      case Op::subgroup_lane: return id(need(dialect_.subgroup_lane, "subgroups"));
      case Op::subgroup_id: return id(need(dialect_.subgroup_id, "subgroups"));
      default: assertion_failed("a value is used before it has a name");
    }
  }

  // The name or the text of what is written where it is used.
  [[nodiscard]] std::string text(NodeId id) const {
    if (const auto found = names_.find(id); found != names_.end()) return found->second;
    const Node& node = kernel_.node(id);
    if (node.op == Op::lane) return text(node.operands[0]) + "." + "xyzw"[node.slot];
    if (node.op == Op::vector) return make_vector(node);
    return leaf(node);
  }

  [[nodiscard]] std::string make_vector(const Node& node) const {
    std::string lanes;
    for (int i = 0; i < node.operand_count(); ++i) lanes += (i == 0 ? "" : ", ") + text(node.operands[static_cast<std::size_t>(i)]);
    return expand(dialect_.make_vector, {{'V', vector_type(node.type, node.lanes)}, {'0', lanes}});
  }

  [[nodiscard]] std::string convert(Op op, Type from, Type to, const std::string& value) const {
    for (const Conversion& row : dialect_.conversions) {
      if (row.op == op && (row.from & types(from)) != 0 && (row.to & types(to)) != 0)
        return expand(row.text, {{'T', type(to)}, {'0', value}});
    }
    return expand(dialect_.cast, {{'T', type(to)}, {'0', value}});
  }

  [[nodiscard]] std::string_view spelling(const Node& node) const {
    const Type key = is_comparison(node.op) ? kernel_.node(node.operands[0]).type : node.type;
    for (const std::span<const Spelling> rows : {dialect_.spellings, dialect_.family}) {
      for (const Spelling& row : rows) {
        if (row.op != node.op || (row.types & types(key)) == 0) continue;
        return kernel_.math == MathMode::precise && !row.precise.empty() ? row.precise : row.text;
      }
    }
    fail(ErrorCode::unsupported, "kernel {}: {} has no {} of {}", kernel_.name, dialect_.name, to_string(node.op), to_string(key));
  }

  [[nodiscard]] std::string expression(const Node& node) const {
    const auto operand = [&](std::size_t i) { return node.operands[i] == kNoNode ? std::string() : text(node.operands[i]); };
    if (node.op == Op::cast || node.op == Op::bitcast) {
      const Type from = kernel_.node(node.operands[0]).type;
      if (node.type != Type::b1 || node.op == Op::bitcast) return convert(node.op, from, node.type, operand(0));
      Node zero;
      zero.type = from;
      return operand(0) + " != " + literal(zero);
    }
    if (node.op == Op::read) return variable(node.slot);
    const std::string_view pattern =
        node.op == Op::subgroup_reduce ? dialect_.subgroup_reduce[static_cast<std::size_t>(node.reduce)] : spelling(node);
    return expand(need(pattern, "{}", to_string(node.op)), {{'0', operand(0)},
                                                            {'1', operand(1)},
                                                            {'2', operand(2)},
                                                            {'T', type(node.type)},
                                                            {'n', std::to_string(node.slot)},
                                                            {'s', subgroup_size()},
                                                            {'U', node.type == Type::i64 ? unsigned_64() : type(Type::u32)}});
  }
  [[nodiscard]] std::string unsigned_64() const { return "unsigned " + type(Type::i64); }

  // --- memory ---------------------------------------------------------------------------------------------------------------------

  [[nodiscard]] uint8_t width(Space space, uint32_t slot) const { return usage_.widths[static_cast<std::size_t>(space)][slot]; }
  [[nodiscard]] std::string_view space_name(Space space) const { return dialect_.spaces[static_cast<std::size_t>(space)]; }
  static std::string at(const std::string& array, const std::string& index) { return array + "[" + index + "]"; }

  [[nodiscard]] std::string load_scalar(Space space, uint32_t slot, const std::string& index) const {
    const std::string array = memory(space, slot);
    const uint8_t declared = width(space, slot);
    if (declared > 1) return fmt::format("{}[({}) / {}u][({}) % {}u]", array, index, declared, index, declared);
    if (!dialect_.atomic_load.empty() && usage_.atomic[static_cast<std::size_t>(space)][slot]) {
      return expand(dialect_.atomic_load, {{'m', array}, {'i', index}});
    }
    const Element element = kernel_.element_of(space, slot);
    const bool widened = is_narrow(element) && register_type(element) != Type::f16;
    return widened ? expand(dialect_.cast, {{'T', type(register_type(element))}, {'0', at(array, index)}}) : at(array, index);
  }

  [[nodiscard]] std::string load_vector(const Node& node, const std::string& index) const {
    const std::string vector = vector_type(node.type, node.lanes);
    const std::string array = memory(node.space, node.slot);
    if (!dialect_.vector_load.empty()) {
      const bool once = node.space == Space::buffer && kernel_.buffers[node.slot].once && !dialect_.vector_load_once.empty();
      return expand(once ? dialect_.vector_load_once : dialect_.vector_load,
                    {{'m', array}, {'i', index}, {'V', vector}, {'S', space_name(node.space)}});
    }
    if (width(node.space, node.slot) == node.lanes) return fmt::format("{}[({}) / {}u]", array, index, node.lanes);
    std::string lanes;
    for (uint32_t lane = 0; lane < node.lanes; ++lane) {
      lanes += (lane == 0 ? "" : ", ") + load_scalar(node.space, node.slot, fmt::format("{} + {}u", index, lane));
    }
    return expand(dialect_.make_vector, {{'V', vector}, {'0', lanes}});
  }

  [[nodiscard]] std::string load(const Node& node) const {
    const std::string index = text(node.operands[0]);
    return node.lanes > 1 ? load_vector(node, index) : load_scalar(node.space, node.slot, index);
  }

  // A gated load is an assignment under a condition: not every language's conditional expression leaves the other side alone.
  void print_gated_load(NodeId id, const Node& node) {
    const std::string alternative = text(node.operands[2]);
    std::string initial = alternative;
    if (node.lanes > 1) {
      for (uint32_t lane = 1; lane < node.lanes; ++lane) initial += ", " + alternative;
      initial = expand(dialect_.make_vector, {{'V', type(node)}, {'0', initial}});
    }
    const std::string value = load(node), gate = text(node.operands[1]);
    const std::string name = define(id, 'v', values_);
    line(expand(dialect_.variable, {{'T', type(node)}, {'n', name}, {'x', initial}}));
    line(fmt::format("if ({}) {{ {} = {}; }}", gate, name, value));
  }

  void print_let(NodeId id) {
    const Node& node = kernel_.node(id);
    if (node.op == Op::load && node.operands[1] != kNoNode) return print_gated_load(id, node);
    const std::string value = node.op == Op::load ? load(node) : expression(node);
    const bool precise = kernel_.math == MathMode::precise && is_float(node.type) && !dialect_.precise_let.empty() && !is_read(node.op);
    line(expand(precise ? dialect_.precise_let : dialect_.let, {{'T', type(node)}, {'n', define(id, 'v', values_)}, {'x', value}}));
  }

  [[nodiscard]] std::string store_scalar(Space space, uint32_t slot, const std::string& index, const std::string& value) const {
    const std::string array = memory(space, slot);
    if (!dialect_.atomic_store.empty() && usage_.atomic[static_cast<std::size_t>(space)][slot]) {
      return expand(dialect_.atomic_store, {{'m', array}, {'i', index}, {'x', value}});
    }
    const Element element = kernel_.element_of(space, slot);
    const bool cut = is_narrow(element) && register_type(element) != Type::f16;
    const std::string_view name = dialect_.elements[static_cast<std::size_t>(element)];
    return at(array, index) + " = " + (cut ? expand(dialect_.cast, {{'T', name}, {'0', value}}) : value) + ";";
  }

  [[nodiscard]] std::string store(const Statement& s) const {
    const Node& value = kernel_.node(s.operands[1]);
    const std::string index = text(s.operands[0]);
    if (is_copy(kernel_, dialect_, s)) {
      return expand(dialect_.copy,
                    {{'m', memory(s.space, s.slot)}, {'i', index}, {'f', memory(value.space, value.slot)}, {'j', text(value.operands[0])}});
    }
    if (value.lanes == 1) return store_scalar(s.space, s.slot, index, text(s.operands[1]));
    if (!dialect_.vector_store.empty()) {
      return expand(
          dialect_.vector_store,
          {{'m', memory(s.space, s.slot)}, {'i', index}, {'V', type(value)}, {'S', space_name(s.space)}, {'x', text(s.operands[1])}});
    }
    if (width(s.space, s.slot) == value.lanes)
      return fmt::format("{}[({}) / {}u] = {};", memory(s.space, s.slot), index, value.lanes, text(s.operands[1]));
    std::string stores;
    for (uint32_t lane = 0; lane < value.lanes; ++lane) {
      const std::string part = value.op == Op::vector ? text(value.operands[lane]) : text(s.operands[1]) + "." + "xyzw"[lane];
      stores += (lane == 0 ? "" : " ") + store_scalar(s.space, s.slot, fmt::format("{} + {}u", index, lane), part);
    }
    return stores;
  }

  void print_store(const Statement& s) {
    if (s.operands[2] == kNoNode) return line(store(s));
    line("if (" + text(s.operands[2]) + ") { " + store(s) + " }");
  }

  void print_atomic(const Statement& s) {
    const Type t = register_type(kernel_.element_of(s.space, s.slot));
    const std::string_view pattern = t == Type::f32 ? dialect_.f32_atomic_add : dialect_.atomics[static_cast<std::size_t>(s.atomic)];
    const std::string value = expand(need(pattern, "atomic {} of {}", to_string(s.atomic), to_string(t)),
                                     {{'m', memory(s.space, s.slot)},
                                      {'i', text(s.operands[0])},
                                      {'x', text(s.operands[1])},
                                      {'S', space_name(s.space)},
                                      {'A', dialect_.atomic_types[static_cast<std::size_t>(t)]}});
    line(expand(dialect_.let, {{'T', type(t)}, {'n', define(s.target, 'v', values_)}, {'x', value}}));
  }

  // --- statements -----------------------------------------------------------------------------------------------------------------

  [[nodiscard]] std::string tile_type(uint32_t slot) const {
    const Tile& t = kernel_.tiles[slot];
    const TileShape& product = usage_.tile_shapes[slot];
    if (product == kLaneTile) return need(dialect_.lane_tiles.types[static_cast<std::size_t>(t.role)], "matrix tiles that lanes set");
    const std::string pattern =
        expand(need(dialect_.tile_type, "matrix tiles"), {{'R', dialect_.tile_roles[static_cast<std::size_t>(t.role)]}});
    return expand(pattern, {{'E', dialect_.elements[static_cast<std::size_t>(t.element)]},
                            {'r', std::to_string(t.rows)},
                            {'c', std::to_string(t.columns)},
                            {'M', std::to_string(product.m)},
                            {'N', std::to_string(product.n)},
                            {'K', std::to_string(product.k)}});
  }

  [[nodiscard]] std::string_view tile_load(const Statement& s) const {
    if (kernel_.tiles[s.slot].role == TileRole::accumulator) return dialect_.tile_load_sums;
    const bool words = kernel_.element_of(s.space, s.source) != kernel_.tiles[s.slot].element;
    return words ? dialect_.tile_load_words : dialect_.tile_load;
  }

  [[nodiscard]] std::string_view tile_pattern(const Statement& s) const {
    const bool by_lane = usage_.tile_shapes[s.slot] == kLaneTile;
    const Dialect::LaneTiles& lanes = dialect_.lane_tiles;
    switch (s.kind) {
      case StatementKind::tile_fill: return by_lane ? lanes.fill : dialect_.tile_fill;
      case StatementKind::tile_set: return lanes.set;
      case StatementKind::tile_get: return lanes.get;
      case StatementKind::tile_load:
        if (!by_lane) return tile_load(s);
        return kernel_.element_of(s.space, s.source) == kernel_.tiles[s.slot].element ? lanes.load : lanes.load_words;
      case StatementKind::tile_multiply: return by_lane ? lanes.multiply : dialect_.tile_multiply;
      case StatementKind::tile_scale: return by_lane ? lanes.scale : dialect_.tile_scale;
      default: return by_lane ? lanes.store : dialect_.tile_store;
    }
  }

  void print_tile(const Statement& s) {
    const std::string_view pattern = tile_pattern(s);
    const bool moves = s.kind == StatementKind::tile_load || s.kind == StatementKind::tile_store;
    const uint32_t wide = moves ? width(s.space, s.source) : 1;  // places and strides are multiples of it
    const auto operand = [&](std::size_t i) {
      if (s.operands[i] == kNoNode) return std::string();
      return wide == 1 ? text(s.operands[i]) : fmt::format("({}) / {}u", text(s.operands[i]), wide);
    };
    const bool gets = s.kind == StatementKind::tile_get;
    line(expand(need(pattern, "{}", to_string(s.kind)), {{'n', tile(s.slot)},
                                                         {'v', gets ? variable(s.source) : std::string()},
                                                         {'e', gets ? std::string(1, "xyzw"[s.left]) : std::string()},
                                                         {'T', tile_type(s.slot)},
                                                         {'x', operand(0)},
                                                         {'i', operand(0)},
                                                         {'t', operand(1)},
                                                         {'m', moves ? memory(s.space, s.source) : std::string()},
                                                         {'S', moves ? std::string(space_name(s.space)) : std::string()},
                                                         {'l', tile(s.left)},
                                                         {'p', tile(s.right)},
                                                         {'R', dialect_.tile_roles[static_cast<std::size_t>(kernel_.tiles[s.slot].role)]},
                                                         {'r', std::to_string(kernel_.tiles[s.slot].rows)},
                                                         {'c', std::to_string(kernel_.tiles[s.slot].columns)}}));
  }

  void print_loop(const Statement& s) {
    if (s.unroll) line(std::string(dialect_.unroll));
    const std::string begin = text(s.operands[0]), end = text(s.operands[1]);
    line(expand(dialect_.loop,
                {{'T', type(Type::u32)}, {'n', define(s.target, 'i', loops_)}, {'b', begin}, {'e', end}, {'s', std::to_string(s.step)}}));
    ++indent_;
  }

  void print(const Statement& s) {
    switch (s.kind) {
      case StatementKind::comment: return line("// " + s.text);
      case StatementKind::let: return print_let(s.target);
      case StatementKind::variable:
        return line(
            expand(dialect_.variable, {{'T', type(kernel_.variables[s.slot])}, {'n', variable(s.slot)}, {'x', text(s.operands[0])}}));
      case StatementKind::assign: return line(variable(s.slot) + " = " + text(s.operands[0]) + ";");
      case StatementKind::store: return print_store(s);
      case StatementKind::atomic: return print_atomic(s);
      case StatementKind::loop: return print_loop(s);
      case StatementKind::when:
        line("if (" + text(s.operands[0]) + ") {");
        ++indent_;
        return;
      case StatementKind::end: --indent_; return line("}");
      case StatementKind::barrier:
        if (usage_.has(Feature::copies)) line(std::string(dialect_.copies_arrive));
        return line(std::string(dialect_.barriers[static_cast<std::size_t>(s.scope)]));
      case StatementKind::tile_fill:
      case StatementKind::tile_set:
      case StatementKind::tile_get:
      case StatementKind::tile_load:
      case StatementKind::tile_multiply:
      case StatementKind::tile_scale:
      case StatementKind::tile_store: return print_tile(s);
    }
  }

  const Kernel& kernel_;
  const Dialect& dialect_;
  Usage usage_;
  std::unordered_map<NodeId, std::string> names_;
  std::string body_;
  std::size_t indent_ = 1;
  uint32_t values_ = 0, loops_ = 0;
};

}  // namespace

std::string print(const Kernel& prepared, const Dialect& dialect) { return Printer(prepared, dialect).run(); }

std::string entry_name(const Kernel& kernel) { return kernel.entry.empty() ? "wick_" + kernel.name : kernel.entry; }

std::string expand(std::string_view pattern, std::initializer_list<Substitution> values) {
  std::string text;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const Substitution* found = nullptr;
    if (pattern[i] == '$' && i + 1 < pattern.size()) {
      for (const Substitution& value : values) {
        if (value.key == pattern[i + 1]) found = &value;
      }
    }
    if (found == nullptr) {
      text += pattern[i];
    } else {
      text += found->value;
      ++i;
    }
  }
  return text;
}

std::string element_type(const Kernel& kernel, const Usage& usage, const Dialect& dialect, Space space, uint32_t slot) {
  const Element element = kernel.element_of(space, slot);
  const uint8_t width = usage.widths[static_cast<std::size_t>(space)][slot];
  const std::string_view name = dialect.elements[static_cast<std::size_t>(element)];
  if (name.empty()) fail(ErrorCode::unsupported, "kernel {}: {} has no {} in memory", kernel.name, dialect.name, to_string(element));
  if (width == 1) return std::string(name);
  return expand(dialect.vectors[static_cast<std::size_t>(register_type(element))], {{'n', std::to_string(width)}});
}

std::string members(const Kernel& kernel, const Dialect& dialect, std::string_view member) {
  std::string text;
  for (const ParameterArgument& parameter : kernel.parameters) {
    text += expand(member, {{'T', dialect.types[static_cast<std::size_t>(parameter.type)]}, {'n', argument_name(parameter.name)}});
  }
  return text;
}

std::string buffer_arguments(const Kernel& kernel, const Usage& usage, const Dialect& dialect, std::string_view argument,
                             std::string_view separator) {
  std::string text;
  for (uint32_t i = 0; i < kernel.buffers.size(); ++i) {
    const BufferArgument& buffer = kernel.buffers[i];
    if (i > 0) text += separator;
    text += expand(argument, {{'c', buffer.access == Access::read ? "const " : ""},
                              {'E', element_type(kernel, usage, dialect, Space::buffer, i)},
                              {'n', argument_name(buffer.name)},
                              {'i', std::to_string(i)}});
  }
  return text;
}

uint32_t declared_count(const Kernel& kernel, const Usage& usage, uint32_t slot) {
  const uint32_t width = usage.widths[static_cast<std::size_t>(Space::shared)][slot];
  return (kernel.shared[slot].count + width - 1) / width;
}

std::string shared_arrays(const Kernel& kernel, const Usage& usage, const Dialect& dialect, std::string_view declaration) {
  std::string text;
  for (uint32_t i = 0; i < kernel.shared.size(); ++i) {
    text += expand(declaration, {{'E', element_type(kernel, usage, dialect, Space::shared, i)},
                                 {'n', shared_name(i)},
                                 {'c', std::to_string(declared_count(kernel, usage, i))}});
  }
  return text;
}

}  // namespace wick::ir
