// Parts of a file that a reader does not return.
#pragma once

#include <string>

namespace [[gnu::visibility("default")]] wick {

struct LeftOut {
  std::string name;
  std::string what;  // a tensor: why; else the class
};

}  // namespace wick
