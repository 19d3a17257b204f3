#include "wick/formats/pickle.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

#include "wick/base/fail.h"
#include "wick/formats/printable.h"

namespace wick {
namespace {

constexpr const char* kPickleRemedy = "the file is truncated or corrupt: download it again";
// More levels than any structure has.
constexpr size_t kMaxMarks = 10'000;

// Names of the opcodes that are refused, for messages.
const char* refused_opcode(uint8_t opcode) {
  switch (opcode) {
    case 'I': return "INT";
    case 'L': return "LONG";
    case 'F': return "FLOAT";
    case 'S': return "STRING";
    case 'V': return "UNICODE";
    case 'P': return "PERSID";
    case 'p': return "PUT";
    case 'g': return "GET";
    case 'i': return "INST";
    case 'o': return "OBJ";
    case 'l': return "LIST";
    case 'd': return "DICT";
    case 0x82: return "EXT1";
    case 0x83: return "EXT2";
    case 0x84: return "EXT4";
    case 0x97: return "NEXT_BUFFER";
    case 0x98: return "READONLY_BUFFER";
    default: return nullptr;
  }
}

}  // namespace

class PickleMachine {
 public:
  PickleMachine(std::span<const std::byte> stream, const std::string& name, size_t first_byte, size_t most_values)
      : stream_(stream), name_(name), first_byte_(first_byte), most_values_(std::min(most_values, Pickle::kMaxValues)) {
    add({.kind = PickleKind::none});
    add({.kind = PickleKind::boolean, .integer = 0});
    add({.kind = PickleKind::boolean, .integer = 1});
    add({.kind = PickleKind::tuple});
  }

  Pickle run() {
    while (true) {
      opcode_at_ = position_;
      const auto opcode = static_cast<uint8_t>(take<uint8_t>());
      if (opcode == '.') break;
      if (!push_number(opcode) && !push_text(opcode) && !push_container(opcode) && !fill_container(opcode) && !use_memo(opcode) &&
          !use_stack(opcode)) {
        refuse(opcode);
      }
    }
    pickle_.root_ = pop();
    if (!stack_.empty()) fail_here("STOP with more than one value left");
    pickle_.stream_bytes_ = position_;
    return std::move(pickle_);
  }

 private:
  // Values that are the same wherever they stand.
  static constexpr PickleId kNone = 0;
  static constexpr PickleId kFalse = 1;
  static constexpr PickleId kTrue = 2;
  static constexpr PickleId kEmptyTuple = 3;

  [[noreturn]] void fail_here(const char* what) const {
    fail(ErrorCode::corrupt_file, "{}: pickle at byte {}: {}; {}", name_, first_byte_ + opcode_at_, what, kPickleRemedy);
  }
  [[noreturn]] void refuse(uint8_t opcode) const {
    const char* known = refused_opcode(opcode);
    if (known == nullptr) {
      fail(ErrorCode::corrupt_file, "{}: pickle at byte {}: {:#04x} is no opcode; {}", name_, first_byte_ + opcode_at_, opcode,
           kPickleRemedy);
    }
    fail(ErrorCode::unsupported, "{}: pickle at byte {}: opcode {} is not supported; save it with pickle protocol 2 or later", name_,
         first_byte_ + opcode_at_, known);
  }

  std::span<const std::byte> take_bytes(uint64_t count) {
    if (count > stream_.size() - position_) {
      fail(ErrorCode::corrupt_file, "{}: pickle at byte {}: {} bytes needed, {} left; {}", name_, first_byte_ + opcode_at_, count,
           stream_.size() - position_, kPickleRemedy);
    }
    const auto bytes = stream_.subspan(position_, count);
    position_ += count;
    return bytes;
  }
  template <class T>
  T take() {
    T value;
    std::memcpy(&value, take_bytes(sizeof(T)).data(), sizeof(T));  // little-endian
    return value;
  }
  std::string_view take_text(uint64_t count) {
    const auto bytes = take_bytes(count);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::string_view take_line() {
    const std::string_view rest(reinterpret_cast<const char*>(stream_.data() + position_), stream_.size() - position_);
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) fail_here("a line does not end");
    position_ += end + 1;
    return rest.substr(0, end);
  }

  PickleId add(PickleValue value) {
    check_room(pickle_.values_.size());
    pickle_.values_.push_back(std::move(value));
    return static_cast<PickleId>(pickle_.values_.size() - 1);
  }
  // Values, the stack, the memo and the elements of containers each grow by an opcode of a byte or two.
  void check_room(size_t taken) const {
    if (taken < most_values_) return;
    fail(ErrorCode::unsupported, "{}: pickle at byte {}: more than {} values; save only the tensors", name_, first_byte_ + opcode_at_,
         most_values_);
  }
  bool push(PickleId id) {
    check_room(stack_.size());
    stack_.push_back(id);
    return true;
  }
  bool push(PickleValue value) { return push(add(std::move(value))); }

  // Nothing is popped from below the last mark.
  [[nodiscard]] size_t base() const { return marks_.empty() ? 0 : marks_.back(); }
  PickleId pop() {
    if (stack_.size() <= base()) fail_here("the stack is empty");
    const PickleId id = stack_.back();
    stack_.pop_back();
    return id;
  }
  PickleId top() {
    if (stack_.size() <= base()) fail_here("the stack is empty");
    return stack_.back();
  }
  std::vector<PickleId> pop_to_mark() {
    if (marks_.empty()) fail_here("no mark is on the stack");
    std::vector<PickleId> items(stack_.begin() + static_cast<ptrdiff_t>(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }
  PickleValue& value(PickleId id) { return pickle_.values_[id]; }

  bool push_integer(int64_t integer) { return push({.kind = PickleKind::integer, .integer = integer}); }
  bool push_long(uint64_t count) {
    const std::string_view text = take_text(count);
    if (count > 8) return push({.kind = PickleKind::large_integer, .text = text});
    uint64_t bits = 0;
    std::memcpy(&bits, text.data(), count);
    const bool is_negative = count > 0 && (static_cast<uint8_t>(text.back()) & 0x80) != 0;
    if (is_negative && count < 8) bits |= ~uint64_t{0} << (8 * count);
    return push_integer(std::bit_cast<int64_t>(bits));
  }

  bool push_number(uint8_t opcode) {
    switch (opcode) {
      case 'N': return push(kNone);
      case 0x88: return push(kTrue);
      case 0x89: return push(kFalse);
      case 'K': return push_integer(take<uint8_t>());
      case 'M': return push_integer(take<uint16_t>());
      case 'J': return push_integer(take<int32_t>());
      case 0x8a: return push_long(take<uint8_t>());
      case 0x8b: {
        const auto count = take<int32_t>();
        if (count < 0) fail_here("LONG4 of a negative length");
        return push_long(static_cast<uint64_t>(count));
      }
      case 'G': {  // the only big-endian number
        auto bits = take<uint64_t>();
        bits = __builtin_bswap64(bits);
        return push({.kind = PickleKind::floating, .floating = std::bit_cast<double>(bits)});
      }
      default: return false;
    }
  }

  bool push_text(uint8_t opcode) {
    const auto push_view = [this](PickleKind kind, uint64_t count) { return push({.kind = kind, .text = take_text(count)}); };
    switch (opcode) {
      case 0x8c: return push_view(PickleKind::text, take<uint8_t>());
      case 'X': return push_view(PickleKind::text, take<uint32_t>());
      case 0x8d: return push_view(PickleKind::text, take<uint64_t>());
      // Python 2's strings: text in the files that it wrote.
      case 'U': return push_view(PickleKind::text, take<uint8_t>());
      case 'T': return push_view(PickleKind::text, take<uint32_t>());
      case 'C': return push_view(PickleKind::bytes, take<uint8_t>());
      case 'B': return push_view(PickleKind::bytes, take<uint32_t>());
      case 0x8e:
      case 0x96: return push_view(PickleKind::bytes, take<uint64_t>());
      case 'c': {
        const std::string_view module = take_line();
        return push({.kind = PickleKind::global, .text = module, .name = take_line()});
      }
      case 0x93: {
        const PickleId name = pop();
        const PickleId module = pop();
        if (value(name).kind != PickleKind::text || value(module).kind != PickleKind::text) fail_here("STACK_GLOBAL of no text");
        return push({.kind = PickleKind::global, .text = value(module).text, .name = value(name).text});
      }
      default: return false;
    }
  }

  bool push_tuple(size_t count) {
    std::vector<PickleId> items(count);
    for (size_t index = count; index-- > 0;) items[index] = pop();
    return push({.kind = PickleKind::tuple, .items = std::move(items)});
  }

  bool push_container(uint8_t opcode) {
    switch (opcode) {
      case ')': return push(kEmptyTuple);
      case 't': return push({.kind = PickleKind::tuple, .items = pop_to_mark()});
      case 0x85: return push_tuple(1);
      case 0x86: return push_tuple(2);
      case 0x87: return push_tuple(3);
      case ']': return push({.kind = PickleKind::list});
      case '}': return push({.kind = PickleKind::dict});
      case 0x8f: return push({.kind = PickleKind::set});
      case 0x91: return push({.kind = PickleKind::set, .items = pop_to_mark()});
      default: return false;
    }
  }

  // Appends to a list or set, sets items of a dict. Into an object that is not known, nothing is put.
  void append(PickleId target, PickleKind wanted, std::span<const PickleId> items) {
    PickleValue& container = value(target);
    if (container.kind == PickleKind::call) return;
    if (container.kind != wanted) fail_here("elements for a value that cannot hold them");
    if (wanted == PickleKind::dict && items.size() % 2 != 0) fail_here("a key without a value");
    held_items_ += items.size();
    check_room(held_items_);
    container.items.insert(container.items.end(), items.begin(), items.end());
  }

  bool fill_container(uint8_t opcode) {
    switch (opcode) {
      case 'a': {
        const PickleId item = pop();
        append(top(), PickleKind::list, {&item, 1});
        return true;
      }
      case 's': {
        const PickleId item = pop();
        const PickleId pair[] = {pop(), item};
        append(top(), PickleKind::dict, pair);
        return true;
      }
      case 'e':
      case 'u':
      case 0x90: {
        const std::vector<PickleId> items = pop_to_mark();
        append(top(), opcode == 'e' ? PickleKind::list : opcode == 'u' ? PickleKind::dict : PickleKind::set, items);
        return true;
      }
      case 'R': {
        const PickleId arguments = pop();
        return push_call(pop(), arguments);
      }
      case 0x81: {  // NEWOBJ
        const PickleId arguments = pop();
        const PickleId type = pop();
        return push({.kind = PickleKind::call, .items = {type, arguments}});
      }
      case 0x92: {  // NEWOBJ_EX, with keyword arguments
        pop();
        const PickleId arguments = pop();
        const PickleId type = pop();
        return push({.kind = PickleKind::call, .items = {type, arguments}});
      }
      case 'b':  // BUILD: the state of an object that is not known
        pop();
        static_cast<void>(top());
        return true;
      case 'Q': {
        const PickleId identifier = pop();
        return push({.kind = PickleKind::persistent, .items = {identifier}});
      }
      default: return false;
    }
  }

  // A call stays a call, but for the two classes that are dictionaries.
  bool push_call(PickleId callable, PickleId arguments) {
    if (value(arguments).kind != PickleKind::tuple) fail_here("REDUCE with arguments that are no tuple");
    const bool is_ordered = pickle_.is_global(callable, "collections", "OrderedDict");
    if (!is_ordered && !pickle_.is_global(callable, "collections", "defaultdict")) {
      return push({.kind = PickleKind::call, .items = {callable, arguments}});
    }
    PickleValue dict{.kind = PickleKind::dict};
    if (is_ordered && !value(arguments).items.empty()) {  // Python 2: a list of pairs
      for (const PickleId pair : value(value(arguments).items.front()).items) {
        if (value(pair).items.size() != 2) fail_here("an OrderedDict of elements that are no pairs");
        // The same list may be the argument of many calls.
        held_items_ += 2;
        check_room(held_items_);
        dict.items.insert(dict.items.end(), value(pair).items.begin(), value(pair).items.end());
      }
    }
    return push(std::move(dict));
  }

  void put(uint32_t index) {
    check_room(memo_.size());
    memo_[index] = top();
  }
  bool get(uint32_t index) {
    const auto found = memo_.find(index);
    if (found == memo_.end()) fail_here("a memo that was never written is read");
    return push(found->second);
  }

  bool use_memo(uint8_t opcode) {
    switch (opcode) {
      case 'q': put(take<uint8_t>()); return true;
      case 'r': put(take<uint32_t>()); return true;
      case 0x94: put(static_cast<uint32_t>(memo_.size())); return true;
      case 'h': return get(take<uint8_t>());
      case 'j': return get(take<uint32_t>());
      default: return false;
    }
  }

  bool use_stack(uint8_t opcode) {
    switch (opcode) {
      case '(':
        if (marks_.size() == kMaxMarks) fail_here("more marks than any structure needs");
        marks_.push_back(stack_.size());
        return true;
      case '0': pop(); return true;
      case '1': static_cast<void>(pop_to_mark()); return true;
      case '2': return push(top());
      case 0x80: {
        const auto protocol = take<uint8_t>();
        if (protocol > 5) {
          fail(ErrorCode::unsupported, "{}: pickle at byte {}: protocol {} is unknown; save it with protocol 2", name_,
               first_byte_ + opcode_at_, protocol);
        }
        return true;
      }
      case 0x95:  // FRAME: a promise about the bytes that follow, which are read one by one anyway
        if (take<uint64_t>() > stream_.size() - position_) fail_here("a frame is longer than the file");
        return true;
      default: return false;
    }
  }

  std::span<const std::byte> stream_;
  const std::string& name_;
  size_t first_byte_;
  size_t position_ = 0;
  size_t opcode_at_ = 0;
  Pickle pickle_;
  std::vector<PickleId> stack_;
  std::vector<size_t> marks_;
  std::map<uint32_t, PickleId> memo_;  // a file chooses the numbers, so no table of remainders
  size_t held_items_ = 0;
  size_t most_values_;
};

Pickle Pickle::parse(std::span<const std::byte> stream, const std::string& name, size_t first_byte, size_t most_values) {
  return PickleMachine(stream, name, first_byte, most_values).run();
}

bool Pickle::is_global(PickleId id, std::string_view module, std::string_view name) const noexcept {
  const PickleValue& value = values_[id];
  return value.kind == PickleKind::global && value.text == module && value.name == name;
}

std::string Pickle::describe(PickleId id) const {
  const PickleValue& value = values_[id];
  switch (value.kind) {
    case PickleKind::none: return "None";
    case PickleKind::boolean: return value.integer != 0 ? "True" : "False";
    case PickleKind::integer: return fmt::to_string(value.integer);
    case PickleKind::large_integer: return fmt::format("an integer of {} bytes", value.text.size());
    case PickleKind::floating: return fmt::to_string(value.floating);
    case PickleKind::text: return printable(value.text);
    case PickleKind::bytes: return fmt::format("{} bytes", value.text.size());
    case PickleKind::tuple: return fmt::format("a tuple of {}", value.items.size());
    case PickleKind::list: return fmt::format("a list of {}", value.items.size());
    case PickleKind::dict: return fmt::format("a dict of {}", value.items.size() / 2);
    case PickleKind::set: return fmt::format("a set of {}", value.items.size());
    case PickleKind::global: return printable(fmt::format("{}.{}", value.text.substr(0, 100), value.name.substr(0, 100)));
    case PickleKind::call: {
      const PickleValue& callable = values_[value.items.front()];
      return callable.kind == PickleKind::global ? describe(value.items.front()) + "(…)" : "an object";
    }
    case PickleKind::persistent: return "data outside of the pickle";
  }
  return "";
}

}  // namespace wick
