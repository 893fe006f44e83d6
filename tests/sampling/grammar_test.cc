#include "sampling/grammar/grammar.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <ctime>
#include <functional>

#include "grammar_oracle.h"

namespace minfer::sampling {
namespace {

std::shared_ptr<const Grammar> compiled(std::string_view gbnf) {
  auto grammar = Grammar::compile(gbnf);
  EXPECT_TRUE(grammar.ok()) << grammar.status().message() << "\n" << gbnf.substr(0, 500);
  return grammar.ok() ? *grammar : nullptr;
}

bool accepts(std::string_view gbnf, std::string_view text) {
  const auto grammar = compiled(gbnf);
  if (grammar == nullptr) return false;
  const auto result = grammar_accepts(*grammar, text);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() && *result;
}

std::string refusal(std::string_view gbnf) {
  const auto grammar = Grammar::compile(gbnf);
  if (grammar.ok()) return "";
  EXPECT_EQ(grammar.status().code(), StatusCode::kInvalidArgument);
  return grammar.status().message();
}

TEST(Grammar, language) {
  struct Case {
    const char* gbnf;
    std::vector<std::string> yes, no;
  };
  const std::vector<Case> cases = {
      {R"(root ::= "a" "b")", {"ab"}, {"", "a", "abc", "ba"}},
      {R"(root ::= "a" | "b" | "")", {"a", "b", ""}, {"ab"}},
      {R"(root ::= |"a")", {"", "a"}, {"b"}},
      {R"(root ::= ("a" | "b")+ "c"?)", {"a", "abba", "abc"}, {"", "c", "abcc"}},
      {R"(root ::= "ab"*)", {"", "ab", "abab"}, {"a", "abb"}},
      {R"(root ::= "a"{3})", {"aaa"}, {"aa", "aaaa"}},
      {R"(root ::= "a"{2,})", {"aa", "aaaaaaaa"}, {"", "a"}},
      {R"(root ::= "a"{,2})", {"", "a", "aa"}, {"aaa"}},
      {R"(root ::= "a"{ 1 , 2 })", {"a", "aa"}, {"", "aaa"}},
      {R"(root ::= "a"{0})", {""}, {"a"}},
      {R"(root ::= ("a"{2,3}){2})", {"aaaa", "aaaaa", "aaaaaa"}, {"aaa", "aaaaaaa"}},
      {R"(root ::= ("a"{4,5}){2,3})", {"aaaaaaaa", "aaaaaaaaaaaa"}, {"aaaaaaaaaaa", "aaaaaaa"}},
      {R"(root ::= [a-cx]+)", {"abcx"}, {"d", ""}},
      {R"(root ::= [^a-c\n]+)", {"xyz", "é", "🦙"}, {"a", "\n", "x\n"}},
      {R"(root ::= [-a] [a-] [\]] [\[] [\^^])", {"--][^", "aa][^"}, {"b-][^"}},
      {R"(root ::= . .)", {"a\n", "é🦙"}, {"a", "abc"}},
      {R"(root ::= "\n\t\r\\\"\[\]\x41\u00e9\U0001F999")", {"\n\t\r\\\"[]Aé🦙"}, {"n"}},
      {R"(root ::= [\u0000-\uFFFF])", {"é", std::string(1, '\0'), "\xEF\xBF\xBF"}, {"🦙"}},
      {"root ::= a-b_2 # comment \"\n\na-b_2 ::= \"x\" # another\n", {"x"}, {"y"}},
      {"# first\nroot ::=\n  \"a\"\n  | \"b\"\n  | (\n \"c\" |\n \"d\" )\n",
       {"a", "b", "c", "d"},
       {""}},
      {"root ::= x x\r\nx ::= [0-9]\r\n", {"12"}, {"1"}},
      {R"g(root ::= "(" root ")" | "x")g", {"x", "((x))"}, {"((x)", ")"}},
      {"root ::= \"a\" root | \"b\"", {"b", "aaab"}, {"aaa"}},
      {R"(root ::= (("a"*)*)* "b")", {"b", "aab"}, {"a"}},
      {R"(root ::= (("a"?){0,3}){2} "b")", {"b", "aaaaaab"}, {"aaaaaaab"}},
      {R"(root ::= ("a"* "b"?){3,4} "c")", {"c", "abababaabc", "aaac"}, {"bbbbbc"}},
  };
  for (const Case& c : cases) {
    for (const std::string& text : c.yes)
      EXPECT_TRUE(accepts(c.gbnf, text)) << c.gbnf << ": " << text;
    for (const std::string& text : c.no)
      EXPECT_FALSE(accepts(c.gbnf, text)) << c.gbnf << ": " << text;
  }
}

TEST(Grammar, refusals_name_place_and_rule) {
  struct Case {
    std::string gbnf;
    std::string place;
    std::string what;
  };
  const std::vector<Case> cases = {
      {R"(root ::= root "a" | "b")", R"(line 1, column 10, rule "root")", "left recursion"},
      {"root ::= a\na ::= b\nb ::= a \"x\" | \"y\"", R"(line 2, column 7, rule "a")",
       "a -> b -> a"},
      {"root ::= \"x\" a\na ::= \"y\"* \"\" (\"z\"? a)", R"(line 2, column 21, rule "a")",
       "left recursion"},
      {"root ::= n root | \"b\"\nn ::= \"a\"?", R"(line 1, column 12, rule "root")",
       "left recursion"},
      {"root ::= (\"a\"{0,3} root){2,5} | \"b\"", R"(line 1, column 20, rule "root")",
       "left recursion"},
      {"root ::= x", "line 1, column 10", "\"x\" is not defined"},
      {"a ::= \"x\"", "line 1, column 1", "no rule \"root\""},
      {"", "line 1, column 1", "empty"},
      {" \n# nothing\n", "line 3, column 1", "empty"},
      {"root ::= \"a", "line 1, column 12, rule \"root\"", "no closing \""},
      {"root ::= \"a\n\"", "line 1, column 12, rule \"root\"", "no closing \""},
      {"root ::= [ab", "line 1, column 13, rule \"root\"", "no closing ]"},
      {"root ::= [z-a]", "line 1, column 11, rule \"root\"", "runs backwards"},
      {"root ::= []", "line 1, column 10, rule \"root\"", "empty"},
      {"root ::= [^]", "line 1, column 10, rule \"root\"", "empty"},
      {R"(root ::= [^\x00-\U0010FFFF])", "line 1, column 10, rule \"root\"", "empty"},
      {R"(root ::= "\xFF")", "line 1, column 11, rule \"root\"", "\\u00FF"},
      {"root ::= \"é\xFF\"", "line 1, column 12", "0xFF is no UTF-8"},
      {R"(root ::= "\uD83D")", "line 1, column 11, rule \"root\"", "U+D83D"},
      {R"(root ::= "\U00110000")", "line 1, column 11, rule \"root\"", "U+110000"},
      {R"(root ::= "\q")", "line 1, column 11, rule \"root\"", "unknown escape"},
      {R"(root ::= "\x4")", "line 1, column 11, rule \"root\"", "2 hexadecimal"},
      {"root ::= \"\\", "line 1, column 11, rule \"root\"", "backslash"},
      {"root ::= (\"a\" | (\"b\")", "line 1, column 10, rule \"root\"", "no closing )"},
      {"root ::= \"a\")", "line 1, column 13, rule \"root\"", "closes nothing"},
      {"root ::= *", "line 1, column 10, rule \"root\"", "nothing to repeat"},
      {"root ::= \"a\" | +", "line 1, column 16, rule \"root\"", "nothing to repeat"},
      {"root ::= \"a\"{3,2}", "line 1, column 13, rule \"root\"", "below the smallest"},
      {"root ::= \"a\"{}", "line 1, column 14, rule \"root\"", "count is missing"},
      {"root ::= \"a\"{,}", "line 1, column 15, rule \"root\"", "count is missing"},
      {"root ::= \"a\"{1", "line 1, column 13, rule \"root\"", "no closing }"},
      {"root ::= \"a\"{99999999999999999999}", "line 1, column 14, rule \"root\"", "unbounded"},
      {"root ::= \"a\" root", "line 1, column 1, rule \"root\"", "never ends"},
      {"root ::= \"a\"\nb ::= \"b\" c\nc ::= b \"c\"", "line 2, column 1, rule \"b\"",
       "never ends"},
      {"root ::= \"a\"\nroot ::= \"b\"", "line 2, column 1, rule \"root\"", "twice"},
      {"root ::= \"a\" b ::= \"c\"", "line 1, column 14, rule \"root\"", "line of its own"},
      {"root = \"a\"", "line 1, column 1, rule \"root\"", "::="},
      {"::= \"a\"", "line 1, column 1", "name"},
      {"root ::= \"a\" ; \"b\"", "line 1, column 14, rule \"root\"", "';'"},
      {"root ::= \"a\" é", "line 1, column 14, rule \"root\"", "U+00E9"},
      {"root ::= <tool", "line 1, column 11, rule \"root\"", "<name>"},
      {"root ::= <[12x]>", "line 1, column 10, rule \"root\"", "<[id]>"},
      {"root ::= <[99999999999]>", "line 1, column 10, rule \"root\"", "<[id]>"},
      {"root ::= !\"a\"", "line 1, column 10, rule \"root\"", "before a <token>"},
  };
  for (const Case& c : cases) {
    const std::string message = refusal(c.gbnf);
    EXPECT_NE(message.find(c.place), std::string::npos) << c.gbnf << ": " << message;
    EXPECT_NE(message.find(c.what), std::string::npos) << c.gbnf << ": " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

std::string repeated(std::string_view text, int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += text;
  return out;
}

/// Of the processor, so that what else runs does not count.
double seconds_of(const std::function<void()>& work) {
  const std::clock_t start = std::clock();
  work();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

/// Runs `work` on a thread with a stack of `bytes`.
void run_with_stack(std::size_t bytes, std::function<void()> work) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, bytes), 0);
  pthread_t thread{};
  const auto entry = [](void* argument) -> void* {
    (*static_cast<std::function<void()>*>(argument))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, entry, &work), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

TEST(Grammar, hostile_sizes_take_bounded_time) {
  std::string chain = "root ::= r0\n";
  for (int i = 0; i < 5000; ++i) chain += fmt::format("r{} ::= r{}\n", i, i + 1);
  chain += "r5000 ::= \"a\"";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"root ::= " + repeated("(", 60000) + "\"a\"" + repeated(")", 60000), "a"},
      {"root ::= " + repeated("(\"\"", 60000) + "\"a\"" + repeated("?)", 60000), "a"},
      {"root ::= " + repeated("(", 60000) + "\"a\"" + repeated(")*", 60000), "aaa"},
      {"root ::= " + repeated("(\"b\"|", 60000) + "\"a\"" + repeated(")", 60000), "a"},
      {chain, "a"},
      {R"(root ::= "a"{0,10000})", repeated("a", 10000)},
      {R"(root ::= (("a"{0,1000}){0,1000}){0,1000})", repeated("a", 3000)},
      {R"(root ::= ((("a" | "aa"){0,1000} "b"?){0,1000} "c"?){0,1000})", repeated("aabc", 500)},
      {R"(root ::= (("a"*)* ("a"*)*)*)", repeated("a", 3000)},
      {R"(root ::= (("a"{2,3}){2,3}){0,1000})", repeated("a", 400)},
  };
  for (const auto& [gbnf, text] : cases) {
    const double seconds = seconds_of([&] {
      // With a stack of a small thread.
      run_with_stack(64 << 10, [&] { EXPECT_TRUE(accepts(gbnf, text)); });
    });
    EXPECT_LT(seconds, 1.0 * kTimeFactor) << gbnf.substr(0, 60);
  }
  const std::string deep = "root ::= " + repeated("(", 200'000);
  EXPECT_NE(refusal(deep).find("nested deeper"), std::string::npos);
}

TEST(Grammar, too_many_stacks_are_an_error) {
  // Each rule may be read in its first or in its second place: 2^5000 stacks.
  std::string gbnf = "root ::= r0 \"a\"\n";
  for (int i = 0; i < 5000; ++i) gbnf += fmt::format("r{0} ::= r{1} r{1}\n", i, i + 1);
  gbnf += "r5000 ::= \"b\"?";
  const auto result = grammar_accepts(*compiled(gbnf), "a");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), StatusCode::kOutOfRange);
  EXPECT_NE(result.status().message().find("ambiguous"), std::string::npos);
}

TEST(Grammar, agrees_with_backtracking) {
  std::mt19937 random(20260731);
  int n_accepted = 0;
  int n_begun = 0;
  int n_refused = 0;
  for (int i = 0; i < 12000; ++i) {
    const TreeGrammar tree(random);
    const std::string gbnf = tree.gbnf();
    const auto grammar = Grammar::compile(gbnf);
    if (!grammar.ok()) {
      // A rule before which nothing was read may come back to itself behind an empty repetition.
      ASSERT_NE(grammar.status().message().find("left recursion"), std::string::npos)
          << gbnf << grammar.status().message();
      ++n_refused;
      continue;
    }
    for (int k = 0; k < 12; ++k) {
      const std::u32string text = random_text(random, 7);
      const std::string bytes = to_utf8(text);
      auto state = GrammarState::create(*grammar);
      ASSERT_TRUE(state.ok());
      const auto alive = state->accept(bytes);
      ASSERT_TRUE(alive.ok());
      ASSERT_EQ(*alive, tree.begins(text)) << gbnf << bytes;
      ASSERT_EQ(*alive && state->is_complete(), tree.accepts(text)) << gbnf << bytes;
      n_accepted += state->is_complete() ? 1 : 0;
      n_begun += *alive ? 1 : 0;
    }
  }
  EXPECT_GT(n_accepted, 4000);
  EXPECT_GT(n_begun, n_accepted);
  EXPECT_LT(n_refused, 2400);
}

TEST(Grammar, alternatives_that_begin_alike_stay_few) {
  // Without common prefixes read once, each level of a nesting would double the stacks.
  const auto grammar = compiled(
      "root ::= \"(\" n \")\" | \"(\" n \",\" root \")\" | \"(\" n \"]\" | [0-9]\n"
      "n ::= root | \"<\" [a-z] root \">\" | \"<\" [a-z] root \"/>\"");
  std::string text;
  for (int i = 0; i < 500; ++i) text += "(<x";
  text += '7';
  for (int i = 0; i < 500; ++i) text += i % 2 == 0 ? "/>]" : ">,(1))";
  EXPECT_TRUE(*grammar_accepts(*grammar, text));
  EXPECT_FALSE(*grammar_accepts(*grammar, text + ")"));
  // A list of words is a trie.
  std::string words = "root ::= \"x\"";
  for (int i = 0; i < 20000; ++i) words += fmt::format(" | \"w{}\"", i);
  const auto list = compiled(words);
  EXPECT_TRUE(*grammar_accepts(*list, "w19999"));
  EXPECT_FALSE(*grammar_accepts(*list, "w20000"));
  Machine machine(list->program());
  EXPECT_EQ(machine.configs(*machine.start()).size(), 2U);
}

TEST(Grammar, characters_may_be_cut_anywhere) {
  const auto grammar = compiled("root ::= \"é🦙\" [à-ï]");
  auto state = GrammarState::create(grammar);
  ASSERT_TRUE(state.ok());
  for (const char byte : std::string_view("é🦙")) {
    EXPECT_FALSE(state->is_complete());
    EXPECT_TRUE(*state->accept({&byte, 1}));
  }
  EXPECT_TRUE(*state->accept("\xC3"));
  EXPECT_FALSE(state->is_complete());
  EXPECT_TRUE(*state->accept("\xA0"));
  EXPECT_TRUE(state->is_complete());
  // What no character of the grammar begins with is refused at its first byte.
  auto other = GrammarState::create(grammar);
  EXPECT_FALSE(*other->accept("\xC4"));
  auto ill = GrammarState::create(compiled("root ::= .*"));
  EXPECT_FALSE(*ill->accept("a\xED\xA0"));
  EXPECT_FALSE(ill->is_complete());
}

TEST(Grammar, long_texts_take_bounded_memory) {
  // Each character makes new stacks; the machine forgets them in between.
  const auto grammar = compiled(R"(root ::= ("a"{0,3} "b"{0,100000000} "c"?){0,1000000})");
  EXPECT_TRUE(*grammar_accepts(*grammar, repeated("aabbbc", 60000)));
  EXPECT_FALSE(*grammar_accepts(*grammar, repeated("aabbbc", 60000) + "d"));
}

}  // namespace
}  // namespace minfer::sampling
