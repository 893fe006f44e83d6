// TokenStream: the tokens of a template, one after another, with what both halves of the parser
// ask.
//
// Thread-safety: one thread.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/lexer.h"
#include "chat/value.h"

namespace minfer::chat {

/// Ends the parsing; caught by parse_template.
struct ParseError {
  Position at;
  std::string message;
};

class TokenStream {
 public:
  /// More levels than any template has; the native stack holds them.
  static constexpr int kMaxDepth = 150;
  /// Operators in a row: each makes the tree one deeper.
  static constexpr int kMaxChain = 300;

  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  [[nodiscard]] const Token& peek(std::size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  const Token& next() {
    const Token& token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  [[nodiscard]] Position place() const { return peek().at; }
  [[nodiscard]] bool is(TokenKind kind) const { return peek().kind == kind; }
  [[nodiscard]] bool is_op(std::string_view op, std::size_t ahead = 0) const {
    return peek(ahead).kind == TokenKind::kOperator && peek(ahead).text == op;
  }
  [[nodiscard]] bool is_name(std::string_view name, std::size_t ahead = 0) const {
    return peek(ahead).kind == TokenKind::kName && peek(ahead).text == name;
  }
  bool take_op(std::string_view op) { return is_op(op) && (next(), true); }
  bool take_name(std::string_view name) { return is_name(name) && (next(), true); }
  void expect_op(std::string_view op) {
    if (!take_op(op)) error("'" + std::string(op) + "' is due here");
  }
  void expect(TokenKind kind, std::string_view what) {
    if (!is(kind)) error(std::string(what) + " is due here");
    next();
  }
  std::string expect_name() {
    if (!is(TokenKind::kName)) error("a name is due here");
    return next().text;
  }
  [[noreturn]] void error(std::string message) const {
    throw ParseError{place(), std::move(message)};
  }
  void check_chain(int n) const {
    if (n > kMaxChain) error("the expression is too long");
  }

  /// One level of recursion for as long as it lives.
  class Level {
   public:
    explicit Level(TokenStream& stream) : stream_(stream) {
      if (++stream_.depth_ > kMaxDepth) stream_.error("the template nests too deeply");
    }
    ~Level() { --stream_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    TokenStream& stream_;
  };

 private:
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace minfer::chat
