// Emitter: makes the rules for the shapes of a schema.
//
// Invariants: a goal gets one rule, so that recursive schemas become recursive rules. No native
// recursion: goals wait in a list. Thread-safety: one thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sampling/json_schema/document.h"
#include "sampling/json_schema/expander.h"
#include "sampling/json_schema/rule_set.h"
#include "sampling/json_schema/shape.h"

namespace minfer::sampling::schema {

inline constexpr std::size_t kMaxRules = 200'000;

class Emitter {
 public:
  explicit Emitter(Document& document) : document_(document), expander_(document) {}

  /// The rules of the document's root, pruned; rule 0 is for the whole value.
  Result<RuleSet> run();
  /// Rules of the texts that fit, without quotes and escapes, of which none holds `end`. Values
  /// that are no texts are left out.
  Result<RuleSet> run_bare_text(std::string_view end);

 private:
  struct Extra {  // keys that nothing declares, all with one goal
    Dfa keys;
    Goal goal;
  };

  RuleId value(const Goal& goal);
  void fill(const Goal& goal, RuleId rule);
  void emit(const Shape& shape, RuleId rule);
  void refuse(const JsonValue& schema, std::string_view keyword, std::string_view what);
  void too_complex();

  // Numbers and strings (emitter_scalars.cc).
  enum class Spelling { kPlain, kString };
  std::vector<std::string> words_of(const Shape& shape);
  void emit_number(const Shape& shape, RuleId rule);
  void emit_string(const Shape& shape, RuleId rule);
  std::optional<Dfa> string_language(const Shape& shape);
  RuleId language_rule(const Dfa& dfa, Spelling spelling);
  RuleId string_rule(const Dfa& dfa);
  Symbol character(const CharSet& set, Spelling spelling);
  RuleId any_character();

  // Arrays and objects (emitter_containers.cc).
  void emit_array(const Shape& shape, RuleId rule);
  void emit_plain_array(const Shape& shape, RuleId rule);
  void emit_counted_array(const Shape& shape, RuleId rule);
  void emit_unique_array(const Shape& shape, RuleId rule);
  bool finite_values(const Goal& goal, std::vector<std::string>& out);
  void emit_object(const Shape& shape, RuleId rule);
  bool key_language(const Shape& shape, Dfa& out);
  std::vector<Extra> extras_of(const Shape& shape, const Dfa& names);
  RuleId extra_pair(const Shape& shape, const Dfa& names);

  Document& document_;
  Expander expander_;
  RuleSet rules_;
  Status status_;
  const JsonValue* current_ = nullptr;  // the schema whose rules are being made, for messages
  std::map<Goal, RuleId> goals_;
  std::vector<std::pair<Goal, RuleId>> todo_;
  std::map<std::string, RuleId> languages_;
  std::optional<RuleId> any_character_;
};

/// `text` as a JSON string, escaped as it is written: quote, backslash and control characters
/// alone.
std::string json_string(std::string_view text);

}  // namespace minfer::sampling::schema
