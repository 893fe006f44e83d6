#include "chat/run.h"

#include <time.h>

namespace minfer::chat {
namespace {

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

Run::Run(const Limits& limits, const std::tm& time, const Value& context)
    : now(time), limits_(limits), started_(cpu_seconds()) {
  scope = open_scope(nullptr);
  if (const Dict* dict = context.dict()) {
    for (const auto& [key, value] : dict->items()) {
      if (key.text() != nullptr) scope->names[key.text()->bytes()] = value;
    }
  }
  scope = open_scope(scope);
}

Run::~Run() {
  for (const auto& scope_in_use : scopes_) scope_in_use->names.clear();
  for (const auto& object : kept_) object->clear();
}

Value Run::lookup(const std::string& name) const {
  for (const Scope* s = scope; s != nullptr; s = s->parent) {
    if (const auto found = s->names.find(name); found != s->names.end()) return found->second;
  }
  return Value::undefined("'" + name + "' is undefined");
}

void Run::capture_scope() {
  for (Scope* s = scope; s != nullptr && !s->captured; s = s->parent) s->captured = true;
}

void Run::check_time() const {
  if (cpu_seconds() - started_ > limits_.seconds) fail("the template takes too long");
}

void Run::step(std::uint64_t n) {
  steps_ += n;
  if (steps_ < next_check_) return;
  next_check_ = steps_ + 4096;
  if (steps_ > limits_.steps) fail("the template takes too many steps");
  check_time();
}

void Run::made_bytes(std::size_t n) {
  if (n > limits_.output_bytes) fail("the template makes too long a text");
  bytes_ += n;
  if (bytes_ > limits_.total_bytes) fail("the template makes too much text");
  step(n / 64);
}

void Run::write(const Text& text) {
  made_bytes(text.size());
  if (out->size() + text.size() > limits_.output_bytes) fail("the template makes too long a text");
  out->append(text);
}

void Run::enter() {
  step();
  if (depth_ >= limits_.depth) fail("the template nests too deeply");
  ++depth_;
}

Scope* Run::open_scope(Scope* parent) {
  if (free_.empty()) {
    scopes_.push_back(std::make_unique<Scope>());
    free_.push_back(scopes_.back().get());
  }
  Scope* opened = free_.back();
  free_.pop_back();
  opened->parent = parent;
  return opened;
}

void Run::close_scope(Scope* closed) {
  if (closed->captured) return;
  closed->names.clear();
  free_.push_back(closed);
}

ScopeGuard::ScopeGuard(Run& run, Scope* parent) : run_(run), before_(run.scope) {
  run.scope = run.open_scope(parent != nullptr ? parent : run.scope);
}

ScopeGuard::~ScopeGuard() {
  run_.close_scope(run_.scope);
  run_.scope = before_;
}

}  // namespace minfer::chat
