#include "causeway/train/sink.h"

#include "causeway/core/error.h"
#include "causeway/core/file.h"
#include "causeway/data/hdf5.h"
#include "causeway/data/npz.h"
#include "causeway/data/parquet_dump.h"
#include "causeway/train/manifest.h"

#include <fmt/format.h>

namespace causeway::train {

namespace {

class FileSink : public Sink {
 public:
  FileSink(std::unique_ptr<data::ArrayFile> file, const data::ArrayLayout& layout)
      : file_(std::move(file)), layout_(layout) {}

  void put(std::int64_t at, const NamedTensors& columns) override {
    for (const auto& [name, values] : columns) file_->write(name, at, values);
  }
  NamedTensors get(std::int64_t at, std::int64_t n) override {
    NamedTensors columns;
    for (const data::ArrayColumn& column : layout_.columns) {
      columns.emplace_back(column.name, file_->read(column.name, at, n));
    }
    return columns;
  }
  void finish() override { file_->finish(); }

 private:
  std::unique_ptr<data::ArrayFile> file_;
  data::ArrayLayout layout_;
};

class FolderSink : public Sink {
 public:
  FolderSink(const std::filesystem::path& folder, const data::ArrayLayout& layout, bool is_new)
      : folder_(folder), layout_(layout) {
    std::error_code error;
    if (is_new) std::filesystem::remove_all(folder, error);
    if (is_new && !error) std::filesystem::create_directory(folder, error);
    if (error) fail_io(kPriorGenerate, "write", folder, error.value());
  }

  void put(std::int64_t at, const NamedTensors& columns) override {
    data::NpzWriter writer(kPriorGenerate, path_of(at));
    for (const auto& [name, values] : columns) writer.add(name, values);
    for (const data::ArrayConstant& constant : layout_.constants) writer.add(constant);
    writer.commit();
  }
  NamedTensors get(std::int64_t at, std::int64_t n) override {
    const auto arrays = load_npz(path_of(at));
    NamedTensors columns;
    for (const data::ArrayColumn& column : layout_.columns) {
      const auto found = arrays.find(column.name);
      Shape shape = column.entry;
      shape.insert(0, n);
      if (found == arrays.end() || found->second.dtype() != column.dtype ||
          !(found->second.shape() == shape)) {
        fail(ErrorKind::format, kPriorGenerate,
             fmt::format("\"{}\": array \"{}\" is missing or has another shape",
                         path_of(at).string(), column.name));
      }
      columns.emplace_back(column.name, found->second);
    }
    return columns;
  }
  void finish() override {}

 private:
  std::filesystem::path folder_;
  data::ArrayLayout layout_;

  std::filesystem::path path_of(std::int64_t at) const {
    return folder_ / fmt::format("batch-{:06}.npz", at / layout_.chunk);
  }
};

}  // namespace

std::string format_of(const std::filesystem::path& out) {
  const std::string extension = out.extension().string();
  if (extension == ".h5" || extension == ".hdf5") return "hdf5";
  if (extension == ".npz") return "npz";
  if (extension == ".parquet") return "parquet";
  if (extension.empty()) return "folder";
  fail(ErrorKind::invalid_argument, kPriorGenerate,
       fmt::format("\"{}\": expected a file name that ends in .h5, .hdf5, .npz or .parquet, or a "
                   "folder name without an extension",
                   out.string()));
}

std::unique_ptr<Sink> open_sink(const std::string& format, const std::filesystem::path& path,
                                const data::ArrayLayout& layout, bool is_new) {
  if (format == "folder") return std::make_unique<FolderSink>(path, layout, is_new);
  const auto open = [&] {
    if (format == "hdf5") return is_new ? data::create_hdf5 : data::resume_hdf5;
    if (format == "parquet") return is_new ? data::create_parquet : data::resume_parquet;
    return is_new ? data::create_npz : data::resume_npz;
  }();
  return std::make_unique<FileSink>(open(kPriorGenerate, path, layout), layout);
}

}  // namespace causeway::train
