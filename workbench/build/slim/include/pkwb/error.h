// Stands for c10/util/Exception.h: errors that become Python errors of the same class and text as torch's.
#pragma once

#include <pkwb/standard.h>

namespace pkwb {

// Which Python class an error becomes.
enum class ErrorKind { runtime, index, value, type, not_implemented, accelerator };

class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string text, int code = 0) : kind_(kind), text_(std::move(text)), code_(code) {}
  const char* what() const noexcept override { return text_.c_str(); }
  const char* what_without_backtrace() const noexcept { return text_.c_str(); }
  const std::string& msg() const { return text_; }
  ErrorKind pkwb_kind() const { return kind_; }
  int pkwb_code() const { return code_; }

 private:
  ErrorKind kind_;
  std::string text_;
  int code_;
};

// All parts written one behind the other.
template <typename... Parts>
std::string text_of(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

inline std::string failure_text(const char* otherwise) { return otherwise; }
template <typename... Parts>
std::string failure_text(const char*, const Parts&... parts) {
  return text_of(parts...);
}

[[noreturn]] inline void fail(ErrorKind kind, std::string text) { throw Error(kind, std::move(text)); }

inline void warn(const char* file, int line, const char* function, const std::string& text) {
  std::fprintf(stderr, "[W %s:%d] Warning: %s (function %s)\n", file, line, text.c_str(), function);
}

}  // namespace pkwb

// A bare if, as torch's macro is one.
#define PKWB_CHECK(kind, condition, ...)                                                               \
  if (__builtin_expect(static_cast<bool>(!(condition)), 0)) {                                          \
    ::pkwb::fail(::pkwb::ErrorKind::kind,                                                              \
                 ::pkwb::failure_text("Expected " #condition                                           \
                                      " to be true, but got false.  (Could this error message be "     \
                                      "improved?  If so, please report an enhancement request to "     \
                                      "PyTorch.)",                                                     \
                                      ##__VA_ARGS__));                                                 \
  }

#define TORCH_CHECK(condition, ...) PKWB_CHECK(runtime, condition, ##__VA_ARGS__)
// torch takes these with a text only.
#define TORCH_CHECK_INDEX(condition, text, ...) PKWB_CHECK(index, condition, text, ##__VA_ARGS__)
#define TORCH_CHECK_VALUE(condition, text, ...) PKWB_CHECK(value, condition, text, ##__VA_ARGS__)
#define TORCH_CHECK_TYPE(condition, text, ...) PKWB_CHECK(type, condition, text, ##__VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(condition, text, ...) PKWB_CHECK(not_implemented, condition, text, ##__VA_ARGS__)

#define TORCH_INTERNAL_ASSERT(condition, ...)                                                              \
  if (__builtin_expect(static_cast<bool>(!(condition)), 0)) {                                              \
    ::pkwb::fail(::pkwb::ErrorKind::runtime,                                                               \
                 ::pkwb::text_of(#condition " INTERNAL ASSERT FAILED at \"", __FILE__, "\":", __LINE__,    \
                                 ", please report a bug to PyTorch. ", ##__VA_ARGS__));                    \
  }

#define AT_ERROR(...) ::pkwb::fail(::pkwb::ErrorKind::runtime, ::pkwb::text_of(__VA_ARGS__))
#define TORCH_WARN(...) ::pkwb::warn(__FILE__, __LINE__, __func__, ::pkwb::text_of(__VA_ARGS__))
