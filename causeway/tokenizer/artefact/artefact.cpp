#include "causeway/tokenizer/artefact/artefact.h"

#include "causeway/core/error.h"
#include "causeway/core/file.h"
#include "causeway/core/mapped_file.h"
#include "causeway/tokenizer/tokenizer.h"

#include <array>

namespace causeway::tokenizer {

std::string Tokenizer::to_json() const {
  Artefact artefact{options_, columns_, std::vector<std::int64_t>(columns_.size(), -1), source};
  for (const Slot& slot : slots_) {
    std::int64_t& first = artefact.offsets[static_cast<std::size_t>(slot.column)];
    if (first < 0) first = slot.offset;
  }
  return write_artefact(artefact);
}

Tokenizer Tokenizer::from_json(std::string_view text, const std::string& name) {
  Artefact artefact = read_artefact(text, name);
  Tokenizer tokenizer(std::move(artefact.columns), std::move(artefact.options));
  tokenizer.source = std::move(artefact.source);
  return tokenizer;
}

void Tokenizer::save(const std::filesystem::path& path) const {
  const std::string text = to_json();
  const std::array pieces{std::as_bytes(std::span(text))};
  write_file_atomically("tokenizer.save", path, pieces);
}

Tokenizer Tokenizer::load(const std::filesystem::path& path) {
  const MappedFile file("tokenizer.load", path);
  const auto bytes = file.bytes();
  return from_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string());
}

}  // namespace causeway::tokenizer
