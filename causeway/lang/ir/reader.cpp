// Reads and verifies IR text.
#include "causeway/core/shown.h"
#include "causeway/lang/ir/builder.h"
#include "causeway/lang/ir/scanner.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <unordered_map>

namespace causeway::lang {

namespace {

constexpr int kMaxRegionDepth = 100;

class Reader : IrScanner {
 public:
  explicit Reader(std::shared_ptr<const Source> source)
      : IrScanner(std::move(source)), builder_(module_, empty_) {
    module_.source = this->source();
  }

  Module run() {
    while (!at_end()) {
      const std::string_view word = name();
      if (word == "struct") {
        structure();
      } else if (word == "kernel" || word == "func") {
        function(word == "kernel");
      } else {
        fail("expected struct, kernel or func");
      }
    }
    return std::move(module_);
  }

 private:
  int size(int most) {
    const std::int64_t n = integer();
    if (n < 1 || n > most) fail("size is out of range");
    return static_cast<int>(n);
  }

  Scalar scalar() { return scalar_named(name()); }

  Scalar scalar_named(std::string_view word) const {
    for (int i = 0; i < kScalarCount; ++i) {
      if (short_name(static_cast<Scalar>(i)) == word) return static_cast<Scalar>(i);
    }
    fail("unknown type " + shown(word));
  }

  TypeId type() {
    if (++depth_ > kMaxRegionDepth) fail("types are nested too deeply");
    const TypeId id = type_inside();
    --depth_;
    return id;
  }

  TypeId type_inside() {
    if (accept('$')) {
      const std::string_view word = name();
      for (const StructInfo& candidate : module_.types.structures()) {
        if (candidate.name == word) return candidate.type;
      }
      fail("unknown struct " + shown(word));
    }
    const std::string_view word = name();
    TypeId id = kNone;
    if (word == "vec") {
      expect('<');
      const int n = size(kMaxVectorLength);
      expect(',');
      id = module_.types.vec(n, scalar());
    } else if (word == "mat") {
      expect('<');
      const int rows = size(kMaxVectorLength);
      expect(',');
      const int cols = size(kMaxVectorLength);
      if (rows * cols > 256) fail("size is out of range");
      expect(',');
      id = module_.types.mat(rows, cols, scalar());
    } else if (word == "quat") {
      expect('<');
      id = module_.types.quat(scalar());
    } else if (word == "array") {
      expect('<');
      const TypeId element = type();
      if (element == kNone || module_.types.has_array(element) ||
          module_.types.is(element, TypeKind::tuple))
        fail("an array needs plain elements");
      expect(',');
      id = module_.types.array(element, size(kMaxArrayDims));
    } else if (word == "tuple") {
      expect('<');
      std::vector<TypeId> members;
      do {
        members.push_back(type());
        if (module_.types.is(members.back(), TypeKind::tuple) ||
            module_.types.has_array(members.back()) || members.back() == kNone)
          fail("a tuple needs plain members");
      } while (accept(','));
      if (members.size() > 26) fail("a tuple has at most 26 members");
      id = module_.types.tuple(members);
    } else {
      return scalar_type(scalar_named(word));
    }
    expect('>');
    return id;
  }

  void structure() {
    expect('$');
    const std::string_view word = name();
    for (const StructInfo& other : module_.types.structures()) {
      if (other.name == word) fail("struct " + shown(word) + " is declared twice");
    }
    expect('{');
    std::vector<Field> fields;
    while (!accept('}')) {
      if (!fields.empty()) expect(',');
      const std::string_view field = name();
      expect(':');
      const TypeId field_type = type();
      if (module_.types.is(field_type, TypeKind::tuple)) fail("a field cannot be a tuple");
      fields.push_back({field, field_type});
      if (fields.size() > 1000) fail("struct has too many fields");
    }
    module_.types.add_struct(word, std::move(fields));
    if (module_.types.size_bytes(module_.types.structures().back().type) > 65536)
      fail("struct is too large");
  }

  static std::string_view hint(std::string_view text) {
    if (text[0] >= '0' && text[0] <= '9') return {};
    return text.substr(0, text.find('\''));
  }

  void define(std::string_view text, ValueId id) {
    if (!values_.emplace(text, id).second)
      fail("value %" + std::string(text) + " is defined twice");
  }

  void function(bool kernel) {
    Function made;
    made.kind = kernel ? FunctionKind::kernel : FunctionKind::function;
    expect('@');
    made.name = name();
    made.blocks.emplace_back();
    builder_ = Builder(module_, made);
    values_.clear();
    expect('(');
    while (!accept(')')) {
      if (!made.params.empty()) expect(',');
      Param param;
      const std::string_view text = value_name();
      param.name = hint(text);
      expect(':');
      param.type = type();
      if (module_.types.is(param.type, TypeKind::tuple) ||
          (module_.types.has_array(param.type) && !module_.types.is(param.type, TypeKind::array))) {
        fail("a parameter is a value or an array");
      }
      param.argument = static_cast<std::uint32_t>(made.params.size());
      if (accept_word("gradient")) param.role = ParamRole::gradient;
      if (accept_word("of"))
        param.argument =
            static_cast<std::uint32_t>(std::clamp<std::int64_t>(integer(), 0, 1 << 20));
      if (accept_word("scratch")) param.content = ArrayContent::scratch;
      if (accept_word("after")) param.content = ArrayContent::after;
      define(text, builder_.param(param));
    }
    if (accept('-')) {
      expect('>');
      made.result = type();
      if (module_.types.has_array(made.result)) fail("a function cannot return an array");
    }
    if (kernel && made.result != kNone) fail("a kernel returns nothing");
    if (accept_word("dims")) made.dims = size(kMaxArrayDims);
    if (kernel && made.dims == 0) fail("a kernel needs its launch dimensions");
    made.helper = accept_word("helper");
    if (accept_word("symbol")) made.symbol = quoted();
    if (!made.symbol.empty() && made.symbol != "*") fail("unknown symbol");
    expect('{');
    block(made, 0);
    for (const Inst& inst : made.insts) {
      const bool calls = inst.op == Op::call && inst.imm >= 0 &&
                         inst.imm < static_cast<std::int64_t>(module_.functions.size()) &&
                         module_.functions[static_cast<std::size_t>(inst.imm)].effects;
      made.effects = made.effects || inst.op == Op::store || is_atomic(inst.op) ||
                     inst.op == Op::print || inst.op == Op::push || calls;
    }
    module_.functions.push_back(std::move(made));
    const std::string problem = verify(module_, module_.functions.back());
    if (!problem.empty()) fail(problem);
  }

  void block(Function& made, BlockId id) {
    if (++depth_ > kMaxRegionDepth) fail("regions are nested too deeply");
    while (!accept('}')) {
      if (peek() == '\0') fail("region is not closed");
      builder_.set_block(id);
      instruction(made);
    }
    --depth_;
  }

  // Reads a constant; its type, which follows, decides how a literal is parsed.
  void constant(Inst& inst) {
    real_ = accept_word("nan");
    if (real_) {
      inst.imm = std::bit_cast<std::int64_t>(std::numeric_limits<double>::quiet_NaN());
      return;
    }
    const std::size_t begin = position();
    const double sign = accept('-') ? -1 : 1;
    real_ = accept_word("inf");
    if (real_) {
      inst.imm = std::bit_cast<std::int64_t>(sign * std::numeric_limits<double>::infinity());
    } else {
      literal_ = number_from(begin);
    }
  }

  void finish_constant(Inst& inst) {
    if (!module_.types.is_scalar(inst.type)) fail("a constant is a scalar");
    const Scalar s = module_.types[inst.type].scalar;
    if (real_) {
      if (!is_float(s)) fail("constant does not fit its type");
      return;
    }
    const char* end = literal_.data() + literal_.size();
    if (is_float(s)) {
      double value = 0;
      const auto done = std::from_chars(literal_.data(), end, value);
      if (done.ec != std::errc() || done.ptr != end) fail("invalid constant");
      inst.imm = std::bit_cast<std::int64_t>(rounded(value, s));
      return;
    }
    std::int64_t value = 0;
    const auto done = std::from_chars(literal_.data(), end, value);
    if (done.ec != std::errc() || done.ptr != end || wrapped(value, s) != value)
      fail("invalid constant");
    inst.imm = value;
  }

  static bool has_number(Op op) {
    return op == Op::field || op == Op::insert_field || op == Op::tid || op == Op::shape ||
           op == Op::result;
  }

  void instruction(Function& made) {
    std::string_view target;
    if (peek() == '%') {
      target = value_name();
      expect('=');
    }
    Inst parsed;
    const std::string_view word = name();
    if (!find_op(word, parsed.op) || parsed.op == Op::param)
      fail("unknown operation " + shown(word));
    std::vector<ValueId> operands;
    bool more = peek() != ':' && peek() != '{' && peek() != '}' && peek() != '\0';
    if (parsed.op == Op::constant) {
      constant(parsed);
      more = false;
    } else if (parsed.op == Op::call) {
      expect('@');
      name();
      expect('#');
      parsed.imm = integer();
      more = accept(',');
    } else if (parsed.op == Op::check || parsed.op == Op::print) {
      parsed.name = quoted();
      more = accept(',');
    }
    bool numbered = !has_number(parsed.op);
    while (more) {
      const char c = peek();
      if (c == '%') {
        // An instruction without operands ends where the next one's name begins.
        if (operands.empty() && parsed.op != Op::call && parsed.op != Op::check &&
            parsed.op != Op::print && takes_nothing(parsed.op))
          break;
        const std::string_view text = value_name();
        const auto found = values_.find(text);
        if (found == values_.end()) fail("unknown value %" + std::string(text));
        operands.push_back(found->second);
      } else if (!numbered && (c == '-' || (c >= '0' && c <= '9'))) {
        parsed.imm = integer();
        numbered = true;
      } else {
        if (operands.empty() && (takes_nothing(parsed.op) || parsed.op == Op::give)) break;
        fail("expected an operand");
      }
      if (operands.size() > 1024) fail("too many operands");
      more = accept(',');
    }
    if (!numbered) fail("expected a number");
    if (accept(':')) parsed.type = type();
    if ((parsed.type != kNone) != !target.empty()) {
      const bool unnamed_value = target.empty() && parsed.type != kNone;
      fail(unnamed_value ? "a value needs a name" : "a name needs a value");
    }
    if (parsed.op == Op::constant) finish_constant(parsed);
    const BlockId here = builder_.block();
    const ValueId id = builder_.detached(parsed.op, parsed.type, operands);
    made[id].imm = parsed.imm;
    made[id].name = parsed.op == Op::check || parsed.op == Op::print ? parsed.name
                    : target.empty()                                 ? std::string_view{}
                                                                     : hint(target);
    if (!target.empty()) define(target, id);
    const int regions = parsed.op == Op::branch || parsed.op == Op::cond || parsed.op == Op::repeat
                            ? 2
                        : parsed.op == Op::loop ? 1
                                                : 0;
    for (int i = 0; i < regions; ++i) {
      expect('{');
      const BlockId inner = builder_.new_block();
      made[id].blocks[i] = inner;
      block(made, inner);
    }
    builder_.set_block(here);
    builder_.append(id);
  }

  static bool takes_nothing(Op op) {
    return op == Op::leave || op == Op::proceed || op == Op::repeat || op == Op::zero ||
           op == Op::var || op == Op::pop || op == Op::tape_check;
  }

  int depth_ = 0;
  Module module_;
  Function empty_;
  Builder builder_;
  std::unordered_map<std::string_view, ValueId> values_;
  std::string_view literal_;  // of the constant that is read
  bool real_ = false;         // it is NaN or infinite, and has no literal
};

}  // namespace

Module read_ir(std::string name, std::string text) {
  return Reader(std::make_shared<const Source>(std::move(name), std::move(text))).run();
}

}  // namespace causeway::lang
