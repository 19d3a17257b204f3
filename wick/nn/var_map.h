// A VarMap holds the variables and buffers of a net by name. Copies share them.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/nn/tensor_source.h"
#include "wick/tensor/variable.h"

namespace [[gnu::visibility("default")]] wick {
namespace nn {

class VarMap {
 public:
  VarMap() : state_(std::make_shared<State>()) {}

  // The variable of that name, made by `init` where there is none yet. One that is not trainable is a buffer: saved and loaded like a
  // variable, but no optimizer's business. Errors: shape_mismatch if it is there with another shape.
  [[nodiscard]] Var get(const Shape& shape, std::string_view name, const Init& init, DType dtype, const Device& device,
                        bool trainable = true) const;
  [[nodiscard]] std::optional<Var> find(std::string_view name) const;
  // Overwrites a variable, converted to its dtype and device. Errors: not_found; shape_mismatch.
  void set_one(std::string_view name, const Tensor& value) const;
  // Several at once: none is set if one of them is not there or has another shape.
  void set(const std::map<std::string, Tensor>& values) const;

  // The trainable ones, in the order of their names.
  [[nodiscard]] std::vector<Var> all_vars() const;
  // All, buffers too.
  [[nodiscard]] std::map<std::string, Var> data() const;

  // Sets every variable and buffer from the source; what else the source has is left alone. Errors: as set, naming the source.
  void load(const TensorSource& source) const;
  // Hands every variable and buffer to the sink, in the order of their names.
  void save(TensorSink& sink) const;

 private:
  struct Entry {
    Var var;
    bool trainable;
  };
  struct State {
    std::mutex mutex;
    std::map<std::string, Entry, std::less<>> entries;
  };

  std::shared_ptr<State> state_;
};

}  // namespace nn
}  // namespace wick
