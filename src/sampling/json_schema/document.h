// Document: a JSON Schema document whose form has been checked, with its references resolved.
//
// Owns: schemas that it makes up for constant arrays and objects. Invariants: every keyword of
// every schema in it is known and has the right shape; `$ref` stays inside; no schema refers to
// itself without a value between. The JsonValue outlives it. Thread-safety: one thread.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json_reader.h"
#include "base/status.h"
#include "sampling/json_schema/dfa.h"
#include "sampling/json_schema/regex.h"

namespace minfer::sampling::schema {

class Document {
 public:
  /// kInvalidArgument for a schema that breaks the specification, kUnsupported for what is not
  /// supported; both name keyword and place.
  static Result<Document> open(const JsonValue& root);

  [[nodiscard]] const JsonValue& root() const { return *root_; }

  /// What a schema with `$ref` refers to.
  [[nodiscard]] const JsonValue& target(const JsonValue& schema) const {
    return *targets_.find(&schema)->second;
  }

  /// The JSON pointer of a schema, "#" for the root.
  [[nodiscard]] std::string_view pointer(const JsonValue& schema) const;

  /// `what` with the place of a keyword before it.
  [[nodiscard]] std::string at(const JsonValue& schema, std::string_view keyword,
                               std::string_view what) const;

  /// The language of a pattern that stands in the document.
  [[nodiscard]] const Dfa& pattern(const std::string& text) const {
    return patterns_.find(text)->second;
  }

  /// A schema with the meaning of `const` for an array or object that stands in `owner`.
  const JsonValue& structure_of(const JsonValue& value, const JsonValue& owner);

 private:
  struct Place {
    const JsonValue* schema;
    std::string pointer;
  };

  Status check_all();
  Status check_schema(const Place& place);
  Status check_keyword(const Place& place, const std::string& keyword, const JsonValue& value);
  Status check_counts(const Place& place, const std::string& keyword, const JsonValue& value);
  Status check_type(const Place& place, const JsonValue& value);
  Status add_patterns(const Place& place, const std::string& keyword, const JsonValue& value);
  Status add_pattern(const Place& place, const std::string& keyword, const std::string& text);
  Status check_id(const Place& place, const JsonValue& value);
  Status resolve(const Place& place, const std::string& reference);
  Result<const JsonValue*> find(const Place& place, std::string_view fragment);
  Status check_loops();
  void find_references(const JsonValue& value);

  const JsonValue* root_ = nullptr;
  std::vector<Place> todo_;
  std::vector<Place> references_;
  std::vector<std::string> references_to_;  // the pointers in all strings under "$ref"
  std::unordered_map<std::string, const JsonValue*> anchors_;
  std::unordered_map<const JsonValue*, std::string> pointers_;
  std::unordered_map<std::string, const JsonValue*> places_;  // the other way round
  std::unordered_map<const JsonValue*, const JsonValue*> targets_;
  std::vector<const JsonValue*> referring_;  // the keys of targets_, in reading order
  std::unordered_map<std::string, Dfa> patterns_;
  std::size_t pattern_budget_ = kPatternBudget;
  std::deque<JsonValue> made_;
  std::unordered_map<const JsonValue*, const JsonValue*> structures_;
};

}  // namespace minfer::sampling::schema
