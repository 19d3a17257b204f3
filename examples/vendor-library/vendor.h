// What differs between the two vendors' libraries of matrix products: cuBLAS and hipBLAS have the same functions under other names.
#pragma once

#include <wick/wick.h>

#include <vector>

struct Vendor {
  wick::DeviceKind kind;
  const char* library;             // for messages
  std::vector<const char*> files;  // where it may be, the newest first
  const char *create, *destroy, *set_stream, *multiply;
  int not_transposed;  // how the library numbers an operand that it takes as it lies there
  void* (*stream)(const wick::Device& device);
  float* (*memory)(const wick::Tensor& tensor);
};

// Those whose backend this program holds.
std::vector<const Vendor*> vendors();
