#include "chat/template.h"

#include <gtest/gtest.h>

#include "base/json_reader.h"
#include "chat/builtins.h"

namespace minfer::chat {
namespace {

/// The context, and `m` with the content of message 3 where it is not empty.
Result<Text> render(std::string_view source, std::string_view context = "{}",
                    std::string_view message = "") {
  const auto json = parse_json(context);
  EXPECT_TRUE(json.ok());
  MINFER_ASSIGN_OR_RETURN(const Template parsed, Template::parse(source));
  Dict dict = *Value::from_json(*json).dict();
  if (!message.empty())
    dict.set(Value::request("m"), Value(Text(std::string(message), message_origin(3))));
  return parsed.render(Value::dict(std::move(dict)), {});
}

std::string text_of(std::string_view source, std::string_view context = "{}") {
  const auto text = render(source, context);
  return text.ok() ? text->bytes() : "ERROR " + text.status().message();
}

std::string error_of(std::string_view source, std::string_view context = "{}") {
  const auto text = render(source, context);
  return text.ok() ? "" : text.status().message();
}

TEST(ChatTemplate, CaseT06) {
  EXPECT_EQ(
      text_of(
          R"({%- set tools = none -%}{%- for k, v in {'b': 1, 'a': "<é'>"}.items() -%}{{ k }}={{ v | tojson(ensure_ascii=False) }};{%- endfor -%}{{ messages[1:] | length }}|{{ messages[-1].content | trim }}|{{ {'b': [1, 2], 'a': "é<'/"} | tojson }}|{{ tools is none }}|{% set ns = namespace(x=0) %}{% for m in messages %}{% set ns.x = ns.x + loop.index0 %}{% endfor %}{{ ns.x }})",
          R"({"messages": [{"content": " a "}, {"content": " b\n"}]})"),
      R"(b=1;a="<é'>";1|b|{"b": [1, 2], "a": "é<'/"}|True|1)");
}

TEST(ChatTemplate, CaseT04MessageOfTheTemplate) {
  const std::string source =
      R"({% if messages[0].role=="system" %}{{ raise_exception("no system") }}{% endif %}x)";
  EXPECT_EQ(error_of(source, R"({"messages": [{"role": "system"}]})"),
            "chat template, line 1, column 54: no system");
  EXPECT_EQ(text_of(source, R"({"messages": [{"role": "banana"}]})"), "x");
}

TEST(ChatTemplate, WhiteSpace) {
  EXPECT_EQ(text_of("a\n  {% if true %}\n  b\n  {% endif %}\nc\n"), "a\n  b\nc");
  EXPECT_EQ(text_of("a\n  {%+ if true %}b{% endif +%}\nc"), "a\n  b\nc");
  EXPECT_EQ(text_of("a  {{- 'b' -}}  c"), "abc");
  EXPECT_EQ(text_of("{% raw %}{{ x }}{% endraw %}"), "{{ x }}");
  EXPECT_EQ(text_of("a{# x #}\nb"), "ab");
}

TEST(ChatTemplate, ScopesAndLoops) {
  EXPECT_EQ(
      text_of("{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = 2 %}{% endfor %}{{ x }}"),
      "111");
  EXPECT_EQ(text_of("{% for i in range(9) if i % 2 %}{% if i > 5 %}{% break %}{% endif %}{{ i }}"
                    "{{ ',' if not loop.last }}{% endfor %}"),
            "1,3,5,");
  EXPECT_EQ(text_of("{% macro m(a, b=2) %}{{ a }}{{ b }}{{ caller() }}{% endmacro %}"
                    "{% call m(1) %}!{% endcall %}"),
            "12!");
  EXPECT_EQ(text_of("{% for n in [[1, [2]], 3] recursive %}{% if n is iterable %}({{ loop(n) }})"
                    "{% else %}{{ n }}{% endif %}{% endfor %}"),
            "(1(2))3");
  EXPECT_EQ(text_of("{% generation %}x{% endgeneration %}{% filter upper %}y{% endfilter %}"),
            "xY");
}

// What jinja2 gives; see chat/frame_names.h.
TEST(ChatTemplate, NamesThatAFrameSetsFirstAreItsOwn) {
  const auto text = [](std::string_view source) { return text_of(source, R"({"s": "ctx"})"); };
  EXPECT_EQ(text("{% set s %}{{ s }}!{% endset %}{{ s }}"), "!");
  EXPECT_EQ(text("{{ s }}{% set s %}{{ s }}!{% endset %}{{ s }}"), "ctxctx!");
  EXPECT_EQ(text("{% set s = s ~ 1 %}{{ s }}"), "ctx1");
  EXPECT_EQ(text("{% if 1 %}{% set s %}{{ s }}!{% endset %}{% endif %}{{ s }}"), "ctx!");
  EXPECT_EQ(text("{% for i in [1, 2] %}{% set s %}{{ s }}{{ i }}{% endset %}{{ s }}{% endfor %}"),
            "12");
  EXPECT_EQ(text("{% for i in [1, 2] %}{{ s }}{% endfor %}{% set s = 1 %}{{ s }}"), "1");
  EXPECT_EQ(text("{% macro m(a) %}{% set s = a %}{{ s }}{% endmacro %}{{ m(1) }}{{ s }}"), "1ctx");
  EXPECT_EQ(text("{% with %}{% set s %}{{ s }}?{% endset %}{{ s }}{% endwith %}{{ s }}"),
            "ctx?ctx");
}

TEST(ChatTemplate, SlicesAndNumbers) {
  EXPECT_EQ(text_of("{{ 'añb'[::-1] }}{{ [1, 2, 3][-2:] }}{{ 7 // -2 }}{{ -7 % 3 }}{{ 1 / 2 }}"),
            "bña[2, 3]-420.5");
  EXPECT_EQ(text_of("{{ 1e16 }} {{ 0.1 }} {{ 2.0 }} {{ 'it\\'s' | list }}"),
            "1e+16 0.1 2.0 ['i', 't', \"'\", 's']");
}

TEST(ChatTemplate, ErrorsSayWhere) {
  EXPECT_EQ(error_of("a\n{{ x.y }}"), "chat template, line 2, column 5: 'x' is undefined");
  EXPECT_EQ(error_of("\n{% nonsense %}"),
            "chat template, line 2, column 4: unknown tag 'nonsense'");
  EXPECT_NE(error_of("{{ 1 | nonsense }}"), "");
  EXPECT_NE(error_of("{{ [].append(1) }}"), "");
  for (const char* source :
       {"{{", "{% if x %}", "{{ 'a }}", "{{ 1 + }}", "{% for %}", "{{ (1 }}"}) {
    EXPECT_NE(error_of(source), "") << source;
  }
}

TEST(ChatTemplate, BytesThatAreNoUtf8AreRefused) {
  EXPECT_EQ(error_of("é\n{{ 1 }}\xFF"),
            "chat template, line 2, column 8: the byte 0xFF is no UTF-8");
  EXPECT_EQ(error_of("\xC3"), "chat template, line 1, column 1: the byte 0xC3 is no UTF-8");
  EXPECT_EQ(text_of("{# é #}🦙"), "🦙");
}

TEST(ChatTemplate, NoAttributeEscapes) {
  for (const char* source : {"{{ ''.__class__.x }}", "{{ x.__init__.y }}", "{{ [].__len__() }}"}) {
    EXPECT_NE(error_of(source, R"({"x": {}})"), "") << source;
  }
}

TEST(ChatTemplate, FiltersThatCutAndFill) {
  EXPECT_EQ(
      text_of("{{ [1, 2, 3] | batch(2, 0) }}{{ range(5) | slice(2) }}{{ [1] | slice(3, 0) }}"),
      "[[1, 2], [3, 0]][[0, 1, 2], [3, 4]][[1], [0], [0]]");
  EXPECT_EQ(text_of("{% for g in l | groupby('a') %}{{ g.grouper }}{{ g.list | length }}{{ g[1] | "
                    "map(attribute='b') | list }};{% endfor %}{% for k, v in l | groupby('c', "
                    "default='-', case_sensitive=true) %}{{ k }}{{ v | length }}{% endfor %}",
                    R"({"l": [{"a": "x", "b": 1}, {"a": "y", "b": 2}, {"a": "X", "b": 3}]})"),
            "x2[1, 3];y1[2];-3");
  EXPECT_EQ(text_of("{{ 'one, tw_o é' | wordcount }}{{ 'a b c d e' | truncate(5, leeway=0) }}|"
                    "{{ 'ab' | center(5) }}|{{ 'ab'.ljust(3, '*') }}{{ 'ab'.rjust(3) }}"),
            "3a...|  ab |ab* ab");
}

TEST(ChatTemplate, PercentFormat) {
  EXPECT_EQ(text_of("{{ '%s and %r, %d%%' % ('a', 'b', 3.9) }}{{ '%(k)s' % {'k': 1} }}"),
            "a and 'b', 3%1");
  EXPECT_EQ(
      text_of("{{ '%5.2f|%-4d|%04d|%+d|%#x|%c|%.2s|%*d' % (2.5, 3, -3, 3, 255, 65, 'abc', 3, 1)"
              " }}{{ '%s-%s' | format('a', 3) }}"),
      " 2.50|3   |-003|+3|0xff|A|ab|  1a-3");
  for (const char* source :
       {"{{ '%s %s' % 'a' }}", "{{ 'x' % 1 }}", "{{ '%q' % 1 }}", "{{ '%d' % 'a' }}",
        "{{ '%' % 1 }}", "{{ '%(k)s' % 1 }}", "{{ '%(k' % {} }}", "{{ '%x' % 1.5 }}"}) {
    EXPECT_NE(error_of(source), "") << source;
  }
}

TEST(ChatTemplate, CyclerAndJoiner) {
  EXPECT_EQ(text_of("{% set c = cycler('a', 'b') %}{{ c.next() ~ c.next() ~ c.next() ~ c.current }}"
                    "{% set _ = c.reset() %}{{ c.current }}"
                    "{% set j = joiner('|') %}{{ j() }}1{{ j() }}2{{ j() }}"),
            "ababa1|2|");
  EXPECT_NE(error_of("{{ cycler() }}"), "");
}

TEST(ChatTemplate, Limits) {
  for (const char* source :
       {"{{ '%*d' % (99999999999, 1) }}", "{{ '%99999999999d' % 1 }}", "{{ '%.99999d' % 1 }}",
        "{{ 'x' | center(999999999) }}", "{{ 'x'.ljust(999999999) }}",
        "{{ [1] | batch(9999999, 0) }}", "{{ [1] | slice(9999999) }}",
        "{{ [1] | tojson(indent=999999999) }}", "{{ 'a' | indent(999999999999) }}",
        "{% for i in range(999) %}{{ 'x' | center(60000000) }}{% endfor %}",
        "{{ range(99999) | map('center', 9999) | list | length }}"}) {
    EXPECT_NE(error_of(source), "") << source;
  }
  EXPECT_NE(
      error_of("{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}"),
      "");
  EXPECT_NE(error_of("{{ 'x' * 999999999 }}"), "");
  EXPECT_NE(error_of("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"), "");
  EXPECT_NE(error_of(std::string(100'000, '(')), "x");
  EXPECT_NE(error_of("{{ " + std::string(100'000, '(') + " }}"), "");
  EXPECT_NE(error_of("{{ " + std::string(100'000, '-') + "1 }}"), "");
  EXPECT_NE(error_of("{% set n = namespace(x=[]) %}{% for i in range(9999) %}{% set n.x = [n.x] %}"
                     "{% endfor %}"),
            "");
  std::string nested;
  for (int i = 0; i < 5000; ++i) nested += "{% if true %}";
  EXPECT_NE(error_of(nested), "");
}

/// Every `character` of the text, which only `owner` wrote, is still the owner's.
void expect_owned(const Text& text, std::string_view character, Origin owner,
                  const std::string& source) {
  const std::string& bytes = text.bytes();
  for (std::size_t at = bytes.find(character); at != std::string::npos;
       at = bytes.find(character, at + 1)) {
    EXPECT_EQ(text.origin_at(at), owner) << source << " gives " << bytes;
  }
}

// Every filter and method over request text and a message's, with text of all three as arguments:
// whatever comes out, a character that only one of them wrote stays that one's.
TEST(ChatTemplate, ProvenanceThroughEveryFilterAndMethod) {
  std::vector<std::string> uses;
#define FILTER(name, function) uses.push_back("| " #name);
#include "chat/filters.def"
#undef FILTER
#define METHOD(type, name, function) uses.push_back("." #name);
#include "chat/methods.def"
#undef METHOD
  const char* arguments[] = {"",         "()",  "('T')",    "('T', 'T')", "(u)", "(u, 'T')",
                             "('T', u)", "(0)", "('a', m)", "(m, m)",     "(m)", "(2, m)"};
  const std::string context = R"({"u": "§", "s": "§a§ §b", "l": ["§", "x§"], "d": {"§k": "§v"}})";
  int n_rendered = 0;
  for (const std::string& use : uses) {
    for (const char* args : arguments) {
      for (const char* base : {"s", "l", "d", "u", "'TxT'", "['T', s]", "('T' ~ s)", "m", "[m, u]",
                               "('T' ~ m ~ s)", "{'k': m}", "[[m, 'T'], [s, m]]"}) {
        const std::string source = "{{ " + std::string(base) + " " + use + args + " }}";
        const auto text = render(source, context, "¶a¶ ¶b");
        if (!text.ok()) continue;
        ++n_rendered;
        const std::string& bytes = text->bytes();
        expect_owned(*text, "§", Origin::kRequest, source);
        expect_owned(*text, "¶", message_origin(3), source);
        for (std::size_t at = bytes.find('T'); at != std::string::npos;
             at = bytes.find('T', at + 1)) {
          const bool made = bytes.compare(at, 4, "True") == 0;
          EXPECT_EQ(text->origin_at(at), made ? Origin::kRequest : Origin::kTemplate)
              << source << " gives " << bytes;
        }
      }
    }
  }
  EXPECT_GT(n_rendered, 500);
}

TEST(ChatTemplate, ProvenanceThroughOperatorsAndFunctions) {
  for (const char* source :
       {"{{ '%s T %r' % (m, u) }}", "{{ '%9s|%-9.1s' % (m, m) }}", "{{ ('T%sT' ~ m) % u }}",
        "{{ '%(a)sT%%T' % {'a': m} }}", "{{ m * 3 }}", "{{ ('T' ~ m ~ u) * 2 }}", "{{ u * 2 ~ m }}",
        "{{ cycler(m, u, 'T').next() ~ cycler(u).current }}",
        "{% set j = joiner(m) %}{{ j() }}T{{ j() }}{{ u }}{{ j() }}",
        "{{ [{'a': m, 'b': 'T'}, {'a': u}] | groupby('a') }}",
        "{% for g in [m, u] | batch(1, 'T') %}{{ g }}{% endfor %}",
        "{{ [m, [u, 'T']] | tojson(indent=m) }}",
        "{{ {'k': m} | tojson(indent=2, separators=(u, 'T')) }}", "{{ m | indent(u) ~ 'T' }}",
        "{% set s %}T{{ m }}{{ u }}{% endset %}{{ s[::-1] }}{{ s.center(40, 'T') }}",
        "{% macro f(x) %}T{{ x }}{{ caller() }}{% endmacro %}{% call f(m) %}{{ u }}{% endcall "
        "%}"}) {
    const auto text = render(source, R"({"u": "§"})", "¶a\n¶ ¶b");
    ASSERT_TRUE(text.ok()) << source << ": " << text.status().message();
    expect_owned(*text, "§", Origin::kRequest, source);
    expect_owned(*text, "¶", message_origin(3), source);
    expect_owned(*text, "T", Origin::kTemplate, source);
    std::size_t before = 0;
    for (std::size_t i = 0; i < text->runs().size(); ++i) {
      EXPECT_GT(text->runs()[i].end, before) << source;
      before = text->runs()[i].end;
      if (i == 0) continue;
      EXPECT_NE(text->runs()[i].origin, text->runs()[i - 1].origin) << source;
    }
    EXPECT_EQ(before, text->size()) << source;
  }
}

TEST(JsonReader, NumbersStringsAndErrors) {
  const auto value =
      parse_json(R"({"a": 1, "b": 1.5e3, "c": "\ud83e\udd99\u00e9\n", "a": 9223372036854775807})");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value->object()->size(), 3U);
  EXPECT_EQ(std::get<std::int64_t>(value->find("a")->data), INT64_MAX);
  EXPECT_EQ(*value->find("c")->string(), "🦙é\n");
  for (const char* bad :
       {"", "{", "[1,]", "01", "1.", "\"\t\"", "nul", "{\"a\" 1}", "[1] 2", "\"\\x\""}) {
    EXPECT_FALSE(parse_json(bad).ok()) << bad;
  }
  EXPECT_FALSE(parse_json(std::string(100'000, '[')).ok());
  EXPECT_EQ(parse_json("[1,\n x]").status().message(),
            "JSON, line 2, column 2: no value begins with this character");
}

}  // namespace
}  // namespace minfer::chat
