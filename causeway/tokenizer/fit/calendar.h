// Dates and times in the Gregorian calendar, without time zones: fields of a moment, and moments
// from text as ISO 8601 writes them.
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

// The moment `time` units after 1970; parts of a second are dropped, downwards.
Moment moment_of(std::int64_t time, std::int64_t units_per_second);

// A field's number from 0: the month 0 to 11, the day 0 to 30, the year as it is.
std::int64_t field_of(const Moment& moment, TimeField field);

// How many values a field but the year can have.
std::int64_t size_of_field(TimeField field);

}  // namespace causeway::tokenizer
