#include "causeway/lang/source.h"

#include "causeway/core/shown.h"

#include <algorithm>

namespace causeway::lang {

namespace {

constexpr std::size_t kShownColumns = 120;

// The source line with control characters made visible and a caret line under the span.
std::string excerpt(const Source& source, Span span, Position position) {
  std::string_view line = source.line(position.line);
  const auto column = static_cast<std::size_t>(position.column - 1);
  std::size_t first = column > kShownColumns / 2 ? column - kShownColumns / 2 : 0;
  if (line.size() <= kShownColumns) first = 0;
  const std::string_view part = line.substr(std::min(first, line.size()), kShownColumns);
  std::string text = "\n  ";
  for (const char c : part) text += c >= ' ' && c <= '~' ? c : (c == '\t' ? ' ' : '?');
  text += "\n  ";
  text.append(column - first, ' ');
  text += '^';
  const std::size_t length = span.end > span.begin ? span.end - span.begin : 1;
  const std::size_t room = first + part.size() > column ? first + part.size() - column : 1;
  const std::size_t tail = std::min(length, room);
  if (tail > 1) text.append(tail - 1, '~');
  return text;
}

std::string describe(const Source& source, Span span, const Diagnostic& d) {
  const Place place = source.place(span.begin);
  std::string text = place.file + ":" + std::to_string(place.line) + ":" +
                     std::to_string(place.column) + ": error: " + d.message +
                     excerpt(source, span, source.position(span.begin));
  if (!d.found.empty()) text += "\n  found: " + d.found;
  if (!d.expected.empty()) text += "\n  expected: " + d.expected;
  if (!d.hint.empty()) text += "\n  hint: " + d.hint;
  return text;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

Source::Source(std::string name, std::string text, std::vector<Origin> origins)
    : name_(std::move(name)), text_(std::move(text)), origins_(std::move(origins)) {}

std::string_view Source::text(Span span) const {
  if (span.begin > text_.size() || span.end < span.begin) return {};
  return std::string_view(text_).substr(span.begin, span.end - span.begin);
}

// Counted each time: sources are short, and shared by threads.
Position Source::position(std::uint32_t offset) const {
  const std::string_view before =
      std::string_view(text_).substr(0, std::min<std::size_t>(offset, text_.size()));
  const std::size_t start = before.rfind('\n') + 1;  // 0 if there is none
  const auto line = static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1;
  return {line, static_cast<int>(before.size() - start) + 1};
}

Place Source::place(std::uint32_t offset) const {
  const Position at = position(offset);
  Place place{name_, at.line, at.column};
  for (const Origin& origin : origins_) {
    if (origin.first_line > at.line) break;
    place = {origin.file, at.line - origin.first_line + origin.line, at.column + origin.indent};
  }
  return place;
}

std::string_view Source::line(int number) const {
  std::string_view rest = text_;
  for (; number > 1; --number) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return {};
    rest.remove_prefix(end + 1);
  }
  std::string_view line = rest.substr(0, rest.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

CompileError::CompileError(const Source& source, Span span, const Diagnostic& diagnostic)
    : Error(ErrorKind::compile, describe(source, span, diagnostic)),
      place_(source.place(span.begin)),
      diagnostic_(diagnostic) {}

std::string_view nearest_name(std::string_view name,
                              const std::vector<std::string_view>& candidates) {
  std::string_view best;
  std::size_t best_distance = name.size() / 3 + 2;
  if (name.size() > 64) return best;
  for (const std::string_view candidate : candidates) {
    const std::size_t shorter = std::min(name.size(), candidate.size());
    const std::size_t longer = std::max(name.size(), candidate.size());
    if (longer - shorter >= best_distance) continue;
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance && distance < longer) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace causeway::lang
