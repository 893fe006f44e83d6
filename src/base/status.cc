#include "base/status.h"

#include <cstdio>
#include <cstdlib>

namespace minfer {
namespace {

struct CodeInfo {
  StatusCode code;
  int exit_status;
};

constexpr CodeInfo kCodes[] = {
    {StatusCode::kOk, 0},          {StatusCode::kInvalidArgument, 2},
    {StatusCode::kNotFound, 1},    {StatusCode::kUnsupported, 1},
    {StatusCode::kCorrupt, 1},     {StatusCode::kOutOfRange, 1},
    {StatusCode::kOutOfMemory, 1}, {StatusCode::kIo, 1},
    {StatusCode::kNumeric, 1},     {StatusCode::kCancelled, 130},
    {StatusCode::kInternal, 1},
};

const CodeInfo& info(StatusCode code) { return kCodes[static_cast<int>(code)]; }

}  // namespace

int exit_status(StatusCode code) { return info(code).exit_status; }

Status::Status(StatusCode code, std::string message) {
  MINFER_CHECK(code != StatusCode::kOk);
  rep_ = std::make_unique<Rep>(Rep{code, std::move(message)});
}

Status::Status(const Status& other)
    : rep_(other.rep_ ? std::make_unique<Rep>(*other.rep_) : nullptr) {}

Status& Status::operator=(const Status& other) {
  if (this != &other) rep_ = other.rep_ ? std::make_unique<Rep>(*other.rep_) : nullptr;
  return *this;
}

const std::string& Status::message() const {
  static const std::string kNone;
  return rep_ ? rep_->message : kNone;
}

Status Status::with_context(std::string_view context) const {
  if (ok()) return {};
  return {code(), std::string(context) + ": " + message()};
}

Status invalid_argument(std::string message) {
  return {StatusCode::kInvalidArgument, std::move(message)};
}
Status not_found(std::string message) { return {StatusCode::kNotFound, std::move(message)}; }
Status unsupported(std::string message) { return {StatusCode::kUnsupported, std::move(message)}; }
Status corrupt(std::string message) { return {StatusCode::kCorrupt, std::move(message)}; }
Status out_of_range(std::string message) { return {StatusCode::kOutOfRange, std::move(message)}; }
Status out_of_memory(std::string message) { return {StatusCode::kOutOfMemory, std::move(message)}; }
Status io_error(std::string message) { return {StatusCode::kIo, std::move(message)}; }
Status numeric_error(std::string message) { return {StatusCode::kNumeric, std::move(message)}; }
Status cancelled(std::string message) { return {StatusCode::kCancelled, std::move(message)}; }
Status internal_error(std::string message) { return {StatusCode::kInternal, std::move(message)}; }

void check_failed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "minfer: internal error at %s:%d: %s does not hold\n", file, line,
               condition);
  std::abort();
}

}  // namespace minfer
