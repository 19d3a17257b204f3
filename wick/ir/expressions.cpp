// The operators and functions of Value: each makes one node.
#include "wick/base/fail.h"
#include "wick/ir/builder.h"

namespace wick::ir {
namespace {

KernelBuilder& builder_of(std::initializer_list<const Operand*> operands) {
  for (const Operand* operand : operands) {
    if (operand->is_value()) return *operand->value().builder();
  }
  fail(ErrorCode::invalid_argument, "a kernel's expression of numbers alone: make one of them a constant of the builder");
}

Value binary(Op op, const Operand& a, const Operand& b) { return builder_of({&a, &b}).binary(op, a, b); }

Value converted(Op op, Type type, const Value& a) {
  Node node;
  node.op = op;
  node.type = type;
  node.operands[0] = a.id();
  return a.builder()->intern(node);
}

Value subgroup(Op op, const Value& a, Reduce reduce, uint32_t slot) {
  Node node;
  node.op = op;
  node.type = a.type();
  node.reduce = reduce;
  node.slot = slot;
  node.operands[0] = a.id();
  return a.builder()->intern(node);
}

}  // namespace

Type Value::type() const { return builder_->kernel().node(id_).type; }

Variable::operator Value() const {
  Node node;
  node.op = Op::read;
  node.type = builder_->kernel().variables[slot_];
  node.slot = slot_;
  return builder_->intern(node);
}

Variable& Variable::operator=(const Value& value) {
  Statement statement;
  statement.kind = StatementKind::assign;
  statement.slot = slot_;
  statement.operands[0] = value.id();
  builder_->append(std::move(statement));
  return *this;
}

Operand::Operand(const ElementReference& element) : value_(element) {}

Value Operand::as(KernelBuilder& builder, Type type) const {
  return is_value() ? value_ : builder.number_of(type, is_real_ ? real_ : 0, whole_);
}

Value Vector::operator[](uint32_t lane) const {
  Node node;
  node.op = Op::lane;
  node.type = value_.type();
  node.slot = lane;
  node.operands[0] = value_.id();
  return value_.builder()->intern(node);
}

namespace {

Node load_node(KernelBuilder& builder, Space space, uint32_t slot, const Operand& index, uint8_t lanes) {
  Node node;
  node.op = Op::load;
  node.type = register_type(builder.kernel().element_of(space, slot));
  node.lanes = lanes;
  node.space = space;
  node.slot = slot;
  node.operands[0] = index.as(builder, Type::u32).id();
  return node;
}

Value gated_load(KernelBuilder& builder, Node node, const Value& gate, const Operand& alternative) {
  node.operands[1] = gate.id();
  node.operands[2] = alternative.as(builder, node.type).id();
  return builder.intern(node);
}

}  // namespace

ElementReference Memory::operator[](const Operand& index) const { return {*this, index}; }
Value Memory::load(const Operand& index) const { return builder_->intern(load_node(*builder_, space_, slot_, index, 1)); }
Value Memory::load_if(const Value& gate, const Operand& index, const Operand& alternative) const {
  return gated_load(*builder_, load_node(*builder_, space_, slot_, index, 1), gate, alternative);
}
Vector Memory::load2(const Operand& index) const { return Vector(builder_->intern(load_node(*builder_, space_, slot_, index, 2))); }
Vector Memory::load4(const Operand& index) const { return Vector(builder_->intern(load_node(*builder_, space_, slot_, index, 4))); }
Vector Memory::load4_if(const Value& gate, const Operand& index, const Operand& alternative) const {
  return Vector(gated_load(*builder_, load_node(*builder_, space_, slot_, index, 4), gate, alternative));
}

namespace {

Statement store_statement(KernelBuilder& builder, Space space, uint32_t slot, const Operand& index, const Value& value) {
  Statement statement;
  statement.kind = StatementKind::store;
  statement.space = space;
  statement.slot = slot;
  statement.operands[0] = index.as(builder, Type::u32).id();
  statement.operands[1] = value.id();
  return statement;
}

}  // namespace

void Memory::store(const Operand& index, const Operand& value) const {
  const Type type = register_type(builder_->kernel().element_of(space_, slot_));
  builder_->append(store_statement(*builder_, space_, slot_, index, value.as(*builder_, type)));
}

void Memory::store_if(const Value& gate, const Operand& index, const Operand& value) const {
  const Type type = register_type(builder_->kernel().element_of(space_, slot_));
  Statement statement = store_statement(*builder_, space_, slot_, index, value.as(*builder_, type));
  statement.operands[2] = gate.id();
  builder_->append(std::move(statement));
}

void Memory::store_late(const Operand& index, const Vector& vector) const {
  Statement statement = store_statement(*builder_, space_, slot_, index, vector.value());
  statement.late = true;
  builder_->append(std::move(statement));
}

void Memory::store(const Operand& index, std::initializer_list<Value> lanes) const {
  Node node;
  node.op = Op::vector;
  node.lanes = static_cast<uint8_t>(lanes.size());
  std::size_t i = 0;
  for (const Value& lane : lanes) {
    if (i == node.operands.size()) fail(ErrorCode::invalid_argument, "kernel {}: a vector has 2 or 4 lanes", builder_->kernel().name);
    node.type = lane.type();
    node.operands[i++] = lane.id();
  }
  builder_->append(store_statement(*builder_, space_, slot_, index, builder_->intern(node)));
}

Value Memory::atomic(AtomicOp op, const Operand& index, const Operand& value) const {
  const Type type = register_type(builder_->kernel().element_of(space_, slot_));
  const Value before = builder_->fresh(Op::atomic_result, type);
  Statement statement = store_statement(*builder_, space_, slot_, index, value.as(*builder_, type));
  statement.kind = StatementKind::atomic;
  statement.atomic = op;
  statement.target = before.id();
  builder_->append(std::move(statement));
  return before;
}

Value operator+(const Operand& a, const Operand& b) { return binary(Op::add, a, b); }
Value operator-(const Operand& a, const Operand& b) { return binary(Op::subtract, a, b); }
Value operator*(const Operand& a, const Operand& b) { return binary(Op::multiply, a, b); }
Value operator/(const Operand& a, const Operand& b) { return binary(Op::divide, a, b); }
Value operator%(const Operand& a, const Operand& b) { return binary(Op::remainder, a, b); }
Value operator&(const Operand& a, const Operand& b) { return binary(Op::bit_and, a, b); }
Value operator|(const Operand& a, const Operand& b) { return binary(Op::bit_or, a, b); }
Value operator^(const Operand& a, const Operand& b) { return binary(Op::bit_xor, a, b); }
Value operator<<(const Value& a, const Operand& count) { return binary(Op::shift_left, a, count); }
Value operator>>(const Value& a, const Operand& count) { return binary(Op::shift_right, a, count); }
Value operator<(const Operand& a, const Operand& b) { return binary(Op::less, a, b); }
Value operator<=(const Operand& a, const Operand& b) { return binary(Op::less_equal, a, b); }
Value operator>(const Operand& a, const Operand& b) { return binary(Op::less, b, a); }
Value operator>=(const Operand& a, const Operand& b) { return binary(Op::less_equal, b, a); }
Value operator==(const Operand& a, const Operand& b) { return binary(Op::equal, a, b); }
Value operator!=(const Operand& a, const Operand& b) { return !binary(Op::equal, a, b); }
Value operator-(const Value& a) { return a.builder()->unary(Op::negate, a); }
Value operator!(const Value& a) { return a.builder()->unary(Op::logical_not, a); }
Value operator~(const Value& a) { return a.builder()->unary(Op::logical_not, a); }
Value min(const Operand& a, const Operand& b) { return binary(Op::minimum, a, b); }
Value max(const Operand& a, const Operand& b) { return binary(Op::maximum, a, b); }
Value abs(const Value& a) { return a.builder()->unary(Op::absolute, a); }
Value native_exp2(const Value& a) { return a.builder()->unary(Op::exp2, a); }
Value native_log2(const Value& a) { return a.builder()->unary(Op::log2, a); }
Value native_sin(const Value& a) { return a.builder()->unary(Op::sine, a); }
Value native_sqrt(const Value& a) { return a.builder()->unary(Op::square_root, a); }
Value trunc(const Value& a) { return a.builder()->unary(Op::truncate, a); }

Value fma(const Operand& a, const Operand& b, const Operand& c) {
  KernelBuilder& builder = builder_of({&a, &b, &c});
  Node node;
  node.op = Op::fma;
  node.type = (a.is_value() ? a : b.is_value() ? b : c).value().type();
  node.operands = {a.as(builder, node.type).id(), b.as(builder, node.type).id(), c.as(builder, node.type).id(), kNoNode};
  return builder.intern(node);
}

Value select(const Value& condition, const Operand& yes, const Operand& no) {
  KernelBuilder& builder = builder_of({&yes, &no});
  Node node;
  node.op = Op::select;
  node.type = (yes.is_value() ? yes : no).value().type();
  node.operands = {condition.id(), yes.as(builder, node.type).id(), no.as(builder, node.type).id(), kNoNode};
  return builder.intern(node);
}

Value dot4(const Value& a, const Value& b, const Operand& sum) {
  Node node;
  node.op = Op::dot4;
  node.type = Type::i32;
  node.operands = {a.id(), b.id(), sum.as(*a.builder(), Type::i32).id(), kNoNode};
  return a.builder()->intern(node);
}

Value fma_halves(const Operand& a, const Operand& b, const Operand& c) {
  KernelBuilder& builder = builder_of({&a, &b, &c});
  Node node;
  node.op = Op::fma_halves;
  node.type = Type::u32;
  node.operands = {a.as(builder, Type::u32).id(), b.as(builder, Type::u32).id(), c.as(builder, Type::u32).id(), kNoNode};
  return builder.intern(node);
}

Value cast(Type type, const Operand& a) {
  const Value& from = a.value();
  if (from.type() == type) return from;
  const bool through_f32 = (type == Type::f16 && from.type() != Type::f32) || (from.type() == Type::f16 && type != Type::f32);
  return through_f32 ? converted(Op::cast, type, converted(Op::cast, Type::f32, from)) : converted(Op::cast, type, from);
}

Value bitcast(Type type, const Value& a) { return a.type() == type ? a : converted(Op::bitcast, type, a); }
Value unpack_half(const Value& bits) { return converted(Op::unpack_half, Type::f32, bits); }
Value pack_halves(const Value& low, const Value& high) {
  Node node;
  node.op = Op::pack_halves;
  node.type = Type::u32;
  node.operands = {low.id(), high.id(), kNoNode, kNoNode};
  return low.builder()->intern(node);
}
Value subgroup_reduce(Reduce reduce, const Value& a) { return subgroup(Op::subgroup_reduce, a, reduce, 0); }
Value subgroup_shuffle_xor(const Value& a, uint32_t mask) { return subgroup(Op::subgroup_shuffle_xor, a, Reduce::add, mask); }
Value subgroup_broadcast(const Value& a, uint32_t lane) { return subgroup(Op::subgroup_broadcast, a, Reduce::add, lane); }

}  // namespace wick::ir
