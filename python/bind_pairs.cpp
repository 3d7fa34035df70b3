// Kernel pairs: records are passed as lines of JSON.
#include "causeway/pairs/dataset_json.h"
#include "causeway/pairs/score_text.h"
#include "causeway/pairs/verify_record.h"
#include "causeway/runtime/threads.h"
#include "python/bind.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/vector.h>

#include <deque>

namespace causeway::python {

namespace {

pairs::DatasetConfig config_of(const std::string& json) {
  pairs::DatasetConfig config;
  pairs::describe_dataset().read(&config, Json::parse(json));
  return config;
}

// The records of a configuration one after the other.
class Records {
 public:
  explicit Records(const std::string& json)
      : config_(config_of(json)), stream_(config_.stream(thread_count())) {}

  std::string next() {
    while (ready_.empty()) {
      for (const pairs::Record& record : stream_.next(64))
        ready_.push_back(to_json(record, config_.device));
    }
    std::string record = std::move(ready_.front());
    ready_.pop_front();
    return record;
  }

 private:
  pairs::DatasetConfig config_;
  pairs::Stream stream_;
  std::deque<std::string> ready_;
};

std::vector<std::string> read(const std::filesystem::path& path) {
  std::vector<std::string> lines;
  pairs::read_records(path,
                      [&](std::string_view line, const std::string&) { lines.emplace_back(line); });
  return lines;
}

}  // namespace

void bind_pairs(nb::module_& module) {
  nb::module_ pairs = module.def_submodule("_pairs");
  pairs.def("fields", [] { return pairs::describe_dataset().to_table().dump(); });
  nb::class_<Records>(pairs, "Records")
      .def(nb::init<const std::string&>())
      .def("next", [](Records& self) { return without_gil([&] { return self.next(); }); });
  pairs.def("write", [](const std::string& json, const std::filesystem::path& out,
                        const std::function<void(std::int64_t, std::int64_t)>& report) {
    const pairs::DatasetConfig config = config_of(json);
    const pairs::DatasetResult result = without_gil([&] {
      return pairs::write_dataset(config, out, thread_count(),
                                  [&](const pairs::DatasetProgress& progress) {
                                    const nb::gil_scoped_acquire gil;
                                    report(progress.written, progress.count);
                                  });
    });
    return result.written;
  });
  pairs.def("verify", [](const std::string& record) {
    return without_gil([&] { return pairs::verify_record(record).problem; });
  });
  pairs.def("score", [](const std::string& record, const std::string& cuda, bool gpu) {
    const auto score = without_gil([&] { return pairs::score_text(record, cuda, gpu); });
    return nb::make_tuple(std::string(name_of(score.stage)), score.problem);
  });
  pairs.def("run", [](const std::string& record, int set) {
    const auto outputs = without_gil([&] { return pairs::run_record(record, set); });
    nb::list result;
    for (const pairs::OutputArray& output : outputs) {
      result.append(nb::make_tuple(
          output.name, output.scalar, nb::cast(output.shape),
          nb::bytes(reinterpret_cast<const char*>(output.bytes.data()), output.bytes.size())));
    }
    return result;
  });
  pairs.def("read", [](const std::filesystem::path& path) {
    return without_gil([&] { return read(path); });
  });
}

}  // namespace causeway::python
