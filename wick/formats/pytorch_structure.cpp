#include "wick/formats/pytorch_structure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "wick/base/fail.h"
#include "wick/formats/printable.h"

namespace wick {
namespace {

constexpr const char* kSaveAgain = "the file is corrupt: save it again";
constexpr size_t kMaxFrames = 256;
constexpr size_t kMaxName = 4096;
constexpr size_t kMaxFound = size_t{1} << 20;
constexpr size_t kMaxBytesOfNames = size_t{1} << 28;
// Values looked at, one that is reached on several ways each time: a few hundred bytes of pickle can describe 2^100 ways.
constexpr size_t kMaxSteps = size_t{1} << 24;

struct StorageClass {
  std::string_view name;
  std::optional<DType> dtype;
  int64_t element_bytes;
  std::string_view elements;  // PyTorch's name for them
};

constexpr std::array kStorageClasses = {
    StorageClass{"FloatStorage", DType::f32, 4, "float32"},
    StorageClass{"DoubleStorage", DType::f64, 8, "float64"},
    StorageClass{"HalfStorage", DType::f16, 2, "float16"},
    StorageClass{"BFloat16Storage", DType::bf16, 2, "bfloat16"},
    StorageClass{"ByteStorage", DType::u8, 1, "uint8"},
    StorageClass{"BoolStorage", DType::u8, 1, "bool"},
    StorageClass{"ShortStorage", DType::i16, 2, "int16"},
    StorageClass{"IntStorage", DType::i32, 4, "int32"},
    StorageClass{"LongStorage", DType::i64, 8, "int64"},
    StorageClass{"CharStorage", DType::i8, 1, "int8"},
    StorageClass{"ComplexFloatStorage", std::nullopt, 8, "complex64"},
    StorageClass{"ComplexDoubleStorage", std::nullopt, 16, "complex128"},
    StorageClass{"QInt8Storage", std::nullopt, 1, "qint8"},
    StorageClass{"QUInt8Storage", std::nullopt, 1, "quint8"},
    StorageClass{"QInt32Storage", std::nullopt, 4, "qint32"},
    StorageClass{"QUInt4x2Storage", std::nullopt, 1, "quint4x2"},
    StorageClass{"QUInt2x4Storage", std::nullopt, 1, "quint2x4"},
    StorageClass{"UntypedStorage", std::nullopt, 1, "bytes"},
};

struct TorchDType {
  std::string_view name;
  std::optional<DType> dtype;
};

constexpr std::array kTorchDTypes = {
    TorchDType{"float32", DType::f32},
    TorchDType{"float64", DType::f64},
    TorchDType{"float16", DType::f16},
    TorchDType{"bfloat16", DType::bf16},
    TorchDType{"uint8", DType::u8},
    TorchDType{"bool", DType::u8},
    TorchDType{"int16", DType::i16},
    TorchDType{"int32", DType::i32},
    TorchDType{"int64", DType::i64},
    TorchDType{"uint32", DType::u32},
    TorchDType{"float8_e4m3fn", DType::f8e4m3},
    TorchDType{"int8", DType::i8},
    TorchDType{"uint16", std::nullopt},
    TorchDType{"uint64", std::nullopt},
    TorchDType{"float8_e5m2", std::nullopt},
    TorchDType{"float8_e4m3fnuz", std::nullopt},
    TorchDType{"float8_e5m2fnuz", std::nullopt},
    TorchDType{"float8_e8m0fnu", std::nullopt},
    TorchDType{"float4_e2m1fn_x2", std::nullopt},
    TorchDType{"complex32", std::nullopt},
    TorchDType{"complex64", std::nullopt},
    TorchDType{"complex128", std::nullopt},
};

const TorchDType* find_dtype(std::string_view name) {
  const auto found = std::find_if(kTorchDTypes.begin(), kTorchDTypes.end(), [&](const TorchDType& known) { return known.name == name; });
  return found == kTorchDTypes.end() ? nullptr : &*found;
}

// Why a tensor is left out, as a value.
struct Refused {
  std::string reason;
};

class TensorReader {
 public:
  TensorReader(const Pickle& pickle, const std::string& file) : pickle_(pickle), file_(file) {}

  // Whether a call makes a tensor, be it one that Wick cannot read.
  [[nodiscard]] bool makes_tensor(const PickleValue& call) const {
    const PickleValue& callable = pickle_[call.items.front()];
    if (callable.kind != PickleKind::global) return false;
    if (callable.text == "torch._utils") return callable.name.starts_with("_rebuild_");
    return (callable.text == "torch._tensor" && callable.name.starts_with("_rebuild_")) ||
           (callable.text == "torch.storage" && callable.name == "_load_from_bytes");
  }

  // Errors: corrupt_file. Throws Refused for a tensor that is well-formed, but nothing that Wick can hold.
  PytorchStructure::Tensor read(PickleId id, const std::string& name) {
    name_ = &name;
    // A parameter holds a tensor, a tensor of a subclass says how its tensor is made: a few levels at most.
    for (int level = 0; level < 8; ++level) {
      PickleId function = pickle_[id].items.front();
      const std::vector<PickleId>* arguments = &arguments_of(id);
      if (pickle_.is_global(function, "torch._utils", "_rebuild_parameter") ||
          pickle_.is_global(function, "torch._utils", "_rebuild_parameter_with_state")) {
        id = call_at(*arguments, 0);
        continue;
      }
      if (pickle_.is_global(function, "torch._tensor", "_rebuild_from_type_v2")) {
        if (arguments->size() < 3) fail_tensor("a subclass of tensors without its arguments");
        function = (*arguments)[0];
        const PickleValue& inner = pickle_[(*arguments)[2]];
        if (inner.kind != PickleKind::tuple) fail_tensor("a subclass of tensors without its arguments");
        arguments = &inner.items;
      }
      return rebuild(function, *arguments);
    }
    fail_tensor("parameters within parameters");
  }

  PytorchStorageRef storage(PickleId id) const {
    const PickleValue& persistent = pickle_[id];
    if (persistent.kind != PickleKind::persistent) fail_tensor("its storage is no reference to one");
    const PickleValue& identifier = pickle_[persistent.items.front()];
    const std::vector<PickleId>& fields = identifier.items;
    const bool is_storage = identifier.kind == PickleKind::tuple && fields.size() >= 5 && pickle_[fields[0]].kind == PickleKind::text &&
                            pickle_[fields[0]].text == "storage" && pickle_[fields[1]].kind == PickleKind::global &&
                            pickle_[fields[2]].kind == PickleKind::text && pickle_[fields[4]].kind == PickleKind::integer;
    if (!is_storage) fail_tensor("its storage is no reference to one");
    PytorchStorageRef ref;
    ref.key = pickle_[fields[2]].text;
    ref.class_name = pickle_[fields[1]].name;
    ref.elements = pickle_[fields[4]].integer;
    const auto known = std::find_if(kStorageClasses.begin(), kStorageClasses.end(),
                                    [&](const StorageClass& candidate) { return candidate.name == ref.class_name; });
    if (known == kStorageClasses.end() || !pickle_[fields[1]].text.starts_with("torch")) {
      fail(ErrorCode::unsupported, "{}: storage {}: class {} is not known; save the tensors with a newer dtype", file_, printable(ref.key),
           pickle_.describe(fields[1]));
    }
    ref.dtype = known->dtype;
    ref.element_bytes = known->element_bytes;
    if (ref.elements < 0) fail_tensor("its storage has less than no elements");
    ref.view_elements = ref.elements;
    if (fields.size() > 5 && pickle_[fields[5]].kind == PickleKind::tuple) apply_view(pickle_[fields[5]], ref);
    return ref;
  }

 private:
  [[noreturn]] void fail_tensor(const char* what) const {
    fail(ErrorCode::corrupt_file, "{}: tensor {}: {}; {}", file_, name_ == nullptr ? "" : printable(*name_), what, kSaveAgain);
  }
  const std::vector<PickleId>& arguments_of(PickleId call) const {
    const PickleValue& arguments = pickle_[pickle_[call].items[1]];
    if (arguments.kind != PickleKind::tuple) fail_tensor("its arguments are no tuple");
    return arguments.items;
  }
  PickleId call_at(const std::vector<PickleId>& arguments, size_t index) const {
    if (index >= arguments.size() || pickle_[arguments[index]].kind != PickleKind::call) fail_tensor("a parameter without a tensor");
    return arguments[index];
  }

  // (key of the view, first element, elements)
  void apply_view(const PickleValue& view, PytorchStorageRef& ref) const {
    const bool is_view =
        view.items.size() == 3 && pickle_[view.items[1]].kind == PickleKind::integer && pickle_[view.items[2]].kind == PickleKind::integer;
    if (!is_view) fail_tensor("the view of its storage is no view");
    ref.view_begin = pickle_[view.items[1]].integer;
    ref.view_elements = pickle_[view.items[2]].integer;
    if (ref.view_begin < 0 || ref.view_elements < 0 || ref.view_begin > ref.elements || ref.view_elements > ref.elements - ref.view_begin) {
      fail_tensor("the view of its storage does not lie within the storage");
    }
  }

  // A tuple, list or torch.Size of numbers.
  std::vector<int64_t> numbers(PickleId id, const char* what) const {
    const PickleValue* value = &pickle_[id];
    if (value->kind == PickleKind::call && pickle_.is_global(value->items.front(), "torch", "Size")) {
      const std::vector<PickleId>& arguments = arguments_of(id);
      if (arguments.size() != 1) fail_tensor(what);
      value = &pickle_[arguments.front()];
    }
    if (value->kind != PickleKind::tuple && value->kind != PickleKind::list) fail_tensor(what);
    std::vector<int64_t> list;
    for (const PickleId item : value->items) {
      if (pickle_[item].kind != PickleKind::integer || pickle_[item].integer < 0) fail_tensor(what);
      list.push_back(pickle_[item].integer);
    }
    return list;
  }

  // A tensor that is the conjugate or the negative of its storage says so in a dictionary.
  void check_metadata(PickleId id) const {
    const PickleValue& metadata = pickle_[id];
    if (metadata.kind != PickleKind::dict) return;
    for (size_t index = 0; index + 1 < metadata.items.size(); index += 2) {
      const PickleValue& key = pickle_[metadata.items[index]];
      if (key.kind == PickleKind::text && (key.text == "conj" || key.text == "neg") && pickle_[metadata.items[index + 1]].integer != 0) {
        throw Refused{"a lazily negated or conjugated tensor"};
      }
    }
  }

  // (storage, offset, size, strides[, requires_grad, hooks[, metadata]]); version 3 has a dtype before the metadata.
  PytorchStructure::Tensor rebuild(PickleId function, const std::vector<PickleId>& arguments) const {
    const bool is_version3 = pickle_.is_global(function, "torch._utils", "_rebuild_tensor_v3");
    if (!is_version3 && !pickle_.is_global(function, "torch._utils", "_rebuild_tensor_v2") &&
        !pickle_.is_global(function, "torch._utils", "_rebuild_tensor")) {
      throw Refused{fmt::format("it is made by {}", pickle_.describe(function))};
    }
    if (arguments.size() < (is_version3 ? 7 : 4)) fail_tensor("an argument of it is missing");
    PytorchStructure::Tensor tensor;
    tensor.name = *name_;
    tensor.storage = storage(arguments[0]);
    const std::vector<int64_t> dims = numbers(arguments[2], "its size is no tuple of numbers");
    const std::vector<int64_t> strides = numbers(arguments[3], "its strides are no tuple of numbers");
    if (pickle_[arguments[1]].kind != PickleKind::integer || pickle_[arguments[1]].integer < 0) fail_tensor("its offset is no number");
    if (dims.size() != strides.size()) fail_tensor("it has not as many strides as dimensions");
    if (dims.size() > static_cast<size_t>(kMaxRank)) throw Refused{fmt::format("rank {}, {} is the limit", dims.size(), kMaxRank)};
    if (is_version3) {
      set_dtype(arguments[6], tensor);
    } else {
      if (!tensor.storage.dtype) throw Refused{fmt::format("dtype {}", elements_of(tensor.storage.class_name))};
      tensor.dtype = *tensor.storage.dtype;
    }
    if (const size_t metadata = is_version3 ? 7 : 6; arguments.size() > metadata) check_metadata(arguments[metadata]);
    tensor.layout = layout(dims, strides, pickle_[arguments[1]].integer, tensor.storage);
    return tensor;
  }

  static std::string_view elements_of(std::string_view storage_class) {
    for (const StorageClass& known : kStorageClasses) {
      if (known.name == storage_class) return known.elements;
    }
    return storage_class;
  }

  // The storage of version 3 counts bytes; the dtype is an argument.
  void set_dtype(PickleId id, PytorchStructure::Tensor& tensor) const {
    const PickleValue& global = pickle_[id];
    const TorchDType* known = global.kind == PickleKind::global && global.text == "torch" ? find_dtype(global.name) : nullptr;
    if (known == nullptr || !known->dtype) throw Refused{fmt::format("dtype {}", pickle_.describe(id))};
    tensor.dtype = *known->dtype;
    PytorchStorageRef& storage = tensor.storage;
    const int64_t bytes = info(tensor.dtype).block_bytes;
    if (storage.element_bytes != 1 && storage.element_bytes != bytes) fail_tensor("its storage is of another dtype");
    if (storage.element_bytes == bytes) return;
    if (storage.view_begin % bytes != 0) fail_tensor("the view of its storage begins within an element");
    storage.element_bytes = bytes;
    storage.elements /= bytes;
    storage.view_begin /= bytes;
    storage.view_elements /= bytes;
  }

  // Checked against the elements of the storage.
  Layout layout(const std::vector<int64_t>& dims, const std::vector<int64_t>& strides, int64_t offset,
                const PytorchStorageRef& storage) const {
    int64_t elements = 1;
    int64_t last = offset;
    bool fits = true;
    for (size_t dim = 0; dim < dims.size(); ++dim) {
      int64_t reach = 0;
      fits = fits && !__builtin_mul_overflow(elements, std::max<int64_t>(dims[dim], 1), &elements) &&
             !__builtin_mul_overflow(std::max<int64_t>(dims[dim], 1) - 1, strides[dim], &reach) &&
             !__builtin_add_overflow(last, reach, &last);
    }
    // The bytes of a tensor that repeats its storage, too, must have a number.
    if (!fits || elements > (int64_t{1} << 59)) fail_tensor("its size or its strides exceed 2^59");
    const Shape shape(dims);
    if (shape.elements() == 0) return Layout(shape);
    if (last >= storage.view_elements) {
      fail(ErrorCode::corrupt_file, "{}: tensor {}: its last element is number {}, but its storage {} has {}; {}", file_, printable(*name_),
           last, printable(storage.key), storage.view_elements, kSaveAgain);
    }
    return {shape, strides, storage.view_begin + offset};
  }

  const Pickle& pickle_;
  const std::string& file_;
  const std::string* name_ = nullptr;
};

class Walker {
 public:
  Walker(const Pickle& pickle, const std::string& file) : pickle_(pickle), file_(file), reader_(pickle, file) {}

  PytorchStructure walk() {
    const PickleValue& root = pickle_[pickle_.root()];
    const bool is_container = root.kind == PickleKind::dict || root.kind == PickleKind::list || root.kind == PickleKind::tuple;
    if (!is_container && !(root.kind == PickleKind::call && reader_.makes_tensor(root))) {
      fail(ErrorCode::unsupported, "{}: it holds {}, not tensors by name, and nothing of it is run; save the state_dict() of a module",
           file_, pickle_.describe(pickle_.root()));
    }
    visit(pickle_.root());
    while (!frames_.empty()) step();
    return std::move(structure_);
  }

 private:
  // A container that is being walked: its next element, and the path to it.
  struct Frame {
    PickleId id;
    size_t next;
    size_t path_bytes;
  };

  [[noreturn]] void fail_limit(const char* what) const {
    fail(ErrorCode::unsupported, "{}: below {}: {}; save only the state_dict", file_, printable(path_), what);
  }

  void count_steps(size_t steps) {
    steps_ += steps;
    if (steps_ > kMaxSteps) fail_limit("more values than any checkpoint has");
  }

  void step() {
    Frame& frame = frames_.back();
    const PickleValue& container = pickle_[frame.id];
    path_.resize(frame.path_bytes);
    const bool is_dict = container.kind == PickleKind::dict;
    if (frame.next >= container.items.size()) {
      frames_.pop_back();
      return;
    }
    const PickleId item = container.items[frame.next + (is_dict ? 1 : 0)];
    if (may_hold_tensors(item)) {
      if (!path_.empty()) path_ += '.';
      path_ += is_dict ? key_text(container.items[frame.next]) : std::to_string(frame.next);
      if (path_.size() > kMaxName) fail_limit("names beyond 4096 bytes");
    }
    count_steps(1 + (path_.size() - frame.path_bytes) / 64);
    frame.next += is_dict ? 2 : 1;
    visit(item);  // may move frames_
  }

  [[nodiscard]] bool may_hold_tensors(PickleId id) const {
    switch (pickle_[id].kind) {
      case PickleKind::dict:
      case PickleKind::list:
      case PickleKind::tuple:
      case PickleKind::call:
      case PickleKind::global:
      case PickleKind::persistent: return true;
      case PickleKind::none:
      case PickleKind::boolean:
      case PickleKind::integer:
      case PickleKind::large_integer:
      case PickleKind::floating:
      case PickleKind::text:
      case PickleKind::bytes:
      case PickleKind::set: return false;
    }
    return false;
  }

  std::string key_text(PickleId key) const {
    const PickleValue& value = pickle_[key];
    return value.kind == PickleKind::text ? std::string(value.text.substr(0, kMaxName + 1)) : pickle_.describe(key);
  }

  void visit(PickleId id) {
    if (!may_hold_tensors(id)) return;
    const PickleValue& value = pickle_[id];
    switch (value.kind) {
      case PickleKind::call:
        if (reader_.makes_tensor(value)) return add_tensor(id);
        if (!pickle_.is_global(value.items.front(), "torch", "Size") && !pickle_.is_global(value.items.front(), "torch", "device")) {
          leave_out(structure_.opaque, pickle_.describe(id));
        }
        return;
      case PickleKind::global:
        if (value.text != "torch" || find_dtype(value.name) == nullptr) leave_out(structure_.opaque, pickle_.describe(id));
        return;
      case PickleKind::persistent: leave_out(structure_.opaque, "a storage without a tensor"); return;
      default: break;
    }
    if (std::any_of(frames_.begin(), frames_.end(), [&](const Frame& frame) { return frame.id == id; })) {
      return leave_out(structure_.opaque, "a container that it lies in");
    }
    if (frames_.size() == kMaxFrames) fail_limit("nested more than 256 deep");
    count_steps(1 + frames_.size() / 8);
    frames_.push_back({.id = id, .next = 0, .path_bytes = path_.size()});
  }

  void count_found() {
    name_bytes_ += path_.size();
    if (++found_ > kMaxFound || name_bytes_ > kMaxBytesOfNames) fail_limit("more tensors than any checkpoint has");
  }

  void leave_out(std::vector<LeftOut>& list, std::string what) {
    count_found();
    list.push_back({.name = path_, .what = std::move(what)});
  }

  void add_tensor(PickleId id) {
    try {
      PytorchStructure::Tensor tensor = reader_.read(id, path_);
      count_found();
      structure_.tensors.push_back(std::move(tensor));
    } catch (Refused& refused) {
      leave_out(structure_.refused, std::move(refused.reason));
    }
  }

  const Pickle& pickle_;
  const std::string& file_;
  TensorReader reader_;
  PytorchStructure structure_;
  std::vector<Frame> frames_;
  std::string path_;
  size_t steps_ = 0;
  size_t found_ = 0;
  size_t name_bytes_ = 0;
};

}  // namespace

PytorchStructure read_pytorch_structure(const Pickle& pickle, const std::string& name) { return Walker(pickle, name).walk(); }

std::map<std::string_view, int64_t> pytorch_storage_elements(const Pickle& pickle, const std::string& name) {
  const TensorReader reader(pickle, name);
  std::map<std::string_view, int64_t> sizes;
  for (PickleId id = 0; id < pickle.size(); ++id) {
    const PickleValue& value = pickle[id];
    if (value.kind != PickleKind::persistent) continue;
    const PickleValue& identifier = pickle[value.items.front()];
    // Legacy files of whole modules also refer to the source text of their classes.
    const bool is_module = identifier.kind == PickleKind::tuple && !identifier.items.empty() &&
                           pickle[identifier.items.front()].kind == PickleKind::text && pickle[identifier.items.front()].text == "module";
    if (is_module) continue;
    const PytorchStorageRef ref = reader.storage(id);
    if (sizes.emplace(ref.key, ref.element_bytes).first->second != ref.element_bytes) {
      fail(ErrorCode::corrupt_file, "{}: storage {}: it is of two dtypes; {}", name, printable(ref.key), kSaveAgain);
    }
  }
  return sizes;
}

}  // namespace wick
