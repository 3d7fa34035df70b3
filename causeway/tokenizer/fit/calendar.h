// Dates and times in the proleptic Gregorian calendar, without time zones: fields of a moment, and
// parsing of ISO 8601 text.
#pragma once

#include "causeway/tokenizer/options.h"

#include <cstdint>

namespace causeway::tokenizer {

struct Moment {
  std::int64_t year = 1970;
  int month = 1;    // 1 to 12
  int day = 1;      // 1 to 31
  int weekday = 0;  // 0 Monday to 6 Sunday
  int hour = 0;
  int minute = 0;
  int second = 0;
};

// The moment `time` units after 1970; fractions of a second are rounded down.
Moment moment_of(std::int64_t time, std::int64_t units_per_second);

// A field's value counted from 0: month 0 to 11, day 0 to 30; the year is unchanged.
std::int64_t field_of(const Moment& moment, TimeField field);

// Number of values of a field other than the year.
std::int64_t size_of_field(TimeField field);

}  // namespace causeway::tokenizer
