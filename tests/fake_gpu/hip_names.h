// Under which names a fake exports the functions that CUDA and HIP have alike; the build of HIP's includes this before the source.
#pragma once

#define FAKE_HIP

#define cuDriverGetVersion hipRuntimeGetVersion
#define cuDeviceGetCount hipGetDeviceCount
#define cuDeviceGet hipDeviceGet
#define cuDeviceGetName hipDeviceGetName
#define cuDeviceTotalMem_v2 hipDeviceTotalMem
#define cuDeviceGetPCIBusId hipDeviceGetPCIBusId
#define cuDeviceGetAttribute hipDeviceGetAttribute
#define cuMemGetInfo_v2 hipMemGetInfo
#define cuMemAlloc_v2 hipMalloc
#define cuMemFree_v2 hipFree
#define cuMemHostAlloc hipHostMalloc
#define cuMemFreeHost hipHostFree
#define cuMemcpyHtoDAsync_v2 hipMemcpyHtoDAsync
#define cuMemcpyDtoHAsync_v2 hipMemcpyDtoHAsync
#define cuMemcpyDtoDAsync_v2 hipMemcpyDtoDAsync
#define cuMemsetD8Async hipMemsetD8Async
#define cuStreamCreate hipStreamCreateWithFlags
#define cuStreamDestroy_v2 hipStreamDestroy
#define cuStreamSynchronize hipStreamSynchronize
#define cuStreamWaitEvent hipStreamWaitEvent
#define cuEventCreate hipEventCreateWithFlags
#define cuEventDestroy_v2 hipEventDestroy
#define cuEventRecord hipEventRecord
#define cuEventQuery hipEventQuery
#define cuEventSynchronize hipEventSynchronize
#define cuEventElapsedTime hipEventElapsedTime
#define cuModuleLoadData hipModuleLoadData
#define cuModuleUnload hipModuleUnload
#define cuModuleGetFunction hipModuleGetFunction
#define cuLaunchKernel hipModuleLaunchKernel
#define cuStreamBeginCapture_v2 hipStreamBeginCapture
#define cuStreamEndCapture hipStreamEndCapture
#define cuGraphInstantiateWithFlags hipGraphInstantiateWithFlags
#define cuGraphLaunch hipGraphLaunch
#define cuGraphExecDestroy hipGraphExecDestroy
#define cuGraphDestroy hipGraphDestroy

#define cublasCreate_v2 hipblasCreate
#define cublasDestroy_v2 hipblasDestroy
#define cublasSetStream_v2 hipblasSetStream
#define cublasSgemm_v2 hipblasSgemm

#define nvrtcVersion hiprtcVersion
#define nvrtcGetErrorString hiprtcGetErrorString
#define nvrtcCreateProgram hiprtcCreateProgram
#define nvrtcDestroyProgram hiprtcDestroyProgram
#define nvrtcCompileProgram hiprtcCompileProgram
#define nvrtcGetCUBINSize hiprtcGetCodeSize
#define nvrtcGetCUBIN hiprtcGetCode
#define nvrtcGetProgramLogSize hiprtcGetProgramLogSize
#define nvrtcGetProgramLog hiprtcGetProgramLog
