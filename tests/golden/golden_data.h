// golden_data: finds and reads the golden files that tests compare with.
//
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace minfer::tests {

/// MINFER_GOLDEN_DIR, or ../shared/golden beside the source tree.
std::filesystem::path golden_folder();

/// MINFER_MODEL_DIR_TEST, or models/ in the source tree.
std::filesystem::path model_folder();

/// Unpacks an .xz file with xz into a folder of its own, which the caller removes; the path of the
/// result, or empty.
std::string unpack(const std::filesystem::path& packed);

std::string read_text(const std::filesystem::path& path);
std::vector<float> read_floats(const std::filesystem::path& path);

/// A walk through JSON of which only the keys matter that the test asks for, in their order.
class JsonScanner {
 public:
  explicit JsonScanner(std::string_view text) : text_(text) {}

  /// Moves behind the next `"key":`; false where there is none.
  bool find(std::string_view key);
  /// The place of the next `"key":`, or npos; does not move.
  [[nodiscard]] std::size_t peek(std::string_view key) const;
  double number();
  std::string string();
  template <class T>
  std::vector<T> numbers() {
    std::vector<T> values;
    for (const double value : array()) values.push_back(static_cast<T>(value));
    return values;
  }

 private:
  std::vector<double> array();

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace minfer::tests
