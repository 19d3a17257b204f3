// The part of Metal's interface that the backend calls, written from Apple's documentation: what the tests' mock implements where there is
// no Metal. Names, types and numbers are Metal's; what the backend does not call is left out.
#pragma once

#import <Foundation/Foundation.h>

typedef struct {
  NSUInteger width, height, depth;
} MTLSize;
static inline MTLSize MTLSizeMake(NSUInteger width, NSUInteger height, NSUInteger depth) {
  MTLSize size = {width, height, depth};
  return size;
}

typedef NSUInteger MTLResourceOptions;
enum : MTLResourceOptions { MTLResourceStorageModeShared = 0 };

typedef NS_ENUM(NSInteger, MTLGPUFamily) { MTLGPUFamilyApple7 = 1007, MTLGPUFamilyMetal3 = 5001 };
typedef NS_ENUM(NSUInteger, MTLLanguageVersion) { MTLLanguageVersion3_0 = (3 << 16) + 0 };
typedef NSUInteger MTLPipelineOption;
enum : MTLPipelineOption { MTLPipelineOptionNone = 0 };

typedef NS_ENUM(NSUInteger, MTLCommandBufferStatus) {
  MTLCommandBufferStatusNotEnqueued = 0,
  MTLCommandBufferStatusEnqueued = 1,
  MTLCommandBufferStatusCommitted = 2,
  MTLCommandBufferStatusScheduled = 3,
  MTLCommandBufferStatusCompleted = 4,
  MTLCommandBufferStatusError = 5,
};
typedef NS_ENUM(NSUInteger, MTLCommandBufferError) {
  MTLCommandBufferErrorNone = 0,
  MTLCommandBufferErrorInternal = 1,
  MTLCommandBufferErrorTimeout = 2,
  MTLCommandBufferErrorPageFault = 3,
  MTLCommandBufferErrorAccessRevoked = 4,
  MTLCommandBufferErrorNotPermitted = 7,
  MTLCommandBufferErrorOutOfMemory = 8,
  MTLCommandBufferErrorInvalidResource = 9,
  MTLCommandBufferErrorMemoryless = 10,
  MTLCommandBufferErrorDeviceRemoved = 11,
  MTLCommandBufferErrorStackOverflow = 12,
};

@protocol MTLAllocation <NSObject>
@end

@protocol MTLBuffer <MTLAllocation>
- (NSUInteger)length;
- (void*)contents;
@end

@protocol MTLFunction <NSObject>
@end

@protocol MTLLibrary <NSObject>
- (id<MTLFunction>)newFunctionWithName:(NSString*)name;
@end

@interface MTLCompileOptions : NSObject {
  MTLLanguageVersion languageVersion_;
  BOOL fastMathEnabled_;
}
- (MTLLanguageVersion)languageVersion;
- (void)setLanguageVersion:(MTLLanguageVersion)version;
- (BOOL)fastMathEnabled;
- (void)setFastMathEnabled:(BOOL)enabled;
@end

@interface MTLComputePipelineDescriptor : NSObject {
  NSString* label_;
  id<MTLFunction> function_;
  NSUInteger lanes_;
}
- (void)setLabel:(NSString*)label;
- (id<MTLFunction>)computeFunction;
- (void)setComputeFunction:(id<MTLFunction>)function;
- (NSUInteger)maxTotalThreadsPerThreadgroup;
- (void)setMaxTotalThreadsPerThreadgroup:(NSUInteger)lanes;
@end
@class MTLComputePipelineReflection;

@protocol MTLComputePipelineState <NSObject>
- (NSUInteger)maxTotalThreadsPerThreadgroup;
- (NSUInteger)threadExecutionWidth;
@end

@protocol MTLComputeCommandEncoder <NSObject>
- (void)setComputePipelineState:(id<MTLComputePipelineState>)state;
- (void)setBytes:(const void*)bytes length:(NSUInteger)length atIndex:(NSUInteger)index;
- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index;
- (void)setBufferOffset:(NSUInteger)offset atIndex:(NSUInteger)index;
- (void)dispatchThreadgroups:(MTLSize)groups threadsPerThreadgroup:(MTLSize)lanes;
- (void)endEncoding;
@end

@protocol MTLCommandBuffer <NSObject>
- (id<MTLComputeCommandEncoder>)computeCommandEncoder;
- (void)commit;
- (void)waitUntilCompleted;
- (MTLCommandBufferStatus)status;
- (NSError*)error;
- (double)GPUEndTime;
@end

@interface MTLResidencySetDescriptor : NSObject {
  NSString* label_;
}
- (void)setLabel:(NSString*)label;
@end

@protocol MTLResidencySet <NSObject>
- (void)addAllocation:(id<MTLAllocation>)allocation;
- (void)removeAllocation:(id<MTLAllocation>)allocation;
- (void)commit;
- (void)requestResidency;
@end

@protocol MTLCommandQueue <NSObject>
- (id<MTLCommandBuffer>)commandBuffer;
- (void)addResidencySet:(id<MTLResidencySet>)set;
@end

@protocol MTLDevice <NSObject>
- (NSString*)name;
- (BOOL)hasUnifiedMemory;
- (BOOL)isRemovable;
- (BOOL)supportsFamily:(MTLGPUFamily)family;
- (uint64_t)recommendedMaxWorkingSetSize;
- (NSUInteger)currentAllocatedSize;
- (NSUInteger)maxBufferLength;
- (NSUInteger)maxThreadgroupMemoryLength;
- (MTLSize)maxThreadsPerThreadgroup;
- (id<MTLCommandQueue>)newCommandQueue;
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options;
- (id<MTLBuffer>)newBufferWithBytesNoCopy:(void*)pointer
                                   length:(NSUInteger)length
                                  options:(MTLResourceOptions)options
                              deallocator:(void*)deallocator;  // a block; there are none here
- (id<MTLLibrary>)newLibraryWithSource:(NSString*)source options:(MTLCompileOptions*)options error:(NSError**)error;
- (id<MTLComputePipelineState>)newComputePipelineStateWithDescriptor:(MTLComputePipelineDescriptor*)descriptor
                                                             options:(MTLPipelineOption)options
                                                          reflection:(MTLComputePipelineReflection**)reflection
                                                               error:(NSError**)error;
- (id<MTLResidencySet>)newResidencySetWithDescriptor:(MTLResidencySetDescriptor*)descriptor error:(NSError**)error;
@end

extern "C" NSArray* MTLCopyAllDevices(void);
