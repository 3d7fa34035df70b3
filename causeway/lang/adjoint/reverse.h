// One function and its adjoint while that is being built. adjoint.cpp: parameters and assembly;
// regions.cpp: the backward pass of blocks; primal.cpp: values of the forward pass; rules.cpp:
// derivatives of operations.
#pragma once

#include "causeway/lang/ir/builder.h"

#include <string>
#include <vector>

namespace causeway::lang::adjoint {

class Reverse {
 public:
  // `forward` has normalised exits and is complete; `index` is the function it came from.
  Reverse(Module& module, Function forward);

  // The adjoint: a kernel for a kernel; for a function, one that takes its parameters, gradient
  // arrays and the gradients of its results, and gives the gradients of its other parameters.
  Function run(std::string name);

 private:
  // The adjoint of a value: contributions to components, and to the complete value.
  struct Gradient {
    ValueId whole = kAbsent;
    std::vector<ValueId> parts;
    ValueId variable = kAbsent;    // to which nested regions add
    std::uint32_t zero_epoch = 0;  // the variable is known to be zero until a region begins or ends
  };

  struct Save {
    ValueId value = kAbsent;     // of the forward function
    ValueId variable = kAbsent;  // that holds it until it is needed, or pushed
    ValueId popped = kAbsent;    // in the reversed body of its loop
  };

  struct LoopState {
    ValueId loop = kAbsent;  // of the forward function
    std::vector<std::size_t> saves;
    BlockId reversed_body = kAbsent;
    ValueId index = kAbsent;  // the induction value in the backward pass
  };

  // Analysis.
  void index_blocks(BlockId block, ValueId owner);
  void find_arrays();
  void count_trips();
  bool is_within(BlockId inner, BlockId outer) const;
  ValueId loop_around(BlockId block) const;

  // Assembly.
  void add_parameters();
  void clone_forward(BlockId from, BlockId to);
  bool skip_forward(const Inst& inst) const;
  void insert_saves();
  void give_gradients(BlockId block);
  void mark_contents();

  // The backward pass.
  void reverse_block(BlockId from, BlockId to);
  void reverse_inst(ValueId id);
  void reverse_branch(const Inst& inst);
  void reverse_cond(const Inst& inst, ValueId adjoint);
  void reverse_loop(const Inst& inst, ValueId id);
  void reverse_memory(const Inst& inst, ValueId id);
  void reverse_call(const Inst& inst, ValueId id);
  void reverse_result(const Inst& inst, ValueId adjoint);
  void apply_rule(const Inst& inst, ValueId id, ValueId adjoint);
  void rule_binary(const Inst& inst, ValueId id, ValueId adjoint);
  void rule_unary(const Inst& inst, ValueId id, ValueId adjoint);
  void rule_block(const Inst& inst, ValueId id, ValueId adjoint);
  void rule_composite(const Inst& inst, ValueId adjoint);

  // Adjoints.
  bool active(ValueId id) const;
  void contribute(ValueId id, ValueId amount);
  void contribute_part(ValueId id, std::int64_t part, ValueId amount);
  ValueId take(ValueId id);  // kAbsent without contributions
  ValueId current(ValueId id);
  void declare_gradients(BlockId from);
  void clear(ValueId id);
  ValueId gradient_array(ValueId array);

  // Primal values, at the place that is being built.
  ValueId primal(ValueId id);
  ValueId saved(ValueId id);
  bool still_holds(ValueId get) const;

  // Small expressions.
  ValueId add(ValueId a, ValueId b) { return b_.binary(Op::add, a, b); }
  ValueId mul(ValueId a, ValueId b) { return b_.binary(Op::mul, a, b); }
  ValueId number(TypeId type, double value);
  ValueId dot(ValueId a, ValueId b);  // sum over components
  ValueId scaled(ValueId a, double factor);

  Module& module_;
  Function w_;  // the forward function
  Function out_;
  Builder b_;
  std::vector<ValueId> forward_;         // copies of w_'s values in out_
  std::vector<BlockId> home_;            // of w_'s values
  std::vector<std::uint32_t> position_;  // program order of w_'s values
  std::vector<BlockId> parent_;          // of w_'s blocks
  std::vector<ValueId> owner_;
  std::vector<bool> nested_use_;
  std::vector<bool> written_;  // w_'s arrays
  std::vector<bool> loaded_;
  std::vector<bool> min_max_;
  std::vector<std::uint32_t> n_stores_;
  std::vector<ValueId> trips_;            // of loops whose number of iterations is counted
  std::vector<ValueId> gradient_params_;  // by parameter of w_
  std::vector<Gradient> gradients_;
  std::vector<std::vector<Gradient>> call_gradients_;  // of results of calls, by call
  std::vector<std::size_t> save_of_;                   // by value of w_
  std::vector<Save> saves_;
  std::vector<LoopState> loops_;                   // by loop, in the order they are reversed
  std::vector<std::pair<ValueId, ValueId>> memo_;  // rebuilt values, by scope
  std::vector<ValueId> operands_;                  // a stack: of values that are being rebuilt
  BlockId prologue_ = kAbsent;
  BlockId forward_block_ = kAbsent;
  std::uint32_t counter_ = 0;
  std::uint32_t epoch_ = 1;
  bool uses_tape_ = false;
};

// The index of the adjoint of function `callee`, built on first use; -1 if it has no gradient.
int adjoint_of(Module& module, int callee);

}  // namespace causeway::lang::adjoint
