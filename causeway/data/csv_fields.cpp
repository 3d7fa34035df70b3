#include "causeway/data/csv_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

namespace causeway::csv {

namespace {

// Parses digits of a fixed width; -1 if there are others.
int digits(std::string_view text, std::size_t at, std::size_t width) {
  int value = 0;
  for (std::size_t i = at; i < at + width; ++i) {
    if (i >= text.size() || text[i] < '0' || text[i] > '9') return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

std::int64_t days_from_civil(std::int64_t year, int month, int day) {
  year -= month <= 2 ? 1 : 0;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t year_of_era = year - era * 400;
  const std::int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const std::int64_t day_of_era =
      year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097 + day_of_era - 719468;
}

int days_in(int year, int month) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return kDays[month - 1] + (month == 2 && leap ? 1 : 0);
}

// "12:34", "12:34:56" or "12:34:56.789", optionally followed by "Z".
bool parse_clock(std::string_view text, std::int64_t& microseconds) {
  const int hour = digits(text, 0, 2), minute = digits(text, 3, 2);
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || text[2] != ':') return false;
  microseconds = (hour * 60LL + minute) * 60000000;
  text.remove_prefix(5);
  if (text.ends_with('Z')) text.remove_suffix(1);
  if (text.empty()) return true;
  const int second = digits(text, 1, 2);
  if (text[0] != ':' || second < 0 || second > 59) return false;
  microseconds += second * 1000000LL;
  text.remove_prefix(3);
  if (text.empty()) return true;
  if (text[0] != '.' || text.size() < 2 || text.size() > 10) return false;
  std::int64_t unit = 100000;
  for (std::size_t i = 1; i < text.size(); ++i) {
    const int digit = digits(text, i, 1);
    if (digit < 0) return false;
    microseconds += digit * unit;
    unit /= 10;
  }
  return true;
}

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter =
        text[i] >= 'A' && text[i] <= 'Z' ? static_cast<char>(text[i] + 32) : text[i];
    if (letter != lower[i]) return false;
  }
  return true;
}

}  // namespace

void fail_at(const Layout& layout, const CsvError& error) {
  std::string place = fmt::format("line {}", error.line);
  if (error.column > 0) {
    place += fmt::format(", column {}", error.column);
    const auto at = static_cast<std::size_t>(error.column) - 1;
    if (at < layout.names.size()) place += fmt::format(" {}", shown(layout.names[at]));
  }
  layout.origin.fail_format(fmt::format("{}: {}", place, error.message));
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

namespace {

// Fast path for decimals of up to 15 digits: digits and power of ten are exact, so that a single
// rounding gives the nearest f64 (Clinger, PLDI 1990). Returns false for everything else, numeric
// or not.
bool parse_short(std::string_view text, double& value) {
  constexpr double kPowers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  if (text.empty() || text.size() > 17) return false;
  std::size_t at = text[0] == '-' ? 1 : 0;
  const std::size_t first = at;
  std::uint64_t digits_seen = 0;
  std::size_t point = text.size();
  for (; at < text.size(); ++at) {
    const auto digit = static_cast<unsigned>(text[at] - '0');
    if (digit <= 9) {
      digits_seen = digits_seen * 10 + digit;
    } else if (text[at] == '.' && point == text.size()) {
      point = at;
    } else {
      return false;
    }
  }
  const std::size_t behind = point == text.size() ? 0 : text.size() - point - 1;
  const std::size_t n = text.size() - first - (point == text.size() ? 0 : 1);
  if (n == 0 || n > 15) return false;
  value = static_cast<double>(digits_seen) / kPowers[behind];
  if (first == 1) value = -value;
  return true;
}

}  // namespace

bool parse_number(std::string_view text, double& value) {
  if (parse_short(text, value)) return true;
  if (!text.empty() && text.front() == '+') {
    text.remove_prefix(1);
    if (!text.empty() && text.front() == '-') return false;
  }
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range && stop == end) {
    // Overflow gives infinity, underflow 0.
    const bool negative = text.front() == '-';
    const std::size_t exponent = text.find_first_of("eE");
    const bool tiny = exponent != std::string_view::npos && exponent + 1 < text.size() &&
                      text[exponent + 1] == '-';
    value = tiny ? 0.0 : HUGE_VAL;
    if (negative) value = -value;
    return true;
  }
  return error == std::errc() && stop == end;
}

bool parse_boolean(std::string_view text, bool& value) {
  value = equals_ignoring_case(text, "true");
  return value || equals_ignoring_case(text, "false");
}

bool parse_time(std::string_view text, std::int64_t& microseconds) {
  if (text.size() < 10 || text[4] != '-' || text[7] != '-') return false;
  const int year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2);
  if (year < 0 || month < 1 || month > 12 || day < 1 || day > days_in(year, month)) return false;
  microseconds = days_from_civil(year, month, day) * 86400000000LL;
  if (text.size() == 10) return true;
  if (text.size() < 16 || (text[10] != 'T' && text[10] != ' ')) return false;
  std::int64_t clock = 0;
  if (!parse_clock(text.substr(11), clock)) return false;
  microseconds += clock;
  return true;
}

void set_missing(Layout& layout, std::vector<std::string> words) {
  layout.missing = std::move(words);
  for (const std::string& word : layout.missing) {
    if (!word.empty()) layout.missing_starts[static_cast<unsigned char>(word[0])] = true;
  }
}

bool is_missing(const Layout& layout, std::string_view field) {
  if (!field.empty() && !layout.missing_starts[static_cast<unsigned char>(field[0])]) return false;
  for (const std::string& word : layout.missing) {
    if (field == word) return true;
  }
  return false;
}

std::size_t record_end(std::string_view text, std::size_t from, bool quoted) {
  for (std::size_t i = from; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (text[i] == '\n' && !quoted) return i + 1;
  }
  return text.size();
}

char find_delimiter(std::string_view text) {
  text = text.substr(0, std::size_t{1} << 16);  // a stray quote must not read the whole file
  const auto count_in = [](std::string_view record, char delimiter) {
    bool quoted = false;
    std::int64_t count = 0;
    for (const char c : record) {
      if (c == '"') quoted = !quoted;
      if (c == delimiter && !quoted) ++count;
    }
    return count;
  };
  const std::size_t start = std::min(text.find_first_not_of("\r\n"), text.size());
  const std::size_t middle = record_end(text, start, false);
  const std::string_view first = text.substr(start, middle - start);
  const std::string_view second = text.substr(middle, record_end(text, middle, false) - middle);
  char best = ',';
  std::int64_t most = 0;
  for (const char delimiter : {',', ';', '\t'}) {
    const std::int64_t count = count_in(first, delimiter);
    // Names may contain other delimiters, so that equal counts come first.
    const bool agrees = second.empty() || count == count_in(second, delimiter);
    const std::int64_t score = 2 * count + (agrees && count > 0 ? (std::int64_t{1} << 40) : 0);
    if (score > most) {
      most = score;
      best = delimiter;
    }
  }
  return best;
}

bool FieldReader::skip_empty_line() {
  std::size_t end = at_;
  if (end < text_.size() && text_[end] == '\r') ++end;
  if (end < text_.size() && text_[end] != '\n') return false;
  at_ = std::min(end + 1, text_.size());
  ++line_;
  return true;
}

// Consumes what follows a field: a delimiter, or the end of the record.
bool FieldReader::finish(std::size_t end, bool& last) {
  last = end >= text_.size() || text_[end] != delimiter_;
  if (last && end < text_.size()) {
    if (text_[end] == '\r') ++end;
    ++line_;
  }
  at_ = std::min(end + 1, text_.size());
  return true;
}

bool FieldReader::next(std::string_view& field, bool& last, std::string& problem) {
  if (at_ < text_.size() && text_[at_] == '"') return next_quoted(field, last, problem);
  const char* const begin = text_.data() + at_;
  const char* const end = text_.data() + text_.size();
  const char* at = begin;
  while (at < end && !stops_[static_cast<unsigned char>(*at)]) ++at;
  if (at < end && *at == '"') {
    problem =
        "a quote inside an unquoted field; put the field in quotes and "
        "double those inside it";
    return false;
  }
  const char* stop = at;
  const bool ends_line = at == end || *at == '\n';
  if (ends_line && stop > begin && stop[-1] == '\r') --stop;
  field = {begin, static_cast<std::size_t>(stop - begin)};
  return finish(static_cast<std::size_t>(at - text_.data()), last);
}

bool FieldReader::next_quoted(std::string_view& field, bool& last, std::string& problem) {
  unquoted_.clear();
  std::size_t at = at_ + 1;
  const std::int64_t opened = line_;
  while (true) {
    const std::size_t quote = text_.find('"', at);
    if (quote == std::string_view::npos) {
      line_ = opened;
      problem = "a quoted field is not closed at the end of the file; the file may be truncated";
      return false;
    }
    const std::string_view part = text_.substr(at, quote - at);
    unquoted_ += part;
    line_ += std::count(part.begin(), part.end(), '\n');
    at = quote + 1;
    if (at >= text_.size() || text_[at] != '"') break;
    unquoted_ += '"';
    ++at;
  }
  const bool carriage = at + 1 < text_.size() && text_[at] == '\r' && text_[at + 1] == '\n';
  const bool ends = at >= text_.size() || text_[at] == delimiter_ || text_[at] == '\n' ||
                    carriage || (at + 1 == text_.size() && text_[at] == '\r');
  if (!ends) {
    problem = "text after a closing quote; double the quotes inside the field";
    return false;
  }
  field = unquoted_;
  return finish(at, last);
}

}  // namespace causeway::csv
