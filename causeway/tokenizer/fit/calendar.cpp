#include "causeway/tokenizer/fit/calendar.h"

namespace causeway::tokenizer {

namespace {

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

}  // namespace

Moment moment_of(std::int64_t time, std::int64_t units_per_second) {
  const std::int64_t seconds = floor_divide(time, units_per_second);
  const std::int64_t days = floor_divide(seconds, 86400);
  const auto second_of_day = static_cast<int>(seconds - days * 86400);
  // Days are counted from 0000-03-01 in cycles of 400 years, so that the leap day is the last day
  // of a year.
  const std::int64_t shifted = days + 719468;
  const std::int64_t era = floor_divide(shifted, 146097);
  const std::int64_t day_of_era = shifted - era * 146097;
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const auto day_of_year =
      static_cast<int>(day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100));
  const int month_from_march = (5 * day_of_year + 2) / 153;
  Moment moment;
  moment.day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
  moment.month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
  moment.year = year_of_era + era * 400 + (moment.month <= 2 ? 1 : 0);
  moment.weekday = static_cast<int>(((days + 3) % 7 + 7) % 7);  // 1970-01-01 was a Thursday
  moment.hour = second_of_day / 3600;
  moment.minute = second_of_day / 60 % 60;
  moment.second = second_of_day % 60;
  return moment;
}

std::int64_t field_of(const Moment& moment, TimeField field) {
  switch (field) {
    case TimeField::year: return moment.year;
    case TimeField::month: return moment.month - 1;
    case TimeField::day: return moment.day - 1;
    case TimeField::weekday: return moment.weekday;
    case TimeField::hour: return moment.hour;
    case TimeField::minute: return moment.minute;
    case TimeField::second: break;
  }
  return moment.second;
}

std::int64_t size_of_field(TimeField field) {
  switch (field) {
    case TimeField::month: return 12;
    case TimeField::day: return 31;
    case TimeField::weekday: return 7;
    case TimeField::hour: return 24;
    default: return 60;
  }
}

}  // namespace causeway::tokenizer
