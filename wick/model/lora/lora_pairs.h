// LoraPairs collects the halves of an adapter's pairs as a file names them, in any order.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "wick/model/lora/lora_adapter.h"

namespace wick {

class LoraPairs {
 public:
  explicit LoraPairs(const std::string& file) : name_(file) {}

  // Half A or B of a weight, by its canonical name. Errors: corrupt_file for one that is there already.
  void add(const std::string& weight, bool is_a, LoraMatrix matrix);
  // All of them, each with both halves. Errors: corrupt_file for no pairs and a half alone; shape_mismatch for halves that do not fit
  // together and a rank of 0; unsupported for dtypes that hold no numbers.
  [[nodiscard]] std::vector<LoraPair> checked() &&;

 private:
  [[nodiscard]] LoraMatrix& half(const std::string& weight, bool is_a);

  const std::string& name_;
  std::vector<LoraPair> pairs_;
};

}  // namespace wick
