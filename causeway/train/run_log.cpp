#include "causeway/train/run_log.h"

#include "causeway/core/error.h"
#include "causeway/core/log.h"
#include "causeway/core/mapped_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

namespace causeway::train {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kRunLog = "run_log";

const std::filesystem::path& create_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail_io(kRunLog, "write", folder, error.value());
  return folder;
}

// nullopt if the line is not an object with a step.
std::optional<std::int64_t> step_of(std::string_view line) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("step") || !json["step"].is_number_integer()) {
    return std::nullopt;
  }
  return json["step"].get<std::int64_t>();
}

double seconds_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<double>(std::chrono::round<std::chrono::milliseconds>(now).count()) / 1000;
}

}  // namespace

RunLog::RunLog(const std::filesystem::path& run, std::int64_t last_step)
    : path_(create_folder(run) / "log.jsonl"),
      lines_(kRunLog, path_),
      events_(run, std::max<std::int64_t>(last_step, -1) + 1) {
  lines_.cut(find_end(last_step));
  if (last_step > 0 && last_step_ < 0) {
    logger::warn(fmt::format("[run_log] \"{}\" has no lines of the steps up to {}", path_.string(),
                             last_step));
  }
}

std::uint64_t RunLog::find_end(std::int64_t last_step) {
  const MappedFile file(kRunLog, path_);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  std::size_t end = 0;
  std::size_t n_lines = 0;
  std::size_t n_good = 0;  // lines up to `end`, including bad ones
  std::size_t first_bad = 0;
  for (std::size_t at = 0; at < text.size(); ++n_lines) {
    const std::size_t stop = text.find('\n', at);
    if (stop == std::string_view::npos) break;
    const auto step = step_of(text.substr(at, stop - at));
    at = stop + 1;
    if (!step) {
      if (first_bad == 0) first_bad = n_lines + 1;
      continue;
    }
    if (*step > last_step) break;
    last_step_ = std::max(last_step_, *step);
    end = at;
    n_good = n_lines + 1;
  }
  if (first_bad > 0) {
    logger::warn(fmt::format("[run_log] \"{}\": line {} is not a log line; it is {}",
                             path_.string(), first_bad, first_bad < n_good ? "kept" : "removed"));
  }
  if (!text.empty() && text.back() != '\n') {
    logger::warn(fmt::format("[run_log] \"{}\" ends in an incomplete line, which is removed",
                             path_.string()));
  }
  return end;
}

void RunLog::add(std::int64_t step, std::span<const NamedNumber> numbers) {
  if (step < last_step_) {
    fail(ErrorKind::invalid_argument, kRunLog,
         fmt::format("step {} after step {}; steps must not decrease", step, last_step_));
  }
  Json line{{"step", step}, {"time", seconds_now()}};
  for (const auto& [name, number] : numbers) {
    if (line.contains(name)) {
      fail(ErrorKind::invalid_argument, kRunLog,
           fmt::format("\"{}\" is given twice in step {}", name, step));
    }
    line[name] = std::isfinite(number) ? Json(number) : Json();
  }
  lines_.add(line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  last_step_ = step;
  events_.add(step, numbers);
}

}  // namespace causeway::train
