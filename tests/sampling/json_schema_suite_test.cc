// The JSON Schema Test Suite (Debian package json-schema-test-suite), drafts 6 and 7 with their
// optional parts: every schema becomes a grammar or is refused by name, every valid value is
// accepted as it is written, every other value is rejected in every spelling. What the rules of
// writing leave out, and what is refused, is listed by name in json_schema_suite.txt, and a line
// there that is not needed is an error.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "sampling/grammar/grammar.h"
#include "sampling/json_schema/json_schema.h"
#include "tests/sampling/json_schema_text.h"

namespace minfer::sampling {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

fs::path suite_folder() {
  const char* given = std::getenv("MINFER_JSON_SCHEMA_SUITE");
  return given != nullptr ? given : "/usr/share/json-schema-test-suite/tests";
}

// "file | group" for refused groups, "file | group | test" for values that are not written, each
// with the reason or the words of the message.
std::map<std::string, std::string> read_list() {
  std::map<std::string, std::string> out;
  const char* source = std::getenv("MINFER_SOURCE_DIR");
  std::istringstream text(
      read(fs::path(source != nullptr ? source : ".") / "tests/sampling/json_schema_suite.txt"));
  for (std::string line; std::getline(text, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t colon = line.find(" => ");
    if (colon == std::string::npos) {
      ADD_FAILURE() << "no => in " << line;
      continue;
    }
    out.emplace(line.substr(0, colon), line.substr(colon + 4));
  }
  return out;
}

struct Counts {
  int groups = 0;
  int refused = 0;
  int valid = 0;
  int not_written = 0;
  int invalid = 0;
};

class Suite {
 public:
  void run(const fs::path& file, const std::string& name) {
    const Result<JsonValue> groups = parse_json(read(file));
    ASSERT_TRUE(groups.ok()) << name << ": " << groups.status().message();
    for (const JsonValue& group : *groups->array()) {
      const std::string title = name + " | " + *group.find("description")->string();
      ++counts.groups;
      run_group(group, title);
    }
  }

  void expect_list_used() const {
    for (const auto& [name, reason] : list_)
      EXPECT_TRUE(used_.contains(name)) << "not needed in the list: " << name;
  }

  Counts counts;

 private:
  // Whether `title` is in the list, which is then used.
  bool listed(const std::string& title) {
    if (!list_.contains(title)) return false;
    used_[title] = true;
    return true;
  }

  void run_group(const JsonValue& group, const std::string& title) {
    const JsonValue& schema = *group.find("schema");
    const Result<std::string> gbnf = json_schema_to_gbnf(schema);
    std::shared_ptr<const Grammar> grammar;
    if (!gbnf.ok()) {
      const std::string& message = gbnf.status().message();
      if (message.find("no value fits") == std::string::npos) {
        ++counts.refused;
        EXPECT_TRUE(listed(title)) << title << " => " << message;
        EXPECT_NE(message.find(list_[title]), std::string::npos) << title << " => " << message;
        return;
      }
    } else {
      const auto compiled = Grammar::compile(*gbnf);
      ASSERT_TRUE(compiled.ok()) << title << ": " << compiled.status().message() << "\n" << *gbnf;
      grammar = *compiled;
    }
    const auto accepts = [&](const std::string& text) {
      if (grammar == nullptr) return false;
      const Result<bool> result = grammar_accepts(*grammar, text);
      EXPECT_TRUE(result.ok()) << title;
      return result.ok() && *result;
    };
    for (const JsonValue& test : *group.find("tests")->array()) {
      const JsonValue& data = *test.find("data");
      const std::string name = title + " | " + *test.find("description")->string();
      const std::string text = canonical_json(schema, data);
      if (std::get<bool>(test.find("valid")->data)) {
        ++counts.valid;
        if (accepts(text)) continue;
        ++counts.not_written;
        EXPECT_TRUE(listed(name)) << name << " => rejected: " << text << "\n"
                                  << (gbnf.ok() ? *gbnf : gbnf.status().message());
        continue;
      }
      ++counts.invalid;
      EXPECT_FALSE(accepts(text)) << name << ": accepted: " << text << "\n" << *gbnf;
      for (const std::string& other : other_spellings(schema, data))
        EXPECT_FALSE(accepts(other)) << name << ": accepted: " << other << "\n" << *gbnf;
    }
  }

  std::map<std::string, std::string> list_ = read_list();
  std::map<std::string, bool> used_;
};

TEST(JsonSchemaSuite, DraftsSixAndSeven) {
  if (!fs::exists(suite_folder()))
    GTEST_SKIP() << "no JSON Schema Test Suite at " << suite_folder()
                 << ": install json-schema-test-suite or set MINFER_JSON_SCHEMA_SUITE";
  Suite suite;
  for (const char* draft : {"draft6", "draft7"}) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(suite_folder() / draft)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    ASSERT_FALSE(files.empty());
    for (const fs::path& file : files)
      suite.run(file, fs::relative(file, suite_folder()).generic_string());
  }
  suite.expect_list_used();
  const Counts& c = suite.counts;
  std::cout << fmt::format(
      "JSON Schema Test Suite: {} of {} schemas supported ({:.1f}%); {} valid values accepted, {} "
      "left out by the rules of writing; {} invalid values rejected\n",
      c.groups - c.refused, c.groups, 100.0 * (c.groups - c.refused) / c.groups,
      c.valid - c.not_written, c.not_written, c.invalid);
  EXPECT_GT(c.groups, 250);
}

}  // namespace
}  // namespace minfer::sampling
