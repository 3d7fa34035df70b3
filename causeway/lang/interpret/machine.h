// The interpreter's state. flow.cpp runs regions, values.cpp instructions that compute values,
// memory.cpp array accesses.
#pragma once

#include "causeway/lang/interpret/lanes.h"

namespace causeway::lang::interpret {

class Machine {
 public:
  Machine(const Module& module, int kernel, const InterpretOptions& options);

  void launch(std::span<const std::int64_t> dims, std::span<const Argument> arguments,
              std::int64_t begin, std::int64_t end);

 private:
  void plan(std::size_t index);
  const Layout& layout(TypeId type);
  Frame& frame(std::size_t function);

  // Regions; the result is the mask of lanes that continue after it.
  Mask run_block(Frame& frame, BlockId block, Mask mask);
  Mask run_loop(Frame& frame, const Inst& inst, ValueId id, Mask mask);
  Mask run_while(Frame& frame, const Inst& inst, Mask mask);
  void run_cond(Frame& frame, const Inst& inst, ValueId id, Mask mask);
  void run_call(Frame& frame, const Inst& inst, ValueId id, Mask mask);
  void give(Frame& frame, const Inst& inst, Mask mask);
  void execute(Frame& frame, const Inst& inst, ValueId id, Mask mask);
  void step(const Frame& frame, Span span);

  // Values.
  void constant(Frame& frame, const Inst& inst, ValueId id);
  void arithmetic(Frame& frame, const Inst& inst, ValueId id, Mask mask);
  void comparison(Frame& frame, const Inst& inst, ValueId id);
  void select(Frame& frame, const Inst& inst, ValueId id);
  void make(Frame& frame, const Inst& inst, ValueId id);
  void extract(Frame& frame, const Inst& inst, ValueId id, Mask mask);
  void insert(Frame& frame, const Inst& inst, ValueId id, Mask mask);
  void fields(Frame& frame, const Inst& inst, ValueId id);
  void result(Frame& frame, const Inst& inst, ValueId id);
  void copy(std::byte* to, const std::byte* from, TypeId type, Mask mask);
  // The offset of the component in each lane; false if the indices are constants, then in `fixed`.
  bool component(Frame& frame, const Inst& inst, std::uint32_t n_indices, Mask mask,
                 std::int32_t* lanes, std::int32_t& fixed);

  // Memory.
  bool address(Frame& frame, const Inst& inst, std::uint32_t n_indices, Mask& mask,
               std::int64_t* offsets, std::byte*& base);
  std::int64_t index_at(const Frame& frame, ValueId id, int lane) const;
  void load(Frame& frame, const Inst& inst, ValueId id, Mask mask);
  void store(Frame& frame, const Inst& inst, Mask mask);
  void atomic(Frame& frame, const Inst& inst, ValueId id, Mask mask);
  void view(Frame& frame, const Inst& inst, ValueId id, Mask mask);
  void block_reduce(Frame& frame, const Inst& inst, ValueId id, Mask mask);
  void push(Frame& frame, const Inst& inst, Mask mask);
  void pop(Frame& frame, const Inst& inst, ValueId id, Mask mask);

  std::byte* reg(Frame& frame, ValueId id) const {
    return frame.registers.data() + frame.plan->place[id];
  }
  TypeId type(const Frame& frame, ValueId id) const { return (*frame.plan->function)[id].type; }
  [[noreturn]] void fault(const Frame& frame, Span span, const Diagnostic& diagnostic) const;

  const Module& module_;
  std::size_t kernel_;
  InterpretOptions options_;
  std::vector<Layout> layouts_;  // by type
  std::vector<FramePlan> plans_;
  std::vector<Frame> frames_;
  std::vector<Span> call_spans_;  // of calls from user code, outermost first
  std::uint64_t steps_ = 0;
  std::int32_t tid_[kMaxArrayDims][kLanes] = {};
  std::vector<std::uint64_t> tape_[kLanes];
};

}  // namespace causeway::lang::interpret
