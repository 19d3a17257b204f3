// An ImportanceCollector adds up the squares of what goes into each weight of a model, column by column.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "wick/formats/importance_matrix.h"
#include "wick/tensor/tensor.h"

namespace wick {

class ImportanceCollector {
 public:
  // input: [tokens, columns] of the weight; see LoadOptions::observe. Errors: invalid_argument if a number is not finite.
  void add(std::string_view weight, const Tensor& input);

  // Sums since the start.
  [[nodiscard]] std::map<std::string, ImportanceEntry, std::less<>> entries() const;

 private:
  struct Sums {
    std::vector<double> squares;
    uint64_t tokens = 0;
  };
  std::map<std::string, Sums, std::less<>> sums_;
};

}  // namespace wick
