// rt/dlfind.cc -- which file a dlopen means, when that depends on who calls.
//
// What it is
//   ld.so takes the caller from the return address: the RUNPATH or RPATH of the caller's object is searched,
//   and $ORIGIN in a name is the folder that object lies in. When the call comes through us the caller is
//   this library. So the two are done here, and ld.so gets a path.
//
// Invariants
//   Order as ld.so(8): RPATH (without RUNPATH), LD_LIBRARY_PATH, RUNPATH, then the cache and the system's
//   folders. What is already loaded under the name is taken as it is. What is not found here goes to ld.so
//   as it came, so its messages are ld.so's.
//   No memory is allocated: a path that does not fit is left to ld.so.
//
// Not here
//   $LIB and $PLATFORM in a caller's paths, and the hardware subfolders of them.
#include "rt/dl.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "os/real.h"

namespace gmpt::rt {

namespace {

struct Text {
  char* at;
  size_t room, n = 0;
  bool fits = true;
  void add(const char* s, size_t len) {
    if (n + len + 1 > room) { fits = false; return; }
    memcpy(at + n, s, len);
    n += len;
    at[n] = 0;
  }
};

// Length of "$ORIGIN" or "${ORIGIN}" at s; 0 if it is neither.
size_t origin_at(const char* s) {
  if (strncmp(s, "${ORIGIN}", 9) == 0) return 9;
  if (strncmp(s, "$ORIGIN", 7) == 0 && (s[7] == '/' || s[7] == 0 || s[7] == ':')) return 7;
  return 0;
}

bool expand(const char* s, size_t n, const char* origin, Text* out) {
  for (size_t i = 0; i < n;) {
    size_t skip = origin_at(s + i);
    if (skip && !*origin) return false;
    if (skip) out->add(origin, strlen(origin));
    else if (s[i] == '$') return false;
    else out->add(s + i, 1);
    i += skip ? skip : 1;
  }
  return out->fits;
}

// The first folder of a list that has the file; the path is in buf.
bool search(const char* list, const char* file, const char* origin, char* buf, size_t room) {
  while (list && *list) {
    size_t n = strcspn(list, ":;");
    Text t{buf, room};
    if (n && expand(list, n, origin, &t)) {
      t.add("/", 1);
      t.add(file, strlen(file));
      if (t.fits && access(buf, R_OK) == 0) return true;
    }
    list += n + (list[n] != 0);
  }
  return false;
}

struct Paths { const char *rpath = nullptr, *runpath = nullptr; };

Paths paths_of(const link_map* l) {
  Paths p;
  const char* str = nullptr;
  i64 rpath = -1, runpath = -1;
  for (const ElfW(Dyn)* d = l->l_ld; d && d->d_tag != DT_NULL; d++) {
    if (d->d_tag == DT_STRTAB) str = reinterpret_cast<const char*>(d->d_un.d_ptr);
    if (d->d_tag == DT_RPATH) rpath = static_cast<i64>(d->d_un.d_val);
    if (d->d_tag == DT_RUNPATH) runpath = static_cast<i64>(d->d_un.d_val);
  }
  if (str && runpath >= 0) p.runpath = str + runpath;
  else if (str && rpath >= 0) p.rpath = str + rpath;
  return p;
}

// The folder of l's file, "" if unknown. ld.so notes the main program's only when it first meets $ORIGIN in a path
// of that, and dlinfo(RTLD_DI_ORIGIN) reads through a null pointer until then.
const char* origin_of(const link_map* l, char* buf, size_t room) {
  const char* name = l->l_name;
  size_t n = 0;
  buf[0] = 0;
  if (!*name) {
    ssize_t got = readlink("/proc/self/exe", buf, room - 1);
    if (got < 0) return buf;
    buf[n = static_cast<size_t>(got)] = 0;
  } else if (*name == '/' && (n = strlen(name)) < room) {
    memcpy(buf, name, n + 1);
  } else {  // given relative to a folder that may not be the current one any more: ld.so noted it at once
    if (dlinfo(const_cast<link_map*>(l), RTLD_DI_ORIGIN, buf) != 0) buf[0] = 0;
    return buf;
  }
  while (n > 1 && buf[n - 1] != '/') n--;
  buf[n > 1 ? n - 1 : n] = 0;
  return buf;
}

bool is_loaded(const char* file) {
  void* h = os::real().dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
  if (h) os::real().dlclose(h);
  else dlerror();  // nobody asked
  return h != nullptr;
}

}  // namespace

const char* file_for_caller(const char* file, const void* caller, char* buf, size_t room) {
  if (!file || !*file) return file;
  bool is_path = strchr(file, '/') != nullptr;
  if (is_path && !strchr(file, '$')) return file;
  Dl_info info;
  link_map* l = nullptr;
  if (!dladdr1(caller, &info, reinterpret_cast<void**>(&l), RTLD_DL_LINKMAP) || !l) return file;
  Paths p;
  if (!is_path) p = paths_of(l);
  if (!is_path && !p.rpath && !p.runpath) return file;
  char folder[4096];
  const char* origin = origin_of(l, folder, sizeof folder);
  if (is_path) {
    Text t{buf, room};
    return expand(file, strlen(file), origin, &t) ? buf : file;
  }
  if (is_loaded(file)) return file;
  if (p.rpath) return search(p.rpath, file, origin, buf, room) ? buf : file;
  if (search(getenv("LD_LIBRARY_PATH"), file, origin, buf, room)) return file;  // ld.so finds it there, too
  return search(p.runpath, file, origin, buf, room) ? buf : file;
}

}  // namespace gmpt::rt
