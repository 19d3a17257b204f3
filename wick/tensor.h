// Tensors, devices, gradients: what most programs include.
#pragma once

#include "wick/base/error.h"
#include "wick/device/device.h"
#include "wick/device/graph.h"
#include "wick/tensor/backward.h"
#include "wick/tensor/compiled_kernel.h"
#include "wick/tensor/custom_op.h"
#include "wick/tensor/display.h"
#include "wick/tensor/files.h"
#include "wick/tensor/ops/attention.h"
#include "wick/tensor/ops/einsum.h"
#include "wick/tensor/ops/linear.h"
#include "wick/tensor/ops/normalize.h"
#include "wick/tensor/ops/rope.h"
#include "wick/tensor/ops/unary.h"
#include "wick/tensor/tensor.h"
#include "wick/tensor/variable.h"
