// Tensors, devices, gradients: what most programs include.
#pragma once

#include "base/error.h"
#include "device/device.h"
#include "device/graph.h"
#include "tensor/backward.h"
#include "tensor/compiled_kernel.h"
#include "tensor/custom_op.h"
#include "tensor/display.h"
#include "tensor/files.h"
#include "tensor/ops/attention.h"
#include "tensor/ops/einsum.h"
#include "tensor/ops/linear.h"
#include "tensor/ops/normalize.h"
#include "tensor/ops/rope.h"
#include "tensor/ops/unary.h"
#include "tensor/tensor.h"
#include "tensor/variable.h"
