// Status and Result: how every fallible function of minfer reports failure.
//
// Owns: error codes, the one table that maps a code to a process exit status, message context.
// Invariants: an OK Status holds no memory, so returning it never allocates. A Result holds a value
// or a Status that is not OK, never both.
// Thread-safety: values; as safe as an int.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace minfer {

enum class StatusCode {
  kOk = 0,
  kInvalidArgument,  // the caller (a flag, a request) asked for something impossible
  kNotFound,         // a file, tensor, key or name is not there
  kUnsupported,      // valid, but this build cannot do it; the message names what
  kCorrupt,          // a file breaks its format
  kOutOfRange,       // a position, length or id is past its limit
  kOutOfMemory,      // memory that was asked for cannot be had
  kIo,               // the operating system refused to read or write
  kNumeric,          // a value is not finite where it must be
  kCancelled,        // the user asked to stop
  kInternal,         // a defect of minfer
};

/// The exit status of the process for a command that failed with `code` (spec: 1 failed, 2 bad
/// usage, 130 cancelled).
int exit_status(StatusCode code);

/// Success, or a code and one line of text that says what, where and what to do.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message);

  Status(const Status& other);
  Status& operator=(const Status& other);
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;
  ~Status() = default;

  [[nodiscard]] bool ok() const { return rep_ == nullptr; }
  [[nodiscard]] StatusCode code() const { return rep_ ? rep_->code : StatusCode::kOk; }
  [[nodiscard]] const std::string& message() const;

  /// The same failure with `context: ` before its message; OK stays OK.
  [[nodiscard]] Status with_context(std::string_view context) const;

 private:
  struct Rep {
    StatusCode code;
    std::string message;
  };
  std::unique_ptr<Rep> rep_;
};

inline Status ok_status() { return {}; }
Status invalid_argument(std::string message);
Status not_found(std::string message);
Status unsupported(std::string message);
Status corrupt(std::string message);
Status out_of_range(std::string message);
Status out_of_memory(std::string message);
Status io_error(std::string message);
Status numeric_error(std::string message);
Status cancelled(std::string message);
Status internal_error(std::string message);

/// Ends the process with file, line and text: only for a programmer's error.
[[noreturn]] void check_failed(const char* file, int line, const char* condition);

#define MINFER_CHECK(condition)                               \
  do {                                                        \
    if (!(condition)) [[unlikely]]                            \
      ::minfer::check_failed(__FILE__, __LINE__, #condition); \
  } while (false)

/// A value of type T, or the Status that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT: implicit on purpose
  Result(Status status) : status_(std::move(status)) {  // NOLINT: implicit on purpose
    MINFER_CHECK(!status_.ok());
  }

  [[nodiscard]] bool ok() const { return value_.has_value(); }
  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] T& value() & {
    MINFER_CHECK(ok());
    return *value_;
  }
  [[nodiscard]] const T& value() const& {
    MINFER_CHECK(ok());
    return *value_;
  }
  [[nodiscard]] T&& value() && {
    MINFER_CHECK(ok());
    return std::move(*value_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::optional<T> value_;
  Status status_;
};

#define MINFER_CONCAT_INNER(a, b) a##b
#define MINFER_CONCAT(a, b) MINFER_CONCAT_INNER(a, b)

#define MINFER_RETURN_IF_ERROR(expression)                                                     \
  do {                                                                                         \
    if (::minfer::Status minfer_error = (expression); !minfer_error.ok()) return minfer_error; \
  } while (false)

#define MINFER_ASSIGN_OR_RETURN(declaration, expression) \
  MINFER_ASSIGN_OR_RETURN_INNER(MINFER_CONCAT(result_, __LINE__), declaration, expression)
#define MINFER_ASSIGN_OR_RETURN_INNER(result, declaration, expression) \
  auto result = (expression);                                          \
  if (!result.ok()) return result.status();                            \
  declaration = std::move(result).value()

}  // namespace minfer
