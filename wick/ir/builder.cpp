#include "wick/ir/builder.h"

#include <algorithm>
#include <cmath>

#include "wick/base/fail.h"
#include "wick/base/hash.h"
#include "wick/ir/arithmetic.h"
#include "wick/ir/node_types.h"

namespace wick::ir {
namespace {

uint64_t mix(uint64_t hash, uint64_t value) noexcept { return split_mix(hash + kSplitMixStep + value); }

uint64_t hash_without_operands(const Node& node) noexcept {
  uint64_t hash = mix(static_cast<uint64_t>(node.op), static_cast<uint64_t>(node.type));
  hash = mix(hash, node.lanes);
  hash = mix(hash, static_cast<uint64_t>(node.space));
  hash = mix(hash, static_cast<uint64_t>(node.reduce));
  hash = mix(hash, node.slot);
  hash = mix(hash, node.epoch);
  return mix(hash, node.bits);
}

Statement statement_of(StatementKind kind) {
  Statement statement;
  statement.kind = kind;
  return statement;
}

}  // namespace

std::size_t KernelBuilder::NodeHash::operator()(const Node& node) const noexcept {
  uint64_t hash = hash_without_operands(node);
  for (const NodeId operand : node.operands) hash = mix(hash, operand);
  return static_cast<std::size_t>(hash);
}

KernelBuilder::KernelBuilder(std::string name, KernelOptions options) {
  kernel_.name = std::move(name);
  kernel_.group_size = options.group_size;
  kernel_.subgroup_size = options.subgroup_size;
  kernel_.math = options.math;
  check_name(kernel_, "its name", kernel_.name);
  reads_.emplace_back();
}

Memory KernelBuilder::buffer(std::string name, Element element, Access access) {
  check_name(kernel_, "buffer", name);
  kernel_.buffers.push_back({std::move(name), element, access});
  buffer_epochs_.push_back(0);
  return {this, Space::buffer, static_cast<uint32_t>(kernel_.buffers.size() - 1)};
}

Value KernelBuilder::parameter(std::string name, Type type) {
  check_name(kernel_, "parameter", name);
  kernel_.parameters.push_back({std::move(name), type});
  Node node;
  node.op = Op::parameter;
  node.type = type;
  node.slot = static_cast<uint32_t>(kernel_.parameters.size() - 1);
  return intern(node);
}

Memory KernelBuilder::shared(Element element, uint32_t count) {
  kernel_.shared.push_back({element, count});
  shared_epochs_.push_back(0);
  return {this, Space::shared, static_cast<uint32_t>(kernel_.shared.size() - 1)};
}

Variable KernelBuilder::variable(const Value& initial) {
  kernel_.variables.push_back(initial.type());
  variable_epochs_.push_back(0);
  Statement statement = statement_of(StatementKind::variable);
  statement.slot = static_cast<uint32_t>(kernel_.variables.size() - 1);
  statement.operands[0] = initial.id();
  const uint32_t slot = statement.slot;
  append(std::move(statement));
  return {this, slot};
}

uint32_t KernelBuilder::tile(TileRole role, Element element, uint32_t rows, uint32_t columns) {
  kernel_.tiles.push_back({role, element, rows, columns});
  return static_cast<uint32_t>(kernel_.tiles.size() - 1);
}

Value KernelBuilder::constant_bits(Type type, uint64_t bits) {
  Node node;
  node.op = Op::constant;
  node.type = type;
  node.bits = bits;
  return intern(node);
}

Value KernelBuilder::number_of(Type type, double real, int64_t whole) {
  if (is_float(type)) return constant_bits(type, bits_of_real(type, real + static_cast<double>(whole)));
  const Bits bits = bits_of_whole(type, whole);
  if (real != 0 || whole_of(type, bits) != whole) {
    fail(ErrorCode::dtype_mismatch, "kernel {}: {} is no {}", kernel_.name, real + static_cast<double>(whole), to_string(type));
  }
  return constant_bits(type, bits);
}

Value KernelBuilder::leaf(Op op, uint32_t slot) {
  Node node;
  node.op = op;
  node.type = Type::u32;
  node.slot = slot;
  return intern(node);
}

Value KernelBuilder::fresh(Op op, Type type) {
  Node node;
  node.op = op;
  node.type = type;
  node.slot = op == Op::loop_index ? loops_++ : atomics_++;
  return intern(node);
}

uint32_t& KernelBuilder::epoch_of(const Node& read) {
  if (read.op == Op::read) return variable_epochs_[read.slot];
  return read.space == Space::buffer ? buffer_epochs_[read.slot] : shared_epochs_[read.slot];
}

Value KernelBuilder::intern(Node node) {
  if (!is_read(node.op)) {
    if (const auto found = pure_.find(node); found != pure_.end()) return {this, found->second};
    const NodeId id = add_node(node);
    pure_.emplace(node, id);
    return {this, id};
  }
  check_node(kernel_, node);
  if (!is_subgroup(node.op)) node.epoch = epoch_of(node);
  for (const NodeTable& table : reads_) {
    if (const auto found = table.find(node); found != table.end()) return {this, found->second};
  }
  const NodeId id = add_node(node);
  reads_.back().emplace(node, id);
  pending_.push_back(id);
  is_pending_[id] = true;
  return {this, id};
}

NodeId KernelBuilder::add_node(const Node& node) {
  check_node(kernel_, node);
  uint64_t hash = hash_without_operands(node);
  for (int i = 0; i < node.operand_count(); ++i) hash = mix(hash, structure_[node.operands[static_cast<std::size_t>(i)]]);
  kernel_.nodes.push_back(node);
  structure_.push_back(hash);
  is_pending_.push_back(false);
  return static_cast<NodeId>(kernel_.nodes.size() - 1);
}

// Reads since the last effect commute, so their order is free: it follows from their structure, not from the order in which a compiler
// evaluated the operands. A read whose index is a read comes behind it.
void KernelBuilder::place_pending_reads() {
  if (pending_.empty()) return;
  std::sort(pending_.begin(), pending_.end(), [&](NodeId a, NodeId b) { return structure_[a] < structure_[b]; });
  std::vector<bool> visited(kernel_.nodes.size());
  for (const NodeId id : pending_) place_with_operands(id, visited);
  pending_.clear();
}

void KernelBuilder::place_with_operands(NodeId id, std::vector<bool>& visited) {
  if (visited[id]) return;
  visited[id] = true;
  const Node node = kernel_.node(id);
  for (int i = 0; i < node.operand_count(); ++i) place_with_operands(node.operands[static_cast<std::size_t>(i)], visited);
  if (!is_pending_[id]) return;
  is_pending_[id] = false;
  Statement let = statement_of(StatementKind::let);
  let.target = id;
  kernel_.body.push_back(std::move(let));
}

void KernelBuilder::append(Statement statement) {
  place_pending_reads();
  check_statement(kernel_, statement);
  switch (statement.kind) {
    case StatementKind::variable:
    case StatementKind::assign: ++variable_epochs_[statement.slot]; break;
    case StatementKind::tile_get: ++variable_epochs_[statement.source]; break;
    case StatementKind::store:
    case StatementKind::atomic: ++(statement.space == Space::buffer ? buffer_epochs_ : shared_epochs_)[statement.slot]; break;
    case StatementKind::tile_store: ++(statement.space == Space::buffer ? buffer_epochs_ : shared_epochs_)[statement.source]; break;
    case StatementKind::barrier:
      for (uint32_t& epoch : shared_epochs_) ++epoch;
      if (statement.scope == BarrierScope::shared_and_buffers) {
        for (uint32_t& epoch : buffer_epochs_) ++epoch;
      }
      break;
    case StatementKind::comment:
    case StatementKind::let:
    case StatementKind::loop:
    case StatementKind::when:
    case StatementKind::end:
    case StatementKind::tile_fill:
    case StatementKind::tile_set:
    case StatementKind::tile_load:
    case StatementKind::tile_multiply:
    case StatementKind::tile_scale: break;
  }
  kernel_.body.push_back(std::move(statement));
}

void KernelBuilder::begin_block(bool repeats) {
  reads_.emplace_back();
  if (!repeats) return;
  // What the body writes, an earlier round of it has written.
  for (std::size_t i = 0; i < buffer_epochs_.size(); ++i) {
    if (kernel_.buffers[i].access != Access::read) ++buffer_epochs_[i];
  }
  for (uint32_t& epoch : shared_epochs_) ++epoch;
  for (uint32_t& epoch : variable_epochs_) ++epoch;
}

void KernelBuilder::end_block() {
  append(statement_of(StatementKind::end));
  reads_.pop_back();
}

void KernelBuilder::loop(const Operand& begin, const Operand& end, uint32_t step, const std::function<void(Value)>& body, bool unroll) {
  Statement statement = statement_of(StatementKind::loop);
  statement.operands[0] = begin.as(*this, Type::u32).id();
  statement.operands[1] = end.as(*this, Type::u32).id();
  statement.step = step;
  statement.unroll = unroll;
  const Value index = fresh(Op::loop_index, Type::u32);
  statement.target = index.id();
  append(std::move(statement));
  begin_block(true);
  body(index);
  end_block();
}

void KernelBuilder::when(const Value& condition, const std::function<void()>& body) {
  Statement statement = statement_of(StatementKind::when);
  statement.operands[0] = condition.id();
  append(std::move(statement));
  begin_block(false);
  body();
  end_block();
}

void KernelBuilder::barrier(BarrierScope scope) {
  Statement statement = statement_of(StatementKind::barrier);
  statement.scope = scope;
  append(std::move(statement));
}

void KernelBuilder::comment(std::string text) {
  Statement statement = statement_of(StatementKind::comment);
  statement.text = std::move(text);
  append(std::move(statement));
}

void KernelBuilder::tile_fill(uint32_t tile, const Operand& value) {
  Statement statement = statement_of(StatementKind::tile_fill);
  statement.slot = tile;
  statement.operands[0] = value.as(*this, Type::f32).id();
  append(std::move(statement));
}

void KernelBuilder::tile_set(uint32_t tile, std::initializer_list<Value> words) {
  WICK_ASSERT(words.size() > 0);
  Node vector;
  vector.op = Op::vector;
  vector.type = words.begin()->type();
  vector.lanes = static_cast<uint8_t>(words.size());
  std::transform(words.begin(), words.end(), vector.operands.begin(), [](const Value& word) { return word.id(); });
  Statement statement = statement_of(StatementKind::tile_set);
  statement.slot = tile;
  statement.operands[0] = intern(vector).id();
  append(std::move(statement));
}

void KernelBuilder::tile_get(const Variable& target, uint32_t tile, uint32_t element) {
  Statement statement = statement_of(StatementKind::tile_get);
  statement.slot = tile;
  statement.source = target.slot();
  statement.left = element;
  append(std::move(statement));
}

void KernelBuilder::tile_load(uint32_t tile, Memory memory, const Operand& first, const Operand& row_stride) {
  Statement statement = statement_of(StatementKind::tile_load);
  statement.slot = tile;
  statement.space = memory.space();
  statement.source = memory.slot();
  statement.operands = {first.as(*this, Type::u32).id(), row_stride.as(*this, Type::u32).id(), kNoNode};
  append(std::move(statement));
}

void KernelBuilder::tile_multiply(uint32_t accumulator, uint32_t left, uint32_t right) {
  Statement statement = statement_of(StatementKind::tile_multiply);
  statement.slot = accumulator;
  statement.left = left;
  statement.right = right;
  append(std::move(statement));
}

void KernelBuilder::tile_scale(uint32_t accumulator, uint32_t factors) {
  Statement statement = statement_of(StatementKind::tile_scale);
  statement.slot = accumulator;
  statement.left = factors;
  append(std::move(statement));
}

void KernelBuilder::tile_store(uint32_t tile, Memory memory, const Operand& first, const Operand& row_stride) {
  Statement statement = statement_of(StatementKind::tile_store);
  statement.slot = tile;
  statement.space = memory.space();
  statement.source = memory.slot();
  statement.operands = {first.as(*this, Type::u32).id(), row_stride.as(*this, Type::u32).id(), kNoNode};
  append(std::move(statement));
}

Value KernelBuilder::unary(Op op, const Value& a) {
  Node node;
  node.op = op;
  node.type = a.type();
  node.operands[0] = a.id();
  return intern(node);
}

Value KernelBuilder::binary(Op op, const Operand& a, const Operand& b) {
  const Type type = a.is_value() ? a.value().type() : b.value().type();
  Node node;
  node.op = op;
  node.type = is_comparison(op) ? Type::b1 : type;
  node.operands[0] = a.as(*this, type).id();
  node.operands[1] = b.as(*this, op == Op::shift_left || op == Op::shift_right ? Type::u32 : type).id();
  return intern(node);
}

Kernel KernelBuilder::finish() {
  place_pending_reads();
  WICK_ASSERT(reads_.size() == 1);
  return std::move(kernel_);
}

}  // namespace wick::ir
