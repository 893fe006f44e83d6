// golden/templates: 50 chat templates, each with the texts or errors that jinja2 gives.
#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/json_reader.h"
#include "chat/template.h"
#include "tests/chat/golden_folder.h"

namespace minfer::chat {
namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

TEST(ChatGolden, AllTemplates) {
  const std::filesystem::path folder = golden_templates();
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "no golden data at " << folder;
  int n = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.path().string().ends_with(".cases.json")) continue;
    const auto file = parse_json(read_file(entry.path()));
    ASSERT_TRUE(file.ok()) << entry.path() << ": " << file.status().message();
    const std::string source = read_file(folder / *file->find("template")->string());
    RenderOptions options;
    ASSERT_NE(::strptime(file->find("now")->string()->c_str(), "%Y-%m-%d %H:%M:%S", &options.now),
              nullptr);
    const auto parsed = Template::parse(source);
    for (const JsonValue& one : *file->find("cases")->array()) {
      SCOPED_TRACE(entry.path().filename().string() + ": " + *one.find("name")->string());
      ++n;
      const JsonValue* expected = one.find("expected");
      if (!parsed.ok()) {
        EXPECT_EQ(expected, nullptr) << parsed.status().message();
        continue;
      }
      const auto text = parsed->render(Value::from_json(*one.find("context")), options);
      if (expected == nullptr) {
        EXPECT_FALSE(text.ok()) << "an error is due: " << *one.find("raises")->string();
      } else if (!text.ok()) {
        ADD_FAILURE() << text.status().message();
      } else {
        EXPECT_EQ(text->bytes(), *expected->string());
      }
    }
  }
  EXPECT_EQ(n, 497);
}

}  // namespace
}  // namespace minfer::chat
