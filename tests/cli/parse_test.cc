// The command line, the environment and the configuration file, without a model.
#include "parse.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "help.h"

namespace minfer::app {
namespace {

Result<Invocation> parse(std::vector<std::string> arguments, Surroundings surroundings = {}) {
  return parse_command_line(arguments, surroundings);
}

std::string error_of(std::vector<std::string> arguments, Surroundings surroundings = {}) {
  const auto result = parse(std::move(arguments), surroundings);
  if (result.ok()) return "(accepted)";
  EXPECT_EQ(result.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(result.status().message().find('\n'), std::string::npos);
  return result.status().message();
}

/// A configuration file that goes when the test ends.
class ConfigFile {
 public:
  explicit ConfigFile(const std::string& text)
      : path_(testing::TempDir() + std::to_string(getpid()) + "minfer_config.toml") {
    std::ofstream(path_) << text;
  }
  ~ConfigFile() { std::remove(path_.c_str()); }
  [[nodiscard]] Surroundings surroundings() const {
    Surroundings s;
    s.config_path = path_;
    return s;
  }

 private:
  std::string path_;
};

TEST(Parse, model_prompt_and_options_in_any_order) {
  const auto invocation = parse({"--temp", "0.5", "m.gguf", "-n", "10", "Hello there", "-t3"});
  ASSERT_TRUE(invocation.ok()) << invocation.status().message();
  EXPECT_EQ(invocation->command, kRun);
  EXPECT_EQ(invocation->options.model, "m.gguf");
  EXPECT_EQ(invocation->options.prompt, "Hello there");
  EXPECT_TRUE(invocation->options.has_prompt);
  EXPECT_EQ(invocation->options.predict, 10);
  EXPECT_EQ(invocation->options.threads, 3);
  EXPECT_FLOAT_EQ(invocation->options.temp, 0.5F);
  EXPECT_TRUE(invocation->was_given("temp"));
  EXPECT_FALSE(invocation->was_given("top-k"));
}

TEST(Parse, defaults_are_those_that_help_shows) {
  const Options defaults;
  for (const OptionRow& row : option_table()) {
    const std::string shown(row.default_text);
    if (shown == "auto" || shown == "none" || shown == "off") continue;
    std::ostringstream actual;
    std::visit(
        [&](auto member) {
          using Member = std::remove_cvref_t<decltype(defaults.*member)>;
          if constexpr (std::is_same_v<Member, NumberList> || std::is_same_v<Member, ChoiceList>) {
            for (const auto& item : (defaults.*member).items) actual << item;
          } else if constexpr (!std::is_same_v<Member, std::vector<std::string>>) {
            actual << defaults.*member;
          }
        },
        row.target);
    EXPECT_EQ(actual.str(), shown) << row.name;
  }
}

TEST(Parse, negative_numbers_are_values) {
  const auto invocation = parse({"m", "x", "-n", "-1", "--seed", "-1"});
  ASSERT_TRUE(invocation.ok()) << invocation.status().message();
  EXPECT_EQ(invocation->options.predict, -1);
  EXPECT_EQ(invocation->options.seed, -1);
}

TEST(Parse, two_dashes_end_the_options) {
  const auto invocation = parse({"--greedy", "--", "-odd.gguf", "--temp"});
  ASSERT_TRUE(invocation.ok()) << invocation.status().message();
  EXPECT_EQ(invocation->options.model, "-odd.gguf");
  EXPECT_EQ(invocation->options.prompt, "--temp");
}

TEST(Parse, commands_have_their_own_options) {
  const auto bench = parse({"bench", "m.gguf", "-p", "64", "-n", "8", "-o", "json"});
  ASSERT_TRUE(bench.ok()) << bench.status().message();
  EXPECT_EQ(bench->command, kBench);
  EXPECT_EQ(bench->options.bench_prompt.items, std::vector<std::int32_t>{64});
  EXPECT_EQ(bench->options.bench_gen.items, std::vector<std::int32_t>{8});
  EXPECT_NE(error_of({"bench", "m.gguf", "--temp", "1"}).find("--temp"), std::string::npos);
  EXPECT_NE(error_of({"bench", "m.gguf", "hello"}).find("too many"), std::string::npos);
}

TEST(Parse, lists_are_separated_by_commas) {
  const auto bench = parse({"bench", "m.gguf", "-d", "0,2048", "-np", "1,8", "-ctk", "f16,q8_0",
                            "-t", "auto", "-p", "1,2,3"});
  ASSERT_TRUE(bench.ok()) << bench.status().message();
  using Numbers = std::vector<std::int32_t>;
  EXPECT_EQ(bench->options.bench_depth.items, (Numbers{0, 2048}));
  EXPECT_EQ(bench->options.bench_parallel.items, (Numbers{1, 8}));
  EXPECT_EQ(bench->options.bench_kv_types.items, (std::vector<std::string>{"f16", "q8_0"}));
  EXPECT_EQ(bench->options.bench_threads.items, Numbers{0});
  EXPECT_EQ(bench->options.bench_prompt.items, (Numbers{1, 2, 3}));
  EXPECT_EQ(bench->options.bench_gen.items, Numbers{128});

  for (const std::string bad : {"", "1,", ",1", "1,,2", "1,x", "1;2", "1,-1", "1,1048577"}) {
    const std::string error = error_of({"bench", "m", "-d", bad});
    EXPECT_NE(error.find("--depth does not take"), std::string::npos) << bad << ": " << error;
  }
  EXPECT_NE(error_of({"bench", "m", "-ctk", "f16,f15"}).find("f32|f16|q8_0"), std::string::npos);
  EXPECT_NE(error_of({"m", "x", "-ctk", "f16,q8_0"}).find("f32|f16|q8_0"), std::string::npos);
}

TEST(Parse, peers_spellings_work) {
  const auto invocation =
      parse({"-m", "m.gguf", "-p", "Hi", "-ctk", "q8_0", "--n-ctx=512", "-sys", "Be brief"});
  ASSERT_TRUE(invocation.ok()) << invocation.status().message();
  EXPECT_EQ(invocation->options.model, "m.gguf");
  EXPECT_EQ(invocation->options.prompt, "Hi");
  EXPECT_EQ(invocation->options.kv_type, "q8_0");
  EXPECT_EQ(invocation->options.ctx_size, 512);
  EXPECT_EQ(invocation->options.system, "Be brief");
  EXPECT_NE(error_of({"m", "x", "-t", "0.7"}).find("temperature is --temp"), std::string::npos);
}

TEST(Parse, errors_say_what_and_what_to_do) {
  EXPECT_NE(error_of({"m", "x", "--tmep", "1"}).find("did you mean --temp?"), std::string::npos);
  EXPECT_NE(error_of({"m", "x", "--temp", "hot"}).find("from 0 to 100"), std::string::npos);
  EXPECT_NE(error_of({"m", "x", "--temp", "nan"}).find("from 0 to 100"), std::string::npos);
  EXPECT_NE(error_of({"m", "x", "--top-p", "1.5"}).find("from 0 to 1"), std::string::npos);
  EXPECT_NE(error_of({"m", "x", "-n", "2.5"}).find("whole number"), std::string::npos);
  EXPECT_NE(error_of({"m", "x", "-n", "-2"}).find("from -1"), std::string::npos);
  EXPECT_NE(error_of({"m", "x", "-n", "99999999999"}).find("--predict"), std::string::npos);
  EXPECT_NE(error_of({"m", "x", "-n"}).find("needs a value"), std::string::npos);
  EXPECT_NE(error_of({"m", "x", "--kv-type", "q3"}).find("f32|f16|q8_0"), std::string::npos);
  EXPECT_NE(error_of({"m", "x", "--batch-size", "0"}).find("from 1"), std::string::npos);
  EXPECT_NE(error_of({"m", "x", "y"}).find("quotes"), std::string::npos);
}

TEST(Parse, repeated_options_collect_or_the_last_wins) {
  const auto invocation = parse({"m", "x", "--stop", "a", "--stop", "b c", "-n", "1", "-n", "2"});
  ASSERT_TRUE(invocation.ok()) << invocation.status().message();
  EXPECT_EQ(invocation->options.stops, (std::vector<std::string>{"a", "b c"}));
  EXPECT_EQ(invocation->options.predict, 2);
}

TEST(Parse, configuration_levels_and_their_order) {
  const ConfigFile config(
      "temp = 0.1\ntop-k = 7\nquiet = true\n[run]\ntop-k = 8\n[bench]\nn-gen = 5\n"
      "[model.\"m.gguf\"]\nmin-p = 0.25\n[model.other]\nmin-p = 0.5\n");
  Surroundings surroundings = config.surroundings();
  const auto run = parse({"dir/m.gguf", "x"}, surroundings);
  ASSERT_TRUE(run.ok()) << run.status().message();
  EXPECT_FLOAT_EQ(run->options.temp, 0.1F);
  EXPECT_EQ(run->options.top_k, 8);
  EXPECT_FLOAT_EQ(run->options.min_p, 0.25F);
  EXPECT_TRUE(run->options.quiet);
  EXPECT_TRUE(run->was_given("temp"));
  EXPECT_EQ(parse({"bench", "m.gguf"}, surroundings)->options.bench_gen.items,
            std::vector<std::int32_t>{5});
  EXPECT_FLOAT_EQ(parse({"m.gguf", "x", "--temp", "2"}, surroundings)->options.temp, 2.0F);
  surroundings.getenv = [](const char* name) -> const char* {
    return std::string_view(name) == "MINFER_ARG_TEMP" ? "1.25" : nullptr;
  };
  EXPECT_FLOAT_EQ(parse({"m.gguf", "x"}, surroundings)->options.temp, 1.25F);
  EXPECT_FLOAT_EQ(parse({"m.gguf", "x", "--temp", "2"}, surroundings)->options.temp, 2.0F);
}

TEST(Parse, configuration_errors_name_file_and_option) {
  const ConfigFile unknown("tmep = 1\n");
  const std::string message = error_of({"m", "x"}, unknown.surroundings());
  EXPECT_NE(message.find("minfer_config.toml"), std::string::npos);
  EXPECT_NE(message.find("did you mean --temp?"), std::string::npos);
  const ConfigFile range("temp = 1000\n");
  EXPECT_NE(error_of({"m", "x"}, range.surroundings()).find("from 0 to 100"), std::string::npos);
}

TEST(Parse, a_configuration_is_a_file_of_known_sections) {
  EXPECT_NE(error_of({"m.gguf"}, ConfigFile("[unclosed\n").surroundings())
                .find("the section \"[unclosed\" is not closed"),
            std::string::npos);
  EXPECT_NE(error_of({"m.gguf"}, ConfigFile("spec=\n").surroundings())
                .find("spec does not take \"\": the default is auto"),
            std::string::npos);
  const ConfigFile config("[rnu]\ntemp = 0.5\n");
  EXPECT_NE(
      error_of({"m", "x"}, config.surroundings()).find("unknown section [rnu]; there are run"),
      std::string::npos);
  Surroundings folder;
  folder.config_path = testing::TempDir();
  EXPECT_NE(error_of({"m", "x"}, folder).find("no ordinary file"), std::string::npos);
  Surroundings absent;
  absent.config_path = testing::TempDir() + "no/such/file";
  EXPECT_TRUE(parse({"m", "x"}, absent).ok());
}

TEST(Parse, unknown_variables_are_refused) {
  Surroundings surroundings;
  surroundings.environment = {"HOME=/", "MINFER_ARG_TOP_K=3", "MINFER_ARG_TMEP=1"};
  EXPECT_EQ(error_of({"m", "x"}, surroundings),
            "MINFER_ARG_TMEP: there is no option --tmep: did you mean --temp?");
  surroundings.environment.pop_back();
  EXPECT_TRUE(parse({"m", "x"}, surroundings).ok());
}

TEST(Parse, words_of_the_plan_and_of_other_programs_get_an_answer) {
  EXPECT_EQ(error_of({"serve", "m.gguf"}),
            "\"serve\" is not a command of this version (minfer --help lists those it has), nor a "
            "file");
  EXPECT_NE(error_of({"-hf", "owner/repo"}).find("give the path of a GGUF file"),
            std::string::npos);
  EXPECT_EQ(parse({"m.gguf", "x", "-ngl", "99"})->options.gpu_layers, "99");
  EXPECT_EQ(parse({"m.gguf", "serve"})->options.prompt, "serve");
}

TEST(Parse, environment_errors_name_the_variable) {
  Surroundings surroundings;
  surroundings.getenv = [](const char* name) -> const char* {
    return std::string_view(name) == "MINFER_ARG_TOP_K" ? "many" : nullptr;
  };
  EXPECT_NE(error_of({"m", "x"}, surroundings).find("MINFER_ARG_TOP_K"), std::string::npos);
}

TEST(Help, every_option_of_a_command_is_shown) {
  for (const CommandRow& command : command_table()) {
    std::set<std::string> shown;
    std::istringstream lines(help_text(command.bit));
    for (std::string line; std::getline(lines, line);) {
      const std::size_t name = line.find("--");
      if (line.starts_with("  -") || line.starts_with("      --")) {
        shown.insert(line.substr(name, line.find_first_of(" \n", name) - name));
      }
    }
    std::set<std::string> expected;
    if (command.bit == kRun) expected = {"--help", "--version"};
    for (const OptionRow& row : option_table()) {
      if ((row.commands & command.bit) != 0) expected.insert("--" + std::string(row.name));
    }
    EXPECT_EQ(shown, expected) << command.usage;
  }
}

TEST(Help, options_page_equals_the_table) {
  const char* root = std::getenv("MINFER_SOURCE_DIR");
  ASSERT_NE(root, nullptr);
  std::ifstream file(std::string(root) + "/docs/options.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), options_markdown()) << "run `make docs`";
}

}  // namespace
}  // namespace minfer::app
