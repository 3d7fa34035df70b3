// CSV tables as numbers for `causeway predict` and `causeway evaluate`.
#pragma once

#include "causeway/data/csv.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace causeway::cli {

// Whether a target that nobody said anything of is a number to be told: its values are numbers, and
// not just a few whole ones. Words and up to ten whole numbers are classes.
bool is_number_target(const std::string& path, const std::string& target);

// How the columns of one table become numbers, so that another's become the same.
class TableReader {
 public:
  // Reads the file and learns from it. Classes are told by the target's text, numbers by its value;
  // rows without a target are left out.
  TableReader(const std::string& path, const std::string& target, bool regression);

  const std::vector<std::string>& names() const { return names_; }
  // Of what was learned from: (rows, features) f64, and the target, (rows,) f64.
  const Tensor& x() const { return x_; }
  const Tensor& y() const { return y_; }
  const std::vector<std::string>& classes() const { return classes_; }

  // The features of another file, by name; words that were not seen are missing. Throws naming the
  // columns that are absent.
  Tensor read(const std::string& path);

  // What should be said of the files, a sentence each.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct Feature {
    std::string name;
    CsvType type = CsvType::number;
    std::map<std::string, double, std::less<>> codes;  // of words
  };

  void learn_target(const CsvColumn& column, bool regression, std::int64_t n_rows);
  Tensor numbers(const CsvBatch& batch, const std::vector<std::int64_t>& rows);
  void fill(const Feature& feature, const CsvColumn& column, const std::vector<std::int64_t>& rows,
            double* out, std::int64_t step);

  std::string target_;
  std::vector<Feature> features_;
  std::vector<std::string> names_;
  std::vector<std::string> classes_;
  std::vector<std::int64_t> rows_;  // that have a target
  Tensor x_;
  Tensor y_;
  std::vector<std::string> notes_;
};

}  // namespace causeway::cli
