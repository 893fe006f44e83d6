// Expander: takes a schema apart into shapes. allOf, anyOf, oneOf, not, if, $ref and the rest that
// combines schemas are gone afterwards.
//
// Invariants: a value fits a schema where it fits one of the shapes of its type. The one exception
// is deliberate: a schema with `properties` and without `type` is for objects alone, except where
// it is denied. Bounded: more than kMaxShapes for one schema and kMaxSteps in all are refused.
// Thread-safety: one thread.
#pragma once

#include <deque>
#include <functional>
#include <map>

#include "sampling/json_schema/document.h"
#include "sampling/json_schema/shape.h"

namespace minfer::sampling::schema {

inline constexpr std::size_t kMaxShapes = 2000;
inline constexpr std::size_t kMaxSteps = 500'000;
inline constexpr std::size_t kMaxInPlace = 300;

class Expander {
 public:
  explicit Expander(Document& document) : document_(document) {}

  /// The shapes of the values of `type` that satisfy all of `goal`. Errors: kUnsupported, naming
  /// keyword and place.
  Result<std::vector<Shape>> expand(const Goal& goal, Type type);

 private:
  struct Branch;
  using Step = std::function<void(Branch&)>;
  using Choice = std::vector<Step>;
  struct Branch {
    Shape shape;
    std::vector<Choice> choices;
    std::set<std::pair<Literal, Scopes>> seen;
    int n_scopes = 0;
    bool dead = false;
  };

  void run(Branch first, std::vector<Shape>& out);
  void require(Branch& b, Literal literal, const Order& order, const Scopes& scopes);
  void add_choice(Branch& b, Choice choice);
  void refuse(const JsonValue& schema, std::string_view keyword, std::string_view what);
  void too_complex();

  // A value must fit `schema`: each keyword says what it says.
  void affirm(Branch& b, const JsonValue& schema, const Order& order, Scopes scopes);
  void affirm_keyword(Branch& b, const JsonValue& schema, const std::string& keyword,
                      const JsonValue& value, const Order& order, const Scopes& scopes);
  void affirm_combination(Branch& b, const JsonValue& schema, const std::string& keyword,
                          const JsonValue& value, const Order& order, const Scopes& scopes);
  void add_unions(Choice& choice, const JsonValue::Array& children, const Order& order,
                  const Scopes& scopes);
  void affirm_one_of(Branch& b, const JsonValue& schema, const JsonValue& value, const Order& order,
                     const Scopes& scopes);

  // A value must not fit `schema`: some keyword is broken, a way each.
  void deny(Branch& b, const JsonValue& schema);
  void deny_keyword(Choice& choice, const JsonValue& schema, const std::string& keyword,
                    const JsonValue& value, Type type);
  void deny_combination(Choice& choice, const JsonValue& schema, const std::string& keyword,
                        const JsonValue& value);

  // Numbers and strings (expander_scalars.cc). A keyword is a language, denied by its complement;
  // null for a keyword that says nothing about `type`.
  std::shared_ptr<const Dfa> language_of(const JsonValue& schema, const std::string& keyword,
                                         const JsonValue& value, Type type);
  std::optional<Dfa> number_language(const JsonValue& schema, const std::string& keyword,
                                     const JsonValue& value);
  std::optional<Dfa> string_language(const JsonValue& schema, const std::string& keyword,
                                     const JsonValue& value);
  void restrict(Branch& b, const JsonValue& schema, std::string_view keyword, const Dfa& dfa);
  void affirm_values(Branch& b, const JsonValue& schema, const JsonValue::Array& values,
                     const Order& order);
  void deny_values(Branch& b, const JsonValue& schema, const JsonValue::Array& values);
  const JsonValue::Array& constant_list(const JsonValue& value);

  // Arrays and objects (expander_containers.cc).
  void affirm_items(Branch& b, const JsonValue& schema, const Scopes& scopes);
  void affirm_array(Branch& b, const JsonValue& schema, const std::string& keyword,
                    const JsonValue& value);
  void affirm_keys(Branch& b, const JsonValue& schema, const Order& order, const Scopes& scopes);
  void affirm_object(Branch& b, const JsonValue& schema, const std::string& keyword,
                     const JsonValue& value, const Order& order, const Scopes& scopes);
  void affirm_dependency(Branch& b, const std::string& key, const JsonValue& value,
                         const Order& order, const Scopes& scopes);
  void deny_items(Choice& choice, const JsonValue& schema);
  void deny_array(Choice& choice, const JsonValue& schema, const std::string& keyword,
                  const JsonValue& value);
  void deny_keys(Choice& choice, const JsonValue& schema);
  void deny_object(Choice& choice, const JsonValue& schema, const std::string& keyword,
                   const JsonValue& value);
  std::shared_ptr<const PropertyIndex> index_of(const JsonValue* properties);
  ObjectRule rule_of(const JsonValue& schema);
  void settle(Branch& b, std::vector<Shape>& out);
  void settle_unevaluated(Shape& shape);
  const JsonValue& keep(JsonValue value);
  void settle_some_key(Branch& b, std::vector<Shape>& out);

  // Proofs that nothing fits; false where there is none.
  bool disjoint(const JsonValue& a, const JsonValue& b, Type type);
  bool hopeless(const Goal& goal, Type type, int depth);
  bool hopeless(const Shape& shape, int depth);

  Document& document_;
  Status status_;
  std::size_t steps_ = 0;
  std::size_t depth_ = 0;
  bool literal_types_ = false;  // `properties` does not imply a type
  std::map<std::pair<const JsonValue*, Type>, std::shared_ptr<const Dfa>> languages_;
  std::map<const JsonValue*, JsonValue::Array> constants_;
  std::map<const JsonValue*, std::shared_ptr<const PropertyIndex>> indexes_;
  std::deque<JsonValue> kept_;
  std::map<std::tuple<const JsonValue*, const JsonValue*, Type>, bool> disjoint_;
};

/// The value of a keyword that is a whole number.
std::uint64_t count_of(const JsonValue& value);
/// Makes `bound` no more than `value`.
void lower(std::optional<std::uint64_t>& bound, std::uint64_t value);

}  // namespace minfer::sampling::schema
