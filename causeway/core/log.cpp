#include "causeway/core/log.h"

#include "causeway/core/colour.h"
#include "causeway/core/environment.h"
#include "causeway/core/shown.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace causeway::logger {

namespace {

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    const auto colours =
        shows_colours(stderr) ? spdlog::color_mode::always : spdlog::color_mode::never;
    auto made = std::make_shared<spdlog::logger>(
        "causeway", std::make_shared<spdlog::sinks::stderr_color_sink_mt>(colours));
    made->set_pattern("causeway %^%l%$: %v");
    made->set_level(spdlog::level::from_str(environment("CAUSEWAY_LOG").value_or("warn")));
    return made;
  }();
  return *instance;
}

}  // namespace

void debug(std::string_view message) { logger().debug("{}", printable(message)); }
void info(std::string_view message) { logger().info("{}", printable(message)); }
void warn(std::string_view message) { logger().warn("{}", printable(message)); }
void error(std::string_view message) { logger().error("{}", printable(message)); }

}  // namespace causeway::logger
