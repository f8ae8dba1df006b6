// The one unit of a slim module that knows Python: compiled once for a Python and a torch, linked into each module.

#include "calls.h"

namespace pkwb::runtime {

void* undefined_word() {
  static void* const word = [] {
    void* handle = nullptr;
    check(aoti_torch_new_uninitialized_tensor(&handle), "undefined tensor");
    void* found = word_at(handle, 0);
    aoti_torch_delete_tensor_object(handle);
    return found;
  }();
  return word;
}

void refused(const char* what) {
  const char* said =
      torch_exception_get_what_without_backtrace != nullptr ? torch_exception_get_what_without_backtrace() : nullptr;
  fail(ErrorKind::runtime, said != nullptr && *said != 0 ? said : text_of("torch refused to answer ", what));
}

namespace {

// Functions and their records stay for as long as the process lives, as modules do.
struct Entry {
  Function function;
  std::string doc;
  PyMethodDef method{};
};

}  // namespace

void add_function(PyObject* module, Function function) {
  if (PyObject_HasAttrString(module, function.name.c_str())) throw Unavailable("overloads of one name");
  auto* entry = new Entry{std::move(function), {}, {}};
  const Function& kept = entry->function;
  entry->doc = kept.name + signature(kept) + "\n" + (kept.doc.empty() ? "" : "\n" + kept.doc + "\n");
  entry->method.ml_name = kept.name.c_str();
  entry->method.ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&call_function));
  entry->method.ml_flags = METH_FASTCALL | METH_KEYWORDS;
  entry->method.ml_doc = entry->doc.c_str();
  const Owned record(checked(PyCapsule_New(&entry->function, nullptr, nullptr)));
  const Owned name(checked(PyModule_GetNameObject(module)));
  const Owned made(checked(PyCFunction_NewEx(&entry->method, record.get(), name.get())));
  if (PyObject_SetAttrString(module, kept.name.c_str(), made.get()) != 0) throw PythonError();
}

void set_doc(PyObject* module, const std::string& text) {
  if (PyModule_SetDocString(module, text.c_str()) != 0) throw PythonError();
}

PyObject* open_module(const char* name, void (*fill)(PyObject* module)) {
  try {
    torch_facts();
    static PyModuleDef definition = {PyModuleDef_HEAD_INIT, nullptr, nullptr, -1,
                                     nullptr,               nullptr, nullptr, nullptr, nullptr};
    definition.m_name = name;
    Owned module(checked(PyModule_Create(&definition)));
    fill(module.get());
    return module.give();
  } catch (const Unavailable& error) {
    PyErr_SetString(PyExc_ImportError, error.what());
    return nullptr;
  } catch (...) {
    return raise_current();
  }
}

}  // namespace pkwb::runtime
