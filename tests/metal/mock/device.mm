// Metal for tests: its objects over memory of this machine. Command buffers run when somebody waits for them, in their order, so that what
// relies on work that nobody waited for is seen. What Metal's own validation would refuse ends the process with words.
#import <Metal/Metal.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "mock.h"

namespace {

std::recursive_mutex& mutex() {
  static std::recursive_mutex instance;
  return instance;
}

void read_settings(metal_mock::State& state) {
  const char* const text = std::getenv("METAL_MOCK");
  const std::string all = text == nullptr ? "" : text;
  const std::pair<const char*, long*> numbers[] = {{"devices", &state.devices}, {"unified", &state.unified},     {"metal3", &state.metal3},
                                                   {"apple7", &state.apple7},   {"residency", &state.residency}, {"memory", &state.memory},
                                                   {"lanes", &state.lanes},     {"largest", &state.largest},     {"refuse", &state.refuse},
                                                   {"error", &state.error},     {"after", &state.after},     {"shared", &state.shared},
                                                   {"queues", &state.queues}};
  for (const auto& [name, number] : numbers) {
    const std::size_t at = all.find(std::string(name) + "=");
    if (at != std::string::npos) *number = std::atol(all.c_str() + at + std::strlen(name) + 1);
  }
}

// Where METAL_MOCK_CALLS names a file, it says at the end how often each method was called.
void write_calls() {
  const char* const path = std::getenv("METAL_MOCK_CALLS");
  FILE* const file = path == nullptr ? nullptr : std::fopen(path, "w");
  if (file == nullptr) return;
  for (const auto& [name, number] : metal_mock::state().calls) std::fprintf(file, "%s %ld\n", name.c_str(), number);
  std::fclose(file);
}

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "the mock of Metal: %s\n", what);
  std::abort();
}

#define CALLED                                               \
  const std::lock_guard<std::recursive_mutex> lock(mutex()); \
  ++metal_mock::state().calls[sel_getName(_cmd)]

struct Binding {
  id<MTLBuffer> buffer = nil;
  NSUInteger offset = 0;
};

struct Dispatch {
  metal_mock::Run run = nullptr;
  unsigned grid[3] = {};
  unsigned lanes = 0;
  std::vector<Binding> buffers;  // each with a reference
  std::vector<char> parameters;

  void execute() const {
    std::vector<void*> pointers;
    for (const Binding& binding : buffers) {
      pointers.push_back(binding.buffer == nil ? nullptr : static_cast<char*>([binding.buffer contents]) + binding.offset);
    }
    run(grid, lanes, 32, pointers.data(), parameters.data());
  }
};

}  // namespace

namespace metal_mock {

State& state() {
  static State* const instance = [] {
    auto* const made = new State;
    read_settings(*made);
    std::atexit(write_calls);
    return made;
  }();
  return *instance;
}

}  // namespace metal_mock

using metal_mock::state;

@implementation MTLCompileOptions
- (MTLLanguageVersion)languageVersion {
  return languageVersion_;
}
- (void)setLanguageVersion:(MTLLanguageVersion)version {
  languageVersion_ = version;
}
- (BOOL)fastMathEnabled {
  return fastMathEnabled_;
}
- (void)setFastMathEnabled:(BOOL)enabled {
  fastMathEnabled_ = enabled;
}
@end

@implementation MTLComputePipelineDescriptor
- (void)dealloc {
  [label_ release];
  [function_ release];
  [super dealloc];
}
- (void)setLabel:(NSString*)label {
  label_ = [label copy];
}
- (id<MTLFunction>)computeFunction {
  return function_;
}
- (void)setComputeFunction:(id<MTLFunction>)function {
  function_ = [function retain];
}
- (NSUInteger)maxTotalThreadsPerThreadgroup {
  return lanes_;
}
- (void)setMaxTotalThreadsPerThreadgroup:(NSUInteger)lanes {
  lanes_ = lanes;
}
@end

@implementation MTLResidencySetDescriptor
- (void)dealloc {
  [label_ release];
  [super dealloc];
}
- (void)setLabel:(NSString*)label {
  label_ = [label copy];
}
@end

@interface MockBuffer : NSObject <MTLBuffer> {
 @public
  void* contents_;
  NSUInteger length_;
  bool imported_;
}
@end
@implementation MockBuffer
- (void)dealloc {
  const std::lock_guard<std::recursive_mutex> lock(mutex());
  (imported_ ? state().imported : state().allocated) -= static_cast<long>(length_);
  if (!imported_) std::free(contents_);
  [super dealloc];
}
- (NSUInteger)length {
  return length_;
}
- (void*)contents {
  return contents_;
}
@end

@interface MockFunction : NSObject <MTLFunction> {
 @public
  metal_mock::Run run_;
}
@end
@implementation MockFunction
@end

@interface MockLibrary : NSObject <MTLLibrary> {
 @public
  void* handle_;
}
@end
@implementation MockLibrary
- (id<MTLFunction>)newFunctionWithName:(NSString*)name {
  CALLED;
  metal_mock::Run const run = metal_mock::find_kernel(handle_, [name UTF8String]);
  if (run == nullptr) return nil;
  MockFunction* const function = [[MockFunction alloc] init];
  function->run_ = run;
  return function;
}
@end

@interface MockPipeline : NSObject <MTLComputePipelineState> {
 @public
  metal_mock::Run run_;
}
@end
@implementation MockPipeline
- (NSUInteger)maxTotalThreadsPerThreadgroup {
  return static_cast<NSUInteger>(state().lanes);
}
- (NSUInteger)threadExecutionWidth {
  return 32;
}
@end

@class MockCommandBuffer;
@interface MockEncoder : NSObject <MTLComputeCommandEncoder> {
 @public
  std::vector<Dispatch>* dispatches_;  // the command buffer's
  std::vector<Binding>* bound_;
  std::vector<char>* bytes_;
  NSUInteger bytes_index_;
  metal_mock::Run run_;
  bool ended_;
}
@end
@implementation MockEncoder
- (void)dealloc {
  require(ended_, "an encoder goes that was not ended");
  delete bound_;
  delete bytes_;
  [super dealloc];
}
- (void)setComputePipelineState:(id<MTLComputePipelineState>)pipeline {
  CALLED;
  run_ = static_cast<MockPipeline*>(pipeline)->run_;
}
- (void)setBytes:(const void*)bytes length:(NSUInteger)length atIndex:(NSUInteger)index {
  CALLED;
  require(length <= 4096, "setBytes takes 4096 bytes at most");
  require(index < 31, "an index of a buffer is 30 at most");
  bytes_->assign(static_cast<const char*>(bytes), static_cast<const char*>(bytes) + length);
  bytes_index_ = index;
  (*bound_)[index] = {};
}
- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index {
  CALLED;
  require(index < 31, "an index of a buffer is 30 at most");
  require(offset % 4 == 0 && offset < [buffer length], "an offset that is no multiple of 4, or behind the buffer");
  (*bound_)[index] = {buffer, offset};
}
- (void)setBufferOffset:(NSUInteger)offset atIndex:(NSUInteger)index {
  CALLED;
  require(index < 31 && (*bound_)[index].buffer != nil, "the offset of no buffer");
  require(offset % 4 == 0 && offset < [(*bound_)[index].buffer length], "an offset that is no multiple of 4, or behind the buffer");
  (*bound_)[index].offset = offset;
}
- (void)dispatchThreadgroups:(MTLSize)groups threadsPerThreadgroup:(MTLSize)lanes {
  CALLED;
  require(!ended_ && run_ != nullptr, "a dispatch without a pipeline, or behind the end");
  require(groups.width > 0 && groups.height > 0 && groups.depth > 0, "a dispatch of no threadgroups");
  require(lanes.width * lanes.height * lanes.depth <= static_cast<NSUInteger>(state().lanes), "threadgroups that are too large");
  Dispatch dispatch;
  dispatch.run = run_;
  dispatch.grid[0] = static_cast<unsigned>(groups.width);
  dispatch.grid[1] = static_cast<unsigned>(groups.height);
  dispatch.grid[2] = static_cast<unsigned>(groups.depth);
  dispatch.lanes = static_cast<unsigned>(lanes.width);
  dispatch.buffers = *bound_;
  for (const Binding& binding : dispatch.buffers) [binding.buffer retain];
  dispatch.parameters = *bytes_;
  dispatches_->push_back(std::move(dispatch));
}
- (void)endEncoding {
  CALLED;
  require(!ended_, "an encoder is ended twice");
  ended_ = true;
}
@end

@interface MockCommandBuffer : NSObject <MTLCommandBuffer> {
 @public
  std::vector<Dispatch>* dispatches_;
  std::deque<MockCommandBuffer*>* committed_;  // the queue's
  MTLCommandBufferStatus status_;
  NSInteger error_;
  int polls_;
  double end_;
}
- (void)run;
@end
@implementation MockCommandBuffer
- (void)dealloc {
  for (const Dispatch& dispatch : *dispatches_) {
    for (const Binding& binding : dispatch.buffers) [binding.buffer release];
  }
  delete dispatches_;
  [super dealloc];
}
- (id<MTLComputeCommandEncoder>)computeCommandEncoder {
  CALLED;
  MockEncoder* const encoder = [[[MockEncoder alloc] init] autorelease];
  encoder->dispatches_ = dispatches_;
  encoder->bound_ = new std::vector<Binding>(31);
  encoder->bytes_ = new std::vector<char>;
  return encoder;
}
- (void)commit {
  CALLED;
  require(status_ == MTLCommandBufferStatusNotEnqueued, "a command buffer is committed twice");
  status_ = MTLCommandBufferStatusCommitted;
  committed_->push_back([self retain]);
}
- (void)run {
  if (state().error != 0 && state().after-- <= 0) error_ = state().error;
  if (error_ == 0) {
    for (const Dispatch& dispatch : *dispatches_) dispatch.execute();
  }
  for (const Dispatch& dispatch : *dispatches_) {
    for (const Binding& binding : dispatch.buffers) [binding.buffer release];
  }
  dispatches_->clear();
  static double clock = 0;
  end_ = clock += 1e-6;
  status_ = error_ == 0 ? MTLCommandBufferStatusCompleted : MTLCommandBufferStatusError;
}
- (void)waitUntilCompleted {
  CALLED;
  require(status_ != MTLCommandBufferStatusNotEnqueued, "somebody waits for what was not committed");
  while (status_ == MTLCommandBufferStatusCommitted) {
    MockCommandBuffer* const first = committed_->front();
    committed_->pop_front();
    [first run];
    [first release];
  }
}
- (MTLCommandBufferStatus)status {
  CALLED;
  // Whoever asks again and again finds it done in the end.
  if (status_ == MTLCommandBufferStatusCommitted && committed_->front() == self && ++polls_ > 3) [self waitUntilCompleted];
  return status_;
}
- (NSError*)error {
  if (error_ == 0) return nil;
  NSDictionary* const words = [NSDictionary dictionaryWithObject:@"Told to fail" forKey:NSLocalizedDescriptionKey];
  return [NSError errorWithDomain:@"MTLCommandBufferErrorDomain" code:error_ userInfo:words];
}
- (double)GPUEndTime {
  return end_;
}
@end

@interface MockResidencySet : NSObject <MTLResidencySet>
@end
@implementation MockResidencySet
- (void)addAllocation:(id<MTLAllocation>)allocation {
  CALLED;
  state().resident += allocation != nil ? 1 : 0;
}
- (void)removeAllocation:(id<MTLAllocation>)allocation {
  CALLED;
  state().resident -= allocation != nil ? 1 : 0;
}
- (void)commit {
  CALLED;
}
- (void)requestResidency {
  CALLED;
}
@end

@interface MockQueue : NSObject <MTLCommandQueue> {
  std::deque<MockCommandBuffer*>* committed_;
}
@end
@implementation MockQueue
- (id)init {
  self = [super init];
  committed_ = new std::deque<MockCommandBuffer*>;
  return self;
}
- (void)dealloc {
  require(committed_->empty(), "a queue goes with work that nobody waited for");
  delete committed_;
  [super dealloc];
}
- (id<MTLCommandBuffer>)commandBuffer {
  CALLED;
  MockCommandBuffer* const commands = [[[MockCommandBuffer alloc] init] autorelease];
  commands->dispatches_ = new std::vector<Dispatch>;
  commands->committed_ = committed_;
  return commands;
}
- (void)addResidencySet:(id<MTLResidencySet>)set {
  CALLED;
  require(set != nil, "no residency set");
}
@end

@interface MockDevice : NSObject <MTLDevice> {
 @public
  int index_;
}
@end
@implementation MockDevice
- (BOOL)respondsToSelector:(SEL)selector {
  if (sel_isEqual(selector, @selector(newResidencySetWithDescriptor:error:))) return state().residency != 0;
  return [super respondsToSelector:selector];
}
- (NSString*)name {
  return [NSString stringWithFormat:@"Mock GPU %d", index_];
}
- (BOOL)hasUnifiedMemory {
  return state().unified != 0;
}
- (BOOL)isRemovable {
  return NO;
}
- (BOOL)supportsFamily:(MTLGPUFamily)family {
  return family == MTLGPUFamilyApple7 ? state().apple7 != 0 : state().metal3 != 0;
}
- (uint64_t)recommendedMaxWorkingSetSize {
  return static_cast<uint64_t>(state().memory);
}
- (NSUInteger)currentAllocatedSize {
  return static_cast<NSUInteger>(state().allocated);
}
- (NSUInteger)maxBufferLength {
  return static_cast<NSUInteger>(state().largest);
}
- (NSUInteger)maxThreadgroupMemoryLength {
  return static_cast<NSUInteger>(state().shared);
}
- (MTLSize)maxThreadsPerThreadgroup {
  return MTLSizeMake(1024, 1024, 1024);
}
- (id<MTLCommandQueue>)newCommandQueue {
  CALLED;
  return state().queues == 0 ? nil : [[MockQueue alloc] init];
}
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options {
  CALLED;
  require(options == MTLResourceStorageModeShared && length > 0, "a buffer of another kind than the mock has");
  if (state().allocated + static_cast<long>(length) > state().memory) return nil;
  MockBuffer* const buffer = [[MockBuffer alloc] init];
  buffer->contents_ = std::aligned_alloc(4096, (length + 4095) / 4096 * 4096);
  std::memset(buffer->contents_, 0xa5, length);
  buffer->length_ = length;
  state().allocated += static_cast<long>(length);
  return buffer;
}
- (id<MTLBuffer>)newBufferWithBytesNoCopy:(void*)pointer
                                   length:(NSUInteger)length
                                  options:(MTLResourceOptions)options
                              deallocator:(void*)deallocator {
  CALLED;
  require(options == MTLResourceStorageModeShared && deallocator == nullptr, "an import of another kind than the mock has");
  require(reinterpret_cast<uintptr_t>(pointer) % NSPageSize() == 0 && length % NSPageSize() == 0, "an import of parts of pages");
  MockBuffer* const buffer = [[MockBuffer alloc] init];
  buffer->contents_ = pointer;
  buffer->length_ = length;
  buffer->imported_ = true;
  state().imported += static_cast<long>(length);
  return buffer;
}
- (id<MTLLibrary>)newLibraryWithSource:(NSString*)source options:(MTLCompileOptions*)options error:(NSError**)error {
  CALLED;
  require([options languageVersion] == MTLLanguageVersion3_0, "another version of the language");
  std::string log = "told to refuse";
  void* const handle = state().refuse != 0 ? nullptr : metal_mock::compile([source UTF8String], log);
  if (handle == nullptr) {
    NSString* const words = [NSString stringWithUTF8String:log.c_str()];
    *error = [NSError errorWithDomain:@"MTLLibraryErrorDomain"
                                 code:3
                             userInfo:[NSDictionary dictionaryWithObject:words forKey:NSLocalizedDescriptionKey]];
    return nil;
  }
  MockLibrary* const library = [[MockLibrary alloc] init];
  library->handle_ = handle;
  return library;
}
- (id<MTLComputePipelineState>)newComputePipelineStateWithDescriptor:(MTLComputePipelineDescriptor*)descriptor
                                                             options:(MTLPipelineOption)options
                                                          reflection:(MTLComputePipelineReflection**)reflection
                                                               error:(NSError**)error {
  CALLED;
  require(options == MTLPipelineOptionNone && reflection == nullptr && error != nullptr, "a pipeline of another kind than the mock has");
  MockPipeline* const pipeline = [[MockPipeline alloc] init];
  pipeline->run_ = static_cast<MockFunction*>([descriptor computeFunction])->run_;
  return pipeline;
}
- (id<MTLResidencySet>)newResidencySetWithDescriptor:(MTLResidencySetDescriptor*)descriptor error:(NSError**)error {
  CALLED;
  require(descriptor != nil && error == nullptr, "a residency set of another kind than the mock has");
  return [[MockResidencySet alloc] init];
}
@end

NSArray* MTLCopyAllDevices(void) {
  const std::lock_guard<std::recursive_mutex> lock(mutex());
  static MockDevice* devices[8] = {};
  NSMutableArray* const all = [[NSMutableArray alloc] init];
  for (int i = 0; i < state().devices; ++i) {
    if (devices[i] == nil) {
      devices[i] = [[MockDevice alloc] init];
      devices[i]->index_ = i;
    }
    [all addObject:devices[i]];
  }
  return all;
}
