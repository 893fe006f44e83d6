#include "sampling/json_schema/formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sampling/json_schema/regex.h"

namespace minfer::sampling::schema {
namespace {

// RFC 3339. Leap seconds stand at the end of a UTC day alone.
std::string date() {
  return R"((?:(?:000[1-9]|00[1-9]\d|0[1-9]\d\d|[1-9]\d{3})-)"
         R"((?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|)"
         R"(02-(?:0[1-9]|1\d|2[0-8]))|)"
         R"((?:\d\d(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)-02-29))";
}
std::string time() {
  return R"((?:(?:(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?)"
         R"((?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d))|23:59:60(?:\.\d{1,9})?[Zz]))";
}
// Appendix A of RFC 3339.
std::string duration() {
  const std::string clock = R"(T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S))";
  return fmt::format(R"(P(?:\d+W|(?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D)(?:{0})?|{0}))",
                     clock);
}

// RFC 1123, short enough for the 253 characters of a name (RFC 1035) whatever the labels.
std::string hostname(int n_labels, int label_length) {
  const std::string label =
      fmt::format("[A-Za-z0-9](?:[A-Za-z0-9-]{{0,{}}}[A-Za-z0-9])?", label_length - 2);
  return fmt::format(R"({0}(?:\.{0}){{0,{1}}})", label, n_labels - 1);
}
// RFC 5321 with a dot-string before the @.
std::string email() {
  return R"([\w!#$%&'*+/=?^`{|}~-](?:\.?[\w!#$%&'*+/=?^`{|}~-]){0,31}@)" + hostname(5, 30);
}

std::string ipv4() {
  const std::string byte = R"((?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d))";
  return fmt::format(R"({0}(?:\.{0}){{3}})", byte);
}
// RFC 4291, in the shape of RFC 3986's IPv6address.
std::string ipv6() {
  const std::string group = "[0-9A-Fa-f]{1,4}";
  const std::string last = fmt::format("(?:{0}:{0}|{1})", group, ipv4());
  std::string out = fmt::format("(?:(?:{}:){{6}}{}", group, last);
  for (int before = 0; before <= 7; ++before) {
    const std::string left =
        before == 0 ? "" : fmt::format("(?:(?:{0}:){{0,{1}}}{0})?", group, before - 1);
    const int groups = 5 - before;  // beside the last two
    std::string right;
    if (groups > 0) right = fmt::format("(?:{}:){{{}}}", group, groups);
    right += groups >= 0 ? last : groups == -1 ? group : "";
    out += "|" + left + "::" + right;
  }
  return out + ")";
}

// RFC 3986, and RFC 3987 with the characters that it adds.
struct Uri {
  std::string more;          // characters of RFC 3987 beside unreserved ones
  std::string more_private;  // and of its queries

  [[nodiscard]] std::string chars(std::string_view extra) const {
    return fmt::format(R"((?:[A-Za-z0-9._~!$&'()*+,;=\-{}{}]|%[0-9A-Fa-f]{{2}}))", more, extra);
  }
  [[nodiscard]] std::string path_char() const { return chars(":@"); }
  [[nodiscard]] std::string authority() const {
    const std::string literal =
        fmt::format(R"(\[(?:{}|v[0-9A-Fa-f]+\.[A-Za-z0-9._~!$&'()*+,;=:\-]+)\])", ipv6());
    return fmt::format("(?:{}*@)?(?:{}|{}*)(?::[0-9]*)?", chars(":"), literal, chars(""));
  }
  [[nodiscard]] std::string tail() const {
    return fmt::format("(?:\\?{}*)?(?:#{}*)?", chars(":@/?" + more_private), chars(":@/?"));
  }
  [[nodiscard]] std::string path(const std::string& first) const {
    const std::string segments = fmt::format("(?:/{}*)*", path_char());
    return fmt::format("(?://{0}{1}|/(?:{2}+{1})?|{3}+{1})?", authority(), segments, path_char(),
                       first);
  }
  [[nodiscard]] std::string absolute() const {
    return fmt::format("[A-Za-z][A-Za-z0-9+.-]*:{}{}", path(path_char()), tail());
  }
  [[nodiscard]] std::string reference() const {
    return fmt::format("(?:{}|{}{})", absolute(), path(chars("@")), tail());
  }
};

const char* const kMore =
    R"(\u{A0}-\u{D7FF}\u{F900}-\u{FDCF}\u{FDF0}-\u{FFEF}\u{10000}-\u{1FFFD}\u{20000}-\u{2FFFD})"
    R"(\u{30000}-\u{3FFFD}\u{40000}-\u{4FFFD}\u{50000}-\u{5FFFD}\u{60000}-\u{6FFFD})"
    R"(\u{70000}-\u{7FFFD}\u{80000}-\u{8FFFD}\u{90000}-\u{9FFFD}\u{A0000}-\u{AFFFD})"
    R"(\u{B0000}-\u{BFFFD}\u{C0000}-\u{CFFFD}\u{D0000}-\u{DFFFD}\u{E1000}-\u{EFFFD})";
const char* const kMorePrivate = R"(\u{E000}-\u{F8FF}\u{F0000}-\u{FFFFD}\u{100000}-\u{10FFFD})";

Uri uri() { return {}; }
Uri iri() { return {kMore, kMorePrivate}; }

// RFC 6901 and its relative kin.
std::string json_pointer() { return "(?:/(?:[^~/]|~[01])*)*"; }
// RFC 6570.
std::string uri_template() {
  const std::string name = "(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})";
  const std::string variable = fmt::format("{0}(?:\\.?{0})*(?::[1-9][0-9]{{0,3}}|\\*)?", name);
  return fmt::format(
      "(?:[!#$&(-;=?-\\[\\]_a-z~{2}{3}]|%[0-9A-Fa-f]{{2}}|\\{{[+#./;?&]?{0}(?:,{0})*\\}}){1}",
      variable, "*", kMore, kMorePrivate);
}

struct Format {
  std::string_view name;
  std::string (*pattern)();
};
constexpr std::array kFormats = {
    Format{"date", date},
    Format{"time", time},
    Format{"date-time", [] { return date() + "[Tt]" + time(); }},
    Format{"duration", duration},
    Format{"email", email},
    Format{"hostname", [] { return hostname(6, 40); }},
    Format{"ipv4", ipv4},
    Format{"ipv6", ipv6},
    Format{"uuid",
           [] { return std::string("[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"); }},
    Format{"uri", [] { return uri().absolute(); }},
    Format{"uri-reference", [] { return uri().reference(); }},
    Format{"iri", [] { return iri().absolute(); }},
    Format{"iri-reference", [] { return iri().reference(); }},
    Format{"uri-template", uri_template},
    Format{"json-pointer", json_pointer},
    Format{"relative-json-pointer", [] { return "(?:0|[1-9][0-9]*)(?:#|" + json_pointer() + ")"; }},
};
constexpr std::array<std::string_view, 4> kSilent = {"float", "double", "password", "binary"};

Dfa whole(const std::string& pattern) {
  std::size_t budget = kPatternBudget;
  Result<Dfa> dfa = regex_to_dfa("^(?:" + pattern + ")$", budget);
  MINFER_CHECK(dfa.ok());
  return *std::move(dfa);
}

}  // namespace

std::optional<Dfa> format_language(std::string_view format) {
  if (format == "byte") return base64_language();
  const auto* const known = std::find_if(kFormats.begin(), kFormats.end(),
                                         [&](const Format& f) { return f.name == format; });
  if (known == kFormats.end()) return std::nullopt;
  return whole(known->pattern());
}

bool is_silent_format(std::string_view format) {
  return std::find(kSilent.begin(), kSilent.end(), format) != kSilent.end();
}

Dfa base64_language() {
  return whole("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?");
}

}  // namespace minfer::sampling::schema
