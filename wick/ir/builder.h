// A KernelBuilder writes a Kernel from C++ expressions, so that a kernel reads like its formula.
//
//   KernelBuilder k("scale", {.group_size = 256});
//   Memory x = k.buffer("x", Element::f32), y = k.output("y", Element::f32);
//   Value n = k.parameter("n", Type::u32), factor = k.parameter("factor", Type::f32);
//   Value i = k.group_id() * 256u + k.local_id();
//   k.when(i < n, [&] { y[i] = x[i] * factor; });
//   Kernel kernel = k.finish();
//
// Numbers among the operands take the type of the Value beside them. A wrong type is Error{dtype_mismatch} where it is written.
// The kernel does not depend on the order in which a compiler evaluates operands: equal expressions are one node, and reads get their place
// at the next effect, in an order that follows from what they read. In one C++ expression, effects and reads are in no order: write two
// lines.
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "wick/ir/kernel.h"

namespace [[gnu::visibility("default")]] wick {
namespace ir {

class KernelBuilder;

// An SSA value of one invocation: a node and its builder.
class Value {
 public:
  Value() = default;
  Value(KernelBuilder* builder, NodeId id) : builder_(builder), id_(id) {}
  [[nodiscard]] KernelBuilder* builder() const noexcept { return builder_; }
  [[nodiscard]] NodeId id() const noexcept { return id_; }
  [[nodiscard]] Type type() const;

 private:
  KernelBuilder* builder_ = nullptr;
  NodeId id_ = kNoNode;
};

// A variable of a lane: converts to its present value; an assignment is a statement.
class Variable {
 public:
  Variable(KernelBuilder* builder, uint32_t slot) : builder_(builder), slot_(slot) {}
  Variable(const Variable&) = default;
  ~Variable() = default;
  operator Value() const;  // NOLINT: a variable is its value
  Variable& operator=(const Value& value);
  Variable& operator=(const Variable& other) { return *this = Value(other); }  // NOLINT: assigns the value, also its own
  [[nodiscard]] uint32_t slot() const noexcept { return slot_; }

 private:
  KernelBuilder* builder_;
  uint32_t slot_;
};

class ElementReference;

// A Value, a Variable, an element, or a number that waits for a type.
class Operand {
 public:
  Operand(const Value& value) : value_(value) {}           // NOLINT
  Operand(const Variable& variable) : value_(variable) {}  // NOLINT
  Operand(const ElementReference& element);                // NOLINT
  template <std::floating_point T>
  Operand(T number) : real_(static_cast<double>(number)), is_real_(true) {}  // NOLINT
  template <std::integral T>
  Operand(T number) : whole_(static_cast<int64_t>(number)) {}  // NOLINT
  [[nodiscard]] bool is_value() const noexcept { return value_.builder() != nullptr; }
  [[nodiscard]] const Value& value() const noexcept { return value_; }
  // The value, or the number as a constant of `type`.
  [[nodiscard]] Value as(KernelBuilder& builder, Type type) const;

 private:
  Value value_;
  double real_ = 0;
  int64_t whole_ = 0;
  bool is_real_ = false;
};

// 2 or 4 elements as they are loaded and stored.
class Vector {
 public:
  explicit Vector(Value value) : value_(value) {}
  Value operator[](uint32_t lane) const;
  [[nodiscard]] const Value& value() const noexcept { return value_; }

 private:
  Value value_;
};

// A buffer or a shared array.
class Memory {
 public:
  Memory(KernelBuilder* builder, Space space, uint32_t slot) : builder_(builder), space_(space), slot_(slot) {}
  ElementReference operator[](const Operand& index) const;
  [[nodiscard]] Value load(const Operand& index) const;
  // The alternative, without touching memory, where the gate is false.
  [[nodiscard]] Value load_if(const Value& gate, const Operand& index, const Operand& alternative) const;
  [[nodiscard]] Vector load2(const Operand& index) const;
  [[nodiscard]] Vector load4(const Operand& index) const;
  [[nodiscard]] Vector load4_if(const Value& gate, const Operand& index, const Operand& alternative) const;
  void store(const Operand& index, const Operand& value) const;
  void store_if(const Value& gate, const Operand& index, const Operand& value) const;
  void store(const Operand& index, std::initializer_list<Value> lanes) const;
  // A vector into shared memory, which no lane reads before the next barrier: Statement::late.
  void store_late(const Operand& index, const Vector& vector) const;
  // Gives what the element held before.
  Value atomic(AtomicOp op, const Operand& index, const Operand& value) const;

  [[nodiscard]] Space space() const noexcept { return space_; }
  [[nodiscard]] uint32_t slot() const noexcept { return slot_; }

 private:
  KernelBuilder* builder_;
  Space space_;
  uint32_t slot_;
};

// memory[index]: converts to the element's value; an assignment is a store.
class ElementReference {
 public:
  ElementReference(Memory memory, const Operand& index) : memory_(memory), index_(index) {}
  ElementReference(const ElementReference&) = default;
  ~ElementReference() = default;
  operator Value() const { return memory_.load(index_); }  // NOLINT: an element is its value
  ElementReference& operator=(const Operand& value) {
    memory_.store(index_, value);
    return *this;
  }
  ElementReference& operator=(const ElementReference& other) { return *this = Operand(other); }  // NOLINT: stores what it holds

 private:
  Memory memory_;
  Operand index_;
};

struct KernelOptions {
  uint32_t group_size = 1;
  uint32_t subgroup_size = 0;
  MathMode math = MathMode::precise;
};

class KernelBuilder {
 public:
  KernelBuilder(std::string name, KernelOptions options);
  KernelBuilder(const KernelBuilder&) = delete;
  KernelBuilder& operator=(const KernelBuilder&) = delete;

  // Arguments. Names are lower-case words joined by single underscores.
  Memory buffer(std::string name, Element element, Access access = Access::read);
  Memory output(std::string name, Element element) { return buffer(std::move(name), element, Access::read_write); }
  // BufferArgument::once
  void reads_once(const Memory& buffer) { kernel_.buffers[buffer.slot()].once = true; }
  Value parameter(std::string name, Type type);
  Memory shared(Element element, uint32_t count);
  Variable variable(const Value& initial);
  Variable variable(float initial) { return variable(constant(initial)); }
  uint32_t tile(TileRole role, Element element, uint32_t rows, uint32_t columns);

  Value constant(float number) { return number_of(Type::f32, number, 0); }
  Value constant(uint32_t number) { return number_of(Type::u32, 0, number); }
  Value constant(int32_t number) { return number_of(Type::i32, 0, number); }
  Value constant_bits(Type type, uint64_t bits);
  // A number as a constant of any type; refused where the type cannot hold it.
  Value number_of(Type type, double real, int64_t whole);
  // The most negative finite f32: what a maximum begins with, and what masks use for minus infinity.
  Value lowest() { return constant(-0x1.fffffep+127F); }

  Value group_id(uint32_t dimension = 0) { return leaf(Op::group_id, dimension); }
  Value group_count(uint32_t dimension = 0) { return leaf(Op::group_count, dimension); }
  Value local_id() { return leaf(Op::local_id, 0); }
  Value subgroup_lane() { return leaf(Op::subgroup_lane, 0); }
  Value subgroup_id() { return leaf(Op::subgroup_id, 0); }

  // for (u32 i = begin; i < end; i += step) body(i)
  void loop(const Operand& begin, const Operand& end, uint32_t step, const std::function<void(Value)>& body, bool unroll = false);
  void when(const Value& condition, const std::function<void()>& body);
  void barrier(BarrierScope scope = BarrierScope::shared);
  void comment(std::string text);

  void tile_fill(uint32_t tile, const Operand& value);
  void tile_set(uint32_t tile, std::initializer_list<Value> words);
  void tile_get(const Variable& target, uint32_t tile, uint32_t element);
  void tile_load(uint32_t tile, Memory memory, const Operand& first, const Operand& row_stride);
  void tile_multiply(uint32_t accumulator, uint32_t left, uint32_t right);
  void tile_scale(uint32_t accumulator, uint32_t factors);
  void tile_store(uint32_t tile, Memory memory, const Operand& first, const Operand& row_stride);

  // The node that is equal to this one; reads are equal only as long as nothing writes to what they read.
  Value intern(Node node);
  // Adds a statement behind the reads that came before it.
  void append(Statement statement);
  // A fresh loop_index or atomic_result.
  Value fresh(Op op, Type type);
  Value unary(Op op, const Value& a);
  Value binary(Op op, const Operand& a, const Operand& b);

  [[nodiscard]] const Kernel& kernel() const noexcept { return kernel_; }
  // The kernel; the builder is empty afterwards.
  [[nodiscard]] Kernel finish();

 private:
  friend class Variable;
  struct NodeHash {
    std::size_t operator()(const Node& node) const noexcept;
  };
  using NodeTable = std::unordered_map<Node, NodeId, NodeHash>;

  Value leaf(Op op, uint32_t slot);
  NodeId add_node(const Node& node);
  uint32_t& epoch_of(const Node& read);
  void begin_block(bool repeats);
  void end_block();
  void place_pending_reads();
  void place_with_operands(NodeId id, std::vector<bool>& visited);

  Kernel kernel_;
  NodeTable pure_;
  std::vector<NodeTable> reads_;     // one table per open block
  std::vector<uint64_t> structure_;  // hash of each node's structure, the same for every compiler
  std::vector<NodeId> pending_;      // reads that have no place yet
  std::vector<bool> is_pending_;
  std::vector<uint32_t> buffer_epochs_, shared_epochs_, variable_epochs_;
  uint32_t loops_ = 0, atomics_ = 0;
};

[[nodiscard]] Value operator+(const Operand& a, const Operand& b);
[[nodiscard]] Value operator-(const Operand& a, const Operand& b);
[[nodiscard]] Value operator*(const Operand& a, const Operand& b);
[[nodiscard]] Value operator/(const Operand& a, const Operand& b);
[[nodiscard]] Value operator%(const Operand& a, const Operand& b);
[[nodiscard]] Value operator&(const Operand& a, const Operand& b);
[[nodiscard]] Value operator|(const Operand& a, const Operand& b);
[[nodiscard]] Value operator^(const Operand& a, const Operand& b);
[[nodiscard]] Value operator<<(const Value& a, const Operand& count);
[[nodiscard]] Value operator>>(const Value& a, const Operand& count);
[[nodiscard]] Value operator<(const Operand& a, const Operand& b);
[[nodiscard]] Value operator<=(const Operand& a, const Operand& b);
[[nodiscard]] Value operator>(const Operand& a, const Operand& b);
[[nodiscard]] Value operator>=(const Operand& a, const Operand& b);
[[nodiscard]] Value operator==(const Operand& a, const Operand& b);
[[nodiscard]] Value operator!=(const Operand& a, const Operand& b);
[[nodiscard]] Value operator-(const Value& a);
[[nodiscard]] Value operator!(const Value& a);
[[nodiscard]] Value operator~(const Value& a);
[[nodiscard]] Value min(const Operand& a, const Operand& b);
[[nodiscard]] Value max(const Operand& a, const Operand& b);
[[nodiscard]] Value fma(const Operand& a, const Operand& b, const Operand& c);
[[nodiscard]] Value select(const Value& condition, const Operand& yes, const Operand& no);
[[nodiscard]] Value dot4(const Value& a, const Value& b, const Operand& sum);
[[nodiscard]] Value fma_halves(const Operand& a, const Operand& b, const Operand& c);
[[nodiscard]] Value cast(Type type, const Operand& a);
[[nodiscard]] Value bitcast(Type type, const Value& a);
[[nodiscard]] Value unpack_half(const Value& bits);
[[nodiscard]] Value pack_halves(const Value& low, const Value& high);
[[nodiscard]] Value abs(const Value& a);
// The device's own functions, as node.h defines them: exp2 and log2 within 4 units in the last place, of a > 0; the sine of |a| <= π within
// 2^-11; the square root of a >= 0. wick/kernels/math.h has C's functions.
[[nodiscard]] Value native_exp2(const Value& a);
[[nodiscard]] Value native_log2(const Value& a);
[[nodiscard]] Value native_sin(const Value& a);
[[nodiscard]] Value native_sqrt(const Value& a);
[[nodiscard]] Value trunc(const Value& a);
[[nodiscard]] Value subgroup_reduce(Reduce reduce, const Value& a);
[[nodiscard]] Value subgroup_shuffle_xor(const Value& a, uint32_t mask);
[[nodiscard]] Value subgroup_broadcast(const Value& a, uint32_t lane);

}  // namespace ir
}  // namespace wick
