// preload/resolve.cc -- names and addresses, libc names: libc asks the net inside, with the P on offer.
#include <netdb.h>

#include "preload/interpose.h"
#include "rt/waiting.h"

using namespace gmpt;
using rt::kernel_call;

GMPT_API int getaddrinfo(const char* node, const char* service, const struct addrinfo* hints, struct addrinfo** out) {
  GMPT_NOT_A_G(getaddrinfo, node, service, hints, out);
  return kernel_call([=] { return os::real().getaddrinfo(node, service, hints, out); });
}
GMPT_API int getnameinfo(const struct sockaddr* a, socklen_t len, char* host, socklen_t hlen, char* serv, socklen_t slen, int flags) {
  GMPT_NOT_A_G(getnameinfo, a, len, host, hlen, serv, slen, flags);
  return kernel_call([=] { return os::real().getnameinfo(a, len, host, hlen, serv, slen, flags); });
}
GMPT_API struct hostent* gethostbyname(const char* name) {
  GMPT_NOT_A_G(gethostbyname, name);
  return kernel_call([=] { return os::real().gethostbyname(name); });
}
GMPT_API struct hostent* gethostbyname2(const char* name, int af) {
  GMPT_NOT_A_G(gethostbyname2, name, af);
  return kernel_call([=] { return os::real().gethostbyname2(name, af); });
}
GMPT_API struct hostent* gethostbyaddr(const void* a, socklen_t len, int type) {
  GMPT_NOT_A_G(gethostbyaddr, a, len, type);
  return kernel_call([=] { return os::real().gethostbyaddr(a, len, type); });
}
GMPT_API int gethostbyname_r(const char* name, struct hostent* h, char* buf, size_t n, struct hostent** out, int* err) {
  GMPT_NOT_A_G(gethostbyname_r, name, h, buf, n, out, err);
  return kernel_call([=] { return os::real().gethostbyname_r(name, h, buf, n, out, err); });
}
GMPT_API int gethostbyname2_r(const char* name, int af, struct hostent* h, char* buf, size_t n, struct hostent** out, int* err) {
  GMPT_NOT_A_G(gethostbyname2_r, name, af, h, buf, n, out, err);
  return kernel_call([=] { return os::real().gethostbyname2_r(name, af, h, buf, n, out, err); });
}
GMPT_API int gethostbyaddr_r(const void* a, socklen_t len, int type, struct hostent* h, char* buf, size_t n, struct hostent** out, int* err) {
  GMPT_NOT_A_G(gethostbyaddr_r, a, len, type, h, buf, n, out, err);
  return kernel_call([=] { return os::real().gethostbyaddr_r(a, len, type, h, buf, n, out, err); });
}
