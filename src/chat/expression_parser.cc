#include "chat/expression_parser.h"

#include <charconv>

namespace minfer::chat {

bool ExpressionParser::at_tuple_end() const {
  return tokens_.is(TokenKind::kBlockEnd) || tokens_.is(TokenKind::kOutputEnd) ||
         tokens_.is_op(")") || tokens_.is_name("in") || tokens_.is_op("=");
}

ExprPtr ExpressionParser::tuple(bool conditional) {
  const Position at = tokens_.place();
  std::vector<ExprPtr> items;
  bool is_tuple = false;
  while (!at_tuple_end()) {
    items.push_back(expression(conditional));
    if (!tokens_.take_op(",")) break;
    is_tuple = true;
  }
  if (items.empty() && !is_tuple) tokens_.error("an expression is due here");
  return is_tuple ? make_list(at, std::move(items), true) : std::move(items[0]);
}

ExprPtr ExpressionParser::expression(bool conditional) {
  const TokenStream::Level level(tokens_);
  ExprPtr value = logic_or();
  for (int n = 0; conditional && tokens_.is_name("if"); ++n) {
    tokens_.check_chain(n);
    const Position at = tokens_.next().at;
    ExprPtr condition = logic_or();
    ExprPtr otherwise = tokens_.take_name("else") ? expression() : nullptr;
    value = make_conditional(at, std::move(condition), std::move(value), std::move(otherwise));
  }
  return value;
}

ExprPtr ExpressionParser::logic_or() {
  ExprPtr left = logic_and();
  for (int n = 0; tokens_.is_name("or"); ++n) {
    tokens_.check_chain(n);
    const Position at = tokens_.next().at;
    left = make_logic(at, false, std::move(left), logic_and());
  }
  return left;
}

ExprPtr ExpressionParser::logic_and() {
  ExprPtr left = logic_not();
  for (int n = 0; tokens_.is_name("and"); ++n) {
    tokens_.check_chain(n);
    const Position at = tokens_.next().at;
    left = make_logic(at, true, std::move(left), logic_not());
  }
  return left;
}

ExprPtr ExpressionParser::logic_not() {
  const TokenStream::Level level(tokens_);
  if (!tokens_.is_name("not")) return comparison();
  const Position at = tokens_.next().at;
  return make_not(at, logic_not());
}

ExprPtr ExpressionParser::comparison() {
  const Position at = tokens_.place();
  ExprPtr first = sum();
  std::vector<std::pair<std::string, ExprPtr>> rest;
  for (;;) {
    std::string op;
    for (const char* candidate : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (op.empty() && tokens_.take_op(candidate)) op = candidate;
    }
    if (op.empty() && tokens_.take_name("in")) op = "in";
    if (op.empty() && tokens_.is_name("not") && tokens_.is_name("in", 1)) {
      tokens_.next();
      tokens_.next();
      op = "not in";
    }
    if (op.empty()) break;
    ExprPtr right = sum();
    rest.emplace_back(std::move(op), std::move(right));
  }
  return rest.empty() ? std::move(first) : make_compare(at, std::move(first), std::move(rest));
}

ExprPtr ExpressionParser::chain(Rule operand, std::initializer_list<std::string_view> operators) {
  ExprPtr left = (this->*operand)();
  for (int n = 0;; ++n) {
    tokens_.check_chain(n);
    const Token& token = tokens_.peek();
    const bool known = token.kind == TokenKind::kOperator &&
                       std::find(operators.begin(), operators.end(), token.text) != operators.end();
    if (!known) return left;
    const Position at = token.at;
    std::string op = tokens_.next().text;
    ExprPtr right = (this->*operand)();
    left = make_binary(at, std::move(op), std::move(left), std::move(right));
  }
}

ExprPtr ExpressionParser::sum() { return chain(&ExpressionParser::concat, {"+", "-"}); }

ExprPtr ExpressionParser::concat() {
  const Position at = tokens_.place();
  std::vector<ExprPtr> parts;
  parts.push_back(product());
  while (tokens_.take_op("~")) parts.push_back(product());
  return parts.size() == 1 ? std::move(parts[0]) : make_concat(at, std::move(parts));
}

ExprPtr ExpressionParser::product() {
  return chain(&ExpressionParser::power, {"*", "/", "//", "%"});
}

ExprPtr ExpressionParser::power() { return chain(&ExpressionParser::unary_with_filters, {"**"}); }

ExprPtr ExpressionParser::unary(bool with_filters) {
  const TokenStream::Level level(tokens_);
  ExprPtr value;
  if (tokens_.is_op("-") || tokens_.is_op("+")) {
    const bool negative = tokens_.is_op("-");
    const Position at = tokens_.next().at;
    value = make_sign(at, unary(false), negative);
  } else {
    value = primary();
  }
  value = postfix(std::move(value));
  return with_filters ? filters(std::move(value)) : std::move(value);
}

ExprPtr ExpressionParser::primary() {
  const Token& token = tokens_.peek();
  const Position at = token.at;
  if (token.kind == TokenKind::kString) return literal_string();
  if (token.kind == TokenKind::kInteger) {
    std::int64_t value = 0;
    const std::string& digits = token.text;
    const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc()) tokens_.error("the number is out of range");
    tokens_.next();
    return make_literal(at, Value(value));
  }
  if (token.kind == TokenKind::kFloat) {
    double value = 0;
    const std::string& digits = token.text;
    const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc()) tokens_.error("the number is out of range");
    tokens_.next();
    return make_literal(at, Value(value));
  }
  if (token.kind == TokenKind::kName) {
    std::string name = tokens_.next().text;
    if (name == "true" || name == "True") return make_literal(at, Value(true));
    if (name == "false" || name == "False") return make_literal(at, Value(false));
    if (name == "none" || name == "None") return make_literal(at, Value());
    special_names.insert(name);
    names_.load(name);
    return make_name(at, std::move(name));
  }
  if (tokens_.is_op("[")) return list();
  if (tokens_.is_op("{")) return dict();
  if (!tokens_.take_op("(")) tokens_.error("an expression is due here");
  if (tokens_.take_op(")")) return make_list(at, {}, true);
  ExprPtr value = tuple();
  tokens_.expect_op(")");
  return value;
}

ExprPtr ExpressionParser::literal_string() {
  const Position at = tokens_.place();
  std::string text;
  while (tokens_.is(TokenKind::kString)) text += tokens_.next().text;
  return make_literal(at, Value::literal(std::move(text)));
}

ExprPtr ExpressionParser::list() {
  const Position at = tokens_.next().at;
  std::vector<ExprPtr> items;
  while (!tokens_.is_op("]")) {
    items.push_back(expression());
    if (!tokens_.take_op(",")) break;
  }
  tokens_.expect_op("]");
  return make_list(at, std::move(items), false);
}

ExprPtr ExpressionParser::dict() {
  const Position at = tokens_.next().at;
  std::vector<std::pair<ExprPtr, ExprPtr>> items;
  while (!tokens_.is_op("}")) {
    ExprPtr key = expression();
    tokens_.expect_op(":");
    ExprPtr value = expression();
    items.emplace_back(std::move(key), std::move(value));
    if (!tokens_.take_op(",")) break;
  }
  tokens_.expect_op("}");
  return make_dict(at, std::move(items));
}

ExprPtr ExpressionParser::postfix(ExprPtr base) {
  for (int n = 0;; ++n) {
    tokens_.check_chain(n);
    const Position at = tokens_.place();
    if (tokens_.take_op(".")) {
      if (tokens_.is(TokenKind::kInteger)) {
        base = make_item(at, std::move(base), primary());
      } else {
        base = make_attribute(at, std::move(base), tokens_.expect_name());
      }
    } else if (tokens_.is_op("[")) {
      base = subscript(std::move(base));
    } else if (tokens_.is_op("(")) {
      base = make_call(at, std::move(base), arguments());
    } else {
      return base;
    }
  }
}

ExprPtr ExpressionParser::subscript(ExprPtr base) {
  const Position at = tokens_.next().at;
  ExprPtr parts[3];
  int n_colons = 0;
  while (!tokens_.is_op("]")) {
    if (tokens_.is_op(":")) {
      tokens_.next();
      if (++n_colons > 2) tokens_.error("a slice has at most three parts");
    } else if (parts[n_colons]) {
      tokens_.error("']' is due here");
    } else {
      parts[n_colons] = expression();
    }
  }
  tokens_.expect_op("]");
  if (n_colons > 0) {
    return make_slice(at, std::move(base), std::move(parts[0]), std::move(parts[1]),
                      std::move(parts[2]));
  }
  if (!parts[0]) tokens_.error("an index is due here");
  return make_item(at, std::move(base), std::move(parts[0]));
}

ArgExprs ExpressionParser::arguments() {
  ArgExprs args;
  tokens_.expect_op("(");
  while (!tokens_.is_op(")")) {
    if (tokens_.take_op("**")) {
      args.star_star = expression();
    } else if (tokens_.take_op("*")) {
      args.star = expression();
    } else if (tokens_.is(TokenKind::kName) && tokens_.is_op("=", 1)) {
      std::string name = tokens_.next().text;
      tokens_.next();
      args.named.emplace_back(std::move(name), expression());
    } else if (!args.named.empty()) {
      tokens_.error("an argument without name after one with a name");
    } else {
      args.positional.push_back(expression());
    }
    if (!tokens_.take_op(",")) break;
  }
  tokens_.expect_op(")");
  return args;
}

ExprPtr ExpressionParser::filters(ExprPtr base, bool first_without_pipe) {
  for (int n = 0;; ++n) {
    tokens_.check_chain(n);
    const Position at = tokens_.place();
    if (first_without_pipe || tokens_.take_op("|")) {
      first_without_pipe = false;
      std::string name = tokens_.expect_name();
      while (tokens_.take_op(".")) name += "." + tokens_.expect_name();
      ArgExprs args;
      if (tokens_.is_op("(")) args = arguments();
      base = make_filter(at, std::move(base), std::move(name), std::move(args));
    } else if (tokens_.is_name("is")) {
      base = test(std::move(base));
    } else if (base && tokens_.is_op("(")) {
      base = make_call(at, std::move(base), arguments());
    } else {
      return base;
    }
  }
}

ExprPtr ExpressionParser::test(ExprPtr base) {
  const TokenStream::Level level(tokens_);
  const Position at = tokens_.next().at;
  const bool negated = tokens_.take_name("not");
  std::string name = tokens_.expect_name();
  ArgExprs args;
  const TokenKind kind = tokens_.peek().kind;
  const bool starts_value = kind == TokenKind::kString || kind == TokenKind::kInteger ||
                            kind == TokenKind::kFloat || tokens_.is_op("[") || tokens_.is_op("{");
  bool word = kind == TokenKind::kName;
  for (const char* keyword : {"else", "or", "and", "if", "is", "not", "in", "recursive"}) {
    word = word && !tokens_.is_name(keyword);
  }
  if (tokens_.is_op("(")) {
    args = arguments();
  } else if (starts_value || word) {
    ExprPtr argument = primary();
    args.positional.push_back(postfix(std::move(argument)));
  }
  ExprPtr result = make_test(at, std::move(base), std::move(name), std::move(args));
  return negated ? make_not(at, std::move(result)) : std::move(result);
}

}  // namespace minfer::chat
