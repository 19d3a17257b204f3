// Kernels of your own: written in C++ expressions, compiled while the program runs, launched on tensors of any device.
#pragma once

#include "wick/device/kernel_source.h"
#include "wick/ir/builder.h"
#include "wick/kernels/group_options.h"
#include "wick/kernels/group_reduce.h"
#include "wick/kernels/math.h"
#include "wick/tensor/compiled_kernel.h"
#include "wick/tensor/kernel_inplace_op.h"
