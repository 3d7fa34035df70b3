#include "causeway/lang/ir/ir.h"

namespace causeway::lang {

namespace {

std::uint64_t mix(std::uint64_t h, std::uint64_t x) {
  h ^= x + 0x9e3779b97f4a7c15ULL + (h << 6) + (h >> 2);
  h *= 0xff51afd7ed558ccdULL;
  return h ^ h >> 32;
}

class Hasher {
 public:
  explicit Hasher(const Module& module) : module_(module) {}

  std::uint64_t function(const Function& of) {
    std::uint64_t h = mix(static_cast<std::uint64_t>(of.kind), static_cast<std::uint64_t>(of.dims));
    for (const Param& param : of.params) h = mix(h, type(param.type));
    std::vector<std::uint32_t> numbers(of.insts.size());
    std::uint32_t next = 0;
    for (std::size_t i = 0; i < of.params.size(); ++i) numbers[i] = ++next;
    return block(of, 0, h, numbers, next);
  }

 private:
  std::uint64_t type(TypeId id) {
    const Type& of = module_.types[id];
    std::uint64_t h =
        mix(static_cast<std::uint64_t>(of.kind), static_cast<std::uint64_t>(of.scalar));
    h = mix(h, static_cast<std::uint64_t>(of.rows) << 16 |
                   static_cast<std::uint64_t>(of.cols) << 8 | of.ndim);
    if (of.kind == TypeKind::array) h = mix(h, type(of.element));
    if (of.kind == TypeKind::structure) {
      for (const Field& field : module_.types.structure(id).fields) h = mix(h, type(field.type));
    }
    if (of.kind == TypeKind::tuple) {
      for (const TypeId member : module_.types.members(id)) h = mix(h, type(member));
    }
    return h;
  }

  // Constants are hashed by type and use only, not by value or position.
  std::uint64_t block(const Function& of, BlockId id, std::uint64_t h,
                      std::vector<std::uint32_t>& numbers, std::uint32_t& next) {
    for (const ValueId value : of.blocks[id].insts) {
      const Inst& inst = of[value];
      if (inst.op == Op::constant) continue;
      numbers[value] = ++next;
      h = mix(h, static_cast<std::uint64_t>(inst.op) << 32 | inst.count);
      h = mix(h, type(inst.type));
      if (inst.op == Op::call) {
        h = mix(h, function(module_.functions[static_cast<std::size_t>(inst.imm)]));
      } else {
        h = mix(h, static_cast<std::uint64_t>(inst.imm));
      }
      for (const ValueId operand : of.args(inst)) {
        const bool constant = of[operand].op == Op::constant;
        h = mix(h, constant ? type(of[operand].type) : numbers[operand]);
      }
      for (const BlockId inner : inst.blocks) {
        if (inner != kAbsent)
          h = mix(block(of, inner, mix(h, 0x5bd1e995), numbers, next), 0x27d4eb2f);
      }
    }
    return h;
  }

  const Module& module_;
};

}  // namespace

std::uint64_t structural_hash(const Module& module, const Function& function) {
  return Hasher(module).function(function);
}

}  // namespace causeway::lang
