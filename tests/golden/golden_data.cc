#include "tests/golden/golden_data.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

namespace minfer::tests {
namespace {

std::filesystem::path source_folder() {
  const char* source = std::getenv("MINFER_SOURCE_DIR");
  return source != nullptr ? source : ".";
}

}  // namespace

std::filesystem::path golden_folder() {
  const char* folder = std::getenv("MINFER_GOLDEN_DIR");
  return folder != nullptr ? std::filesystem::path(folder) : source_folder() / "../shared/golden";
}

std::filesystem::path model_folder() {
  const char* folder = std::getenv("MINFER_MODEL_DIR_TEST");
  return folder != nullptr ? std::filesystem::path(folder) : source_folder() / "models";
}

std::string unpack(const std::filesystem::path& packed) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("minfer_golden_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string result = (folder / packed.stem()).string();
  const std::string command = "xz -dc '" + packed.string() + "' > '" + result + "'";
  return std::system(command.c_str()) == 0 ? result : std::string();
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<float> read_floats(const std::filesystem::path& path) {
  const std::string bytes = read_text(path);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

std::size_t JsonScanner::peek(std::string_view key) const {
  const std::string quoted = "\"" + std::string(key) + "\":";
  const std::size_t found = text_.find(quoted, at_);
  return found == std::string_view::npos ? found : found + quoted.size();
}

bool JsonScanner::find(std::string_view key) {
  const std::size_t found = peek(key);
  if (found != std::string_view::npos) at_ = found;
  return found != std::string_view::npos;
}

double JsonScanner::number() {
  const char* start = text_.data() + at_;
  char* end = nullptr;
  const double value = std::strtod(start, &end);
  at_ += static_cast<std::size_t>(end - start);
  return value;
}

std::string JsonScanner::string() {
  const std::size_t start = text_.find('"', at_) + 1;
  at_ = text_.find('"', start);
  return std::string(text_.substr(start, at_ - start));
}

std::vector<double> JsonScanner::array() {
  std::vector<double> values;
  at_ = text_.find('[', at_) + 1;
  while (at_ < text_.size() && text_[at_] != ']') {
    const std::size_t before = at_;
    values.push_back(number());
    if (at_ == before) return {};
    while (at_ < text_.size() && (text_[at_] == ',' || text_[at_] == ' ' || text_[at_] == '\n')) {
      ++at_;
    }
  }
  return values;
}

}  // namespace minfer::tests
