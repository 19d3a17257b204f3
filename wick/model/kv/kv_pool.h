// A KvPool is the paged KV cache of one model on its device or devices, in blocks of positions, under one budget of
// bytes.
//
// Layers with the same attention span are a cache group. A group has its own blocks, and a sequence one table of blocks for each group:
// position p of the sequence is slot table[p / block_size] · block_size + p % block_size of every layer of the group. Sequences that begin
// alike share blocks; a block that others use too, or that is kept with more positions than the sequence has of it, is copied before it is
// written to. What recurrent layers keep is one slab of f32 for each sequence; a step reads one slab and writes another, so that a step
// that is given up leaves no trace. After a tentative step (SequenceSlice::is_tentative) a sequence has both slabs, until truncate() says
// which rows were right. The state after a step that ends with a block is kept like the block: a prefix is found as far as both its blocks
// and a state are there.
//
// Not for several threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "wick/model/batch.h"
#include "wick/model/kv/block_allocator.h"
#include "wick/model/kv/kv_layout.h"
#include "wick/model/recorded_steps.h"
#include "wick/tensor/tensor.h"

namespace wick {

class KvStep;

struct KvPoolOptions {
  int64_t bytes = 0;           // the budget; nothing more is taken, and all of it at once
  int64_t context = 0;         // the most positions of one sequence
  int64_t block_size = 32;     // positions of a block
  int64_t step = 512;          // tokens of one sequence that come in at once; what windows have room for
  int64_t sequences = 0;       // the most at once where states are kept; 0: as many whole contexts as there is room for
  bool keep_prefixes = false;  // what sequences that are gone have left is kept, until its memory is needed
  int64_t snapshots = 0;       // slabs for kept states beyond those of sequences; as many as leave room for one whole context
  // Where each layer of the layout keeps its positions, then where each state is; empty: all on the pool's device. Layers of a group have
  // the same blocks on all.
  std::vector<Device> devices = {};
};

class KvPool {
 public:
  // Errors: unsupported for a dtype that rows cannot be kept in (check_dtype); invalid_argument for sizes that no pool has, and for a
  // budget that does not hold a block of each group; out_of_memory.
  KvPool(Device device, KvLayout layout, KvPoolOptions options);
  KvPool(const KvPool&) = delete;
  KvPool& operator=(const KvPool&) = delete;

  // Errors: unsupported, naming the dtype, what of the layer it cannot store and what to take instead.
  static void check_dtype(const KvLayer& layer);
  // The budget for `sequences` of `options.context` positions each, and for the states of options.sequences if those are more.
  [[nodiscard]] static int64_t bytes_for(const KvLayout& layout, const KvPoolOptions& options, int64_t sequences);

  [[nodiscard]] const Device& device() const noexcept { return device_; }
  [[nodiscard]] const KvLayout& layout() const noexcept { return layout_; }
  [[nodiscard]] const KvPoolOptions& options() const noexcept { return options_; }
  [[nodiscard]] int64_t block_size() const noexcept { return options_.block_size; }
  // Bytes of the pool's tensors.
  [[nodiscard]] int64_t bytes() const noexcept;

  // --- Sequences. Errors of all that take a handle: invalid_argument for one of another pool, one that was freed, and while a step is
  // under way. ---

  // `identity`: what else than the tokens the contents depend on, such as an adapter, as a number. Only sequences of equal identities share
  // what is kept.
  [[nodiscard]] SequenceHandle create(uint64_t identity = 0);
  // A sequence that begins as `prompt` does, as far as positions of it are kept: length() tells how far. Where the layout has states, that
  // is the end of a block. The last token of a prompt must be computed for its logits, so leave it out.
  [[nodiscard]] SequenceHandle create_from_prefix(std::span<const int32_t> prompt, uint64_t identity = 0);
  // How many of `rows` tokens, the next ones of a text of `length` tokens, a step should take at most so that it ends where the state is
  // worth keeping: at the last end of a block in the text, where the text parts from a kept one, where want_state() says, and every
  // kStateBlocks blocks. All of them where no states are kept.
  [[nodiscard]] int64_t rows_to_state(SequenceHandle sequence, int64_t rows, int64_t length) const;
  // How many proposed tokens may follow the next `rows` tokens in a step that passes no end of a block without keeping the state there.
  [[nodiscard]] int64_t proposals_to_state(SequenceHandle sequence, int64_t rows) const;
  // Another text goes on from `length` positions of this sequence, which is the end of a block.
  void want_state(SequenceHandle sequence, int64_t length);
  // Another sequence with the same positions, which shares their blocks.
  [[nodiscard]] SequenceHandle fork(SequenceHandle sequence);
  void free(SequenceHandle sequence);
  [[nodiscard]] int64_t length(SequenceHandle sequence) const;
  [[nodiscard]] std::span<const int32_t> tokens(SequenceHandle sequence) const;
  // Whether its next position goes into a block that other sequences use too, so that a step takes one block more.
  [[nodiscard]] bool shares_last_block(SequenceHandle sequence) const;
  // Which tokens those from position `first` on are, where they were Batch::earlier_token until now. Errors: invalid_argument beyond the
  // length.
  void set_tokens(SequenceHandle sequence, int64_t first, std::span<const int32_t> tokens);
  // Forgets positions from `length` on. What left a window, or went into a state, may not be there any more: returns the length that the
  // sequence has now, the largest up to `length` that can be restored. After a tentative step a state before it is there too, until this
  // function was called, with the sequence's own length if all rows were right, or its next step begins. Errors: invalid_argument below 0
  // and beyond the length.
  int64_t truncate(SequenceHandle sequence, int64_t length);
  // All of a sequence as bytes, and a sequence made of them; those of one machine's byte order. Errors: corrupt_file; invalid_argument for
  // bytes of another model or retention; out_of_memory.
  [[nodiscard]] std::vector<std::byte> save(SequenceHandle sequence) const;
  [[nodiscard]] SequenceHandle restore(std::span<const std::byte> bytes, uint64_t identity = 0);
  // Stands for the model, its layers and their dtypes: a saved sequence of another one is refused. The same in each process.
  [[nodiscard]] uint64_t fingerprint() const;

  // Begins to take a batch in: checks all of it before anything changes. A step that is given up leaves no trace, but that of several parts
  // may leave a sequence empty whose passed positions it needed the room of. Errors: Batch::check's; those of a handle; invalid_argument
  // for positions that do not follow the sequence's own; context_full; out_of_memory where blocks are missing.
  [[nodiscard]] KvStep begin(const Batch& batch);

  // --- Memory ---

  // Tensors of one layer, in the layout's order: keys [kv_heads, slots, key_dim], values [kv_heads, slots, value_dim].
  [[nodiscard]] const Tensor& keys(int64_t layer) const;
  [[nodiscard]] const Tensor& values(int64_t layer) const;
  // States of one recurrent layer: f32 [slabs, numbers].
  [[nodiscard]] const Tensor& states(int64_t layer) const;
  [[nodiscard]] int64_t groups() const noexcept { return static_cast<int64_t>(groups_.size()); }
  [[nodiscard]] int64_t group_of(int64_t layer) const;

  // Blocks of a group, and of the slabs for states.
  struct Usage {
    int64_t blocks = 0, used = 0, kept = 0;
  };
  [[nodiscard]] Usage usage(int64_t group) const;
  [[nodiscard]] Usage state_usage() const;
  // Sequences that are there.
  [[nodiscard]] int64_t live_sequences() const noexcept { return live_; }
  // Tokens of prompts that create_from_prefix was asked for, and that it found.
  [[nodiscard]] int64_t prefix_tokens_asked() const noexcept { return prefix_asked_; }
  [[nodiscard]] int64_t prefix_tokens_found() const noexcept { return prefix_found_; }
  // Steps recorded on this memory.
  [[nodiscard]] RecordedSteps& recorded_steps() noexcept { return recorded_; }
  // Gives up what is kept of sequences that are gone.
  void forget_prefixes();

 private:
  friend class KvStep;

  static constexpr int32_t kNoBlock = -1;
  // The slab of zeros that a new sequence starts from; nothing writes to it.
  static constexpr int32_t kZeroSlab = 0;
  // A state is as large as the keys and values of many positions.
  static constexpr int64_t kStateBlocks = 32;

  struct Group {
    Retention retention;
    std::vector<int64_t> layers;
    BlockAllocator blocks;
  };
  struct Sequence {
    uint32_t generation = 0;
    bool live = false;
    ContentHash root;  // of no token: the identity
    std::vector<int32_t> tokens;
    std::vector<ContentHash> contents;         // of the full blocks
    std::vector<std::vector<int32_t>> tables;  // for each group; kNoBlock where a block was let go
    std::vector<int64_t> restored_from;        // for each group: the first position that restore() had; those before are not there
    int32_t slab = kZeroSlab;
    // The state before a tentative step.
    struct Rollback {
      int64_t length;
      int32_t slab;
    };
    std::optional<Rollback> rollback;
    bool was_rolled_back = false;               // so that its next step computes tokens again that it has decoded
    std::vector<int64_t> wanted_states;         // lengths, see want_state()
    std::optional<ContentHash> decoding_state;  // the last one kept while it decodes, until the next one takes its place
    [[nodiscard]] int64_t length() const noexcept { return static_cast<int64_t>(tokens.size()); }
  };

  void make_tensors();
  [[nodiscard]] const Device& device_of(size_t layer) const { return options_.devices.empty() ? device_ : options_.devices[layer]; }
  [[nodiscard]] const Sequence& at(const char* function, SequenceHandle sequence) const;
  [[nodiscard]] Sequence& at(const char* function, SequenceHandle sequence);
  void refuse_during_step(const char* function) const;
  [[nodiscard]] SequenceHandle create_unchecked(uint64_t identity = 0);
  void free_unchecked(uint32_t index);
  // Releases a table's blocks, the last one first, from block `first` on.
  void release_from(Group& group, std::vector<int32_t>& table, size_t first);
  void release_slab(int32_t slab);
  void drop_rollback(Sequence& sequence);
  [[nodiscard]] int64_t blocks_for(int64_t positions) const noexcept { return (positions + options_.block_size - 1) / options_.block_size; }
  // Whether each group has, or finds, what the sequence needs to go on from `length`; and whether a state is there too.
  [[nodiscard]] bool can_restore_blocks(const Sequence& sequence, int64_t length) const;
  [[nodiscard]] bool can_restore(const Sequence& sequence, int64_t length) const;
  // Whether its tables hold what its next position attends to.
  [[nodiscard]] bool holds_what_is_next(const Sequence& sequence) const;
  // The slab of the state after `length` positions.
  [[nodiscard]] std::optional<int32_t> find_slab(const Sequence& sequence, int64_t length) const;
  // Cuts a sequence to `length`, taking what can_restore found.
  void restore_to(Sequence& sequence, int64_t length);
  // The block of a group that holds what position `block` · block_size and those behind it up to `length` hold.
  [[nodiscard]] std::optional<int32_t> find_block(const Group& group, const Sequence& sequence, int64_t block, int64_t length) const;
  // How many positions behind `length`, which is the end of a block, every group finds in one block.
  [[nodiscard]] int64_t found_behind(const Sequence& sequence, int64_t length) const;
  // Continues the sequence's contents to its length.
  void extend_contents(Sequence& sequence) const;
  // Names the full blocks from position `from` on; the last one, which is not full, when the sequence goes.
  void name_blocks(Sequence& sequence, int64_t from);
  void name_last_blocks(const Sequence& sequence);
  // Names the sequence's state if it ends with a block whose tokens are known. `decodes`: the step was one of decoding.
  void name_state(Sequence& sequence, bool decodes);
  // Hash of the tokens before a block of the sequence.
  [[nodiscard]] static const ContentHash& before(const Sequence& sequence, size_t block) {
    return block == 0 ? sequence.root : sequence.contents[block - 1];
  }
  void copy_block(const Group& group, int32_t from, int32_t to);
  // save() and restore(). What is saved of each group: the positions from `first` to `length`, in the blocks of its table.
  struct Saved {
    int64_t length = 0;
    std::vector<int64_t> first;
    std::vector<std::vector<int32_t>> tables;
  };
  [[nodiscard]] Saved what_to_save(const Sequence& sequence) const;
  [[nodiscard]] int64_t saved_bytes(const Saved& saved) const;
  // Each run of bytes of the saved rows in their order: move(tensor, offset, bytes). The offset is none where there is no block.
  template <class Move>
  void visit_rows(const Saved& saved, int32_t slab, const Move& move) const;
  [[nodiscard]] SequenceHandle restore_checked(std::span<const std::byte> body, Saved saved, uint64_t identity);

  Device device_;
  KvLayout layout_;
  KvPoolOptions options_;
  uint32_t id_;
  std::vector<Group> groups_;
  std::vector<int64_t> group_of_;
  std::vector<Tensor> keys_, values_, states_;
  BlockAllocator slabs_;
  std::vector<Sequence> sequences_;
  std::vector<uint32_t> unused_;
  int64_t live_ = 0, prefix_asked_ = 0, prefix_found_ = 0;
  bool stepping_ = false;
  RecordedSteps recorded_;
};

}  // namespace wick
