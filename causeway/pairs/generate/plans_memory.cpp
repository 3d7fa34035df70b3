// Threads that read or write other elements than their own: stencils, gathers, scatters, strides.
#include "causeway/pairs/generate/plans.h"

namespace causeway::pairs {

using lang::Scalar;

namespace {

// Puts the element at `index` in scope under a local or as it is.
void read(Builder& b, const Array& array, const std::string& index, const std::string& phrase) {
  Expr value = array.at(index);
  if (index.size() > 12 || b.dice.chance(0.4)) {
    b.let(value);
    b.grammar.scope.back().phrase = phrase;
  } else {
    b.grammar.scope.push_back({value.text, value.type, value.range, phrase});
  }
}

// The value that a thread stores: an expression of what is in scope, scalar inputs and locals.
Expr stored_value(Builder& b, ValueType type, int extra_depth = 0) {
  scalar_inputs(b, type, b.dice.below(2));
  const ValueType types[] = {type};
  locals(b, types, b.statements());
  return b.absorb(b.grammar.make(type, b.depth() + extra_depth));
}

std::string neighbor(const std::string& i, int offset, const std::string& n, int style) {
  const std::string moved = i + (offset > 0 ? " + " : " - ") + std::to_string(std::abs(offset));
  switch (style) {
    case 0: return offset > 0 ? "wp.min(" + moved + ", " + n + " - 1)" : "wp.max(" + moved + ", 0)";
    case 1: return offset > 0 ? "(" + moved + ") % " + n : "(" + moved + " + " + n + ") % " + n;
    default: return moved;
  }
}

Program stencil(Builder& b, ValueType type) {
  const int radius = b.dice.between(1, 2);
  const int symbol = b.symbol({radius + 1});
  const Elements elements{symbol, b.names.take({"i", "tid", "idx"})};
  b.launch({{symbol}});
  b.line(elements.index + " = wp.tid()");
  const Array x = b.input(type, {{symbol}}, b.usual_range(type));
  const std::string n = b.size_parameter({symbol}, b.dice.pick({"n", "count", "length"}));
  const int style = b.dice.below(3);  // clamp, wrap, interior only
  if (style == 2) {
    b.open("if " + elements.index + " < " + std::to_string(radius) + " or " + elements.index +
           " >= " + n + " - " + std::to_string(radius) + ":");
    b.line("return");
    b.close();
  }
  for (int offset = -radius; offset <= radius; ++offset) {
    if (offset == 0) {
      if (b.dice.chance(0.8)) read(b, x, elements.index, x.name);
      continue;
    }
    if (radius == 2 && b.dice.chance(0.3)) continue;
    read(b, x, neighbor(elements.index, offset, n, style),
         std::string(std::abs(offset) == 1 ? "the " : "the second ") +
             (offset < 0 ? "left" : "right") + " neighbor");
  }
  if (b.grammar.scope.empty()) read(b, x, elements.index, x.name);
  scalar_inputs(b, type, b.dice.below(2));
  const ValueType types[] = {type};
  locals(b, types, b.statements() / 2);
  const Expr value = b.absorb(b.grammar.make(type, b.depth() + 1));
  const Array out = b.output(type, {{symbol}});
  b.store(out, elements.index, value);
  const char* kEdges[] = {"with clamped borders", "with periodic borders", "in the interior"};
  return b.finish(Category::memory, kernel_name(b, "stencil"),
                  sentence("applies a stencil to " + x.name + ", " + kEdges[style] + ", storing " +
                           value.phrase));
}

Program gather(Builder& b, ValueType type) {
  const Elements elements = begin_elements(b);
  const int table = b.symbol({1, 8, 40});
  const Array index = b.index_input({elements.size()}, Fill::indices, {table});
  const Array source = b.input(type, {{table}}, b.usual_range(type));
  const std::string at = b.names.take({"j", "src", "slot"});
  b.line(at + " = " + index.name + "[" + elements.index + "]");
  read(b, source, at, "the gathered " + source.name);
  element_inputs(b, elements, type, b.dice.below(2));
  const Expr value = stored_value(b, type);
  const Array out = b.output(type, {elements.size()});
  b.store(out, elements.index, value);
  return b.finish(Category::memory, kernel_name(b, "gather"),
                  sentence("gathers " + source.name + " through " + index.name + " and stores " +
                           value.phrase));
}

Program scatter(Builder& b, ValueType type) {
  const Elements elements = begin_elements(b);
  const Array order = b.index_input({elements.size()}, Fill::permutation);
  element_inputs(b, elements, type, b.dice.between(1, 2));
  const Expr value = stored_value(b, type);
  const Array out = b.output(type, {elements.size()});
  b.store(out, order.name + "[" + elements.index + "]", value);
  return b.finish(Category::memory, kernel_name(b, "scatter"),
                  sentence("scatters " + value.phrase + " to the places in " + order.name));
}

Program strided(Builder& b, ValueType type) {
  const Elements elements = begin_elements(b);
  const int stride = b.dice.between(2, 4);
  const bool parameter = b.dice.chance(0.4);
  const std::string step =
      parameter ? b.size_parameter({-1, 1, stride}, "stride") : std::to_string(stride);
  const Array x = b.input(type, {{elements.symbol, stride}}, b.usual_range(type));
  for (int k = 0; k < stride; ++k) {
    if (k > 1 && b.dice.chance(0.4)) continue;
    const std::string base = elements.index + " * " + step;
    read(b, x, k == 0 ? base : base + " + " + std::to_string(k),
         "value " + std::to_string(k) + " of the group");
  }
  const Expr value = stored_value(b, type);
  const Array out = b.output(type, {elements.size()});
  b.store(out, elements.index, value);
  return b.finish(Category::memory, kernel_name(b, "strided"),
                  sentence("reads groups of " + std::to_string(stride) + " consecutive values of " +
                           x.name + " and stores " + value.phrase));
}

Program reversed(Builder& b, ValueType type) {
  const Elements elements = begin_elements(b);
  const std::string n =
      b.size_parameter(elements.size(), b.dice.pick({"length", "total_count", "num"}));
  const Array x = b.input(type, {elements.size()}, b.usual_range(type));
  const std::string mirror = b.names.take({"j", "mirror", "back"});
  b.line(mirror + " = " + n + " - 1 - " + elements.index);
  read(b, x, mirror, "the mirrored " + x.name);
  if (b.dice.chance(0.6)) read(b, x, elements.index, x.name);
  const Expr value = stored_value(b, type);
  const Array out = b.output(type, {elements.size()});
  const bool forward = b.dice.chance(0.7);
  b.store(out, forward ? elements.index : mirror, value);
  return b.finish(Category::memory, kernel_name(b, "mirror"),
                  sentence("reads " + x.name + " from the end and stores " + value.phrase));
}

Program plane(Builder& b, ValueType type) {
  const int rows = b.symbol({2, 5, 11});
  const int cols = b.symbol({2, 6, 13});
  b.launch({{rows}, {cols}});
  b.line("i, j = wp.tid()");
  const Array x = b.input(type, {{rows}, {cols}}, b.usual_range(type));
  const bool transpose = b.dice.chance(0.35);
  read(b, x, "i, j", x.name);
  if (!transpose) {
    const std::string h = b.size_parameter({rows}, "height");
    const std::string w = b.size_parameter({cols}, "width");
    const int style = b.dice.below(2);
    const char* kWords[] = {"the upper neighbor", "the lower neighbor", "the left neighbor",
                            "the right neighbor"};
    for (int side = 0; side < 4; ++side) {
      if (b.dice.chance(0.25)) continue;
      const bool vertical = side < 2;
      const std::string moved =
          neighbor(vertical ? "i" : "j", side % 2 == 0 ? -1 : 1, vertical ? h : w, style);
      read(b, x, vertical ? moved + ", j" : "i, " + moved, kWords[side]);
    }
  }
  const Expr value = stored_value(b, type, 1);
  const Array out = transpose ? b.output(type, {{cols}, {rows}}) : b.output(type, {{rows}, {cols}});
  b.store(out, transpose ? "j, i" : "i, j", value);
  return b.finish(Category::memory, kernel_name(b, transpose ? "transpose" : "stencil2d"),
                  sentence(transpose ? "stores " + value.phrase + " in transposed order"
                                     : "applies a stencil to the grid " + x.name + ", storing " +
                                           value.phrase));
}

}  // namespace

Program plan_memory(Builder& b) {
  const ValueType type = scalar_of(b.dice.chance(0.85)  ? Scalar::f32
                                   : b.dice.chance(0.5) ? Scalar::i32
                                                        : Scalar::f64);
  constexpr double kWeights[] = {3, 2.5, 2, 2, 1.5, 3};
  switch (b.dice.weighted(kWeights)) {
    case 0: return stencil(b, type);
    case 1: return gather(b, type);
    case 2: return scatter(b, type);
    case 3: return strided(b, type);
    case 4: return reversed(b, type);
    default: return plane(b, type);
  }
}

}  // namespace causeway::pairs
