// A Pickle is what a pickle stream of Python describes, as plain data. Nothing is imported, called or instantiated: a class or a
// function is its name, and a call is the pair of what would be called and its arguments. Definition: Python's pickletools.
//
// Read are the opcodes that protocols 2 to 5 write; all others are refused by name. Objects that Wick does not know stay calls, and what
// the stream would put into them (state, elements) is dropped. The two classes that are dictionaries, collections.OrderedDict and
// collections.defaultdict, become dictionaries. Memory stays in proportion to the stream: each opcode makes at most one value, and a
// value takes at most 80 bytes and 4 for each element that the stream names.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wick {

enum class PickleKind : uint8_t {
  none,
  boolean,
  integer,
  large_integer,  // beyond 64 bits: `text` has its bytes, little-endian two's complement
  floating,
  text,  // UTF-8, unchecked
  bytes,
  tuple,
  list,
  dict,  // `items`: key, value, key, value, …
  set,
  global,      // class or function `name` of module `text`
  call,        // `items`: what would be called, and the tuple of its arguments; nothing is called
  persistent,  // `items`: the identifier that names data outside of the stream
};

// The place of a value in its Pickle.
using PickleId = uint32_t;

struct PickleValue {
  PickleKind kind = PickleKind::none;
  int64_t integer = 0;  // also of a boolean
  double floating = 0;
  std::string_view text = {};
  std::string_view name = {};
  std::vector<PickleId> items = {};
};

class Pickle {
 public:
  // Reads one pickle from the beginning of `stream`, which the caller keeps alive, up to its STOP; `first_byte` is where it begins in
  // the file `name`, for messages. Errors: corrupt_file; unsupported (an opcode outside of the list; more than kMaxValues values,
  // or more than `most_values`, which a file's size may justify).
  static constexpr size_t kMaxValues = size_t{1} << 22;
  [[nodiscard]] static Pickle parse(std::span<const std::byte> stream, const std::string& name, size_t first_byte = 0,
                                    size_t most_values = kMaxValues);

  [[nodiscard]] PickleId root() const noexcept { return root_; }
  [[nodiscard]] const PickleValue& operator[](PickleId id) const noexcept { return values_[id]; }
  [[nodiscard]] size_t size() const noexcept { return values_.size(); }
  // How many bytes of the stream the pickle took.
  [[nodiscard]] size_t stream_bytes() const noexcept { return stream_bytes_; }
  // A value for messages: "3", "'text'", "collections.Counter(…)".
  [[nodiscard]] std::string describe(PickleId id) const;
  // Whether the value is the class or function of that module.
  [[nodiscard]] bool is_global(PickleId id, std::string_view module, std::string_view name) const noexcept;

 private:
  friend class PickleMachine;

  std::vector<PickleValue> values_;
  PickleId root_ = 0;
  size_t stream_bytes_ = 0;
};

}  // namespace wick
