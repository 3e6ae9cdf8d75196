# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_STATIC_LIBSTDCXX
#
# Can spank_cohort.so bring its C++ library along? srun and slurmstepd are C: loading the shared one
# costs each of them a millisecond, and each of its mappings every fork of a task. Needs a
# libstdc++.a of position-independent code that CC and CXX agree on: libtool adds the shared
# library to whatever it links as C++, so the plugin is linked by CC. Not with sanitizers, which
# want one C++ library in the process. Sets the conditional STATIC_LIBSTDCXX, and LIBSTDCXX
# (static or shared; AC_SUBST).
AC_DEFUN([X_AC_STATIC_LIBSTDCXX], [
  AC_ARG_ENABLE([static-libstdcxx],
    [AS_HELP_STRING([--disable-static-libstdcxx], [load the C++ library with spank_cohort.so from the system (each launch costs more)])],
    [], [enable_static_libstdcxx=yes])
  AC_MSG_CHECKING([whether spank_cohort.so can bring its C++ library along])
  x_libstdcxx=shared
  AS_IF([test "$enable_static_libstdcxx" = yes && test "${enable_sanitizers:-no}" = no &&
         test -f "`$CXX -print-file-name=libstdc++.a`" &&
         test "`$CC -print-file-name=libstdc++.a`" = "`$CXX -print-file-name=libstdc++.a`"],
    [cat >conftest.cpp <<'EOF'
#include <stdexcept>
#include <string>
extern "C" int f(int n) {
    try {
        if (std::string(n, 'x').find('y') == n) throw std::runtime_error("y");
    } catch (...) {
        return 0;
    }
    return 1;
}
EOF
     AS_IF([$CXX $CXXFLAGS -fPIC -c conftest.cpp -o conftest.$OBJEXT >&AS_MESSAGE_LOG_FD 2>&1 &&
            $CC $LDFLAGS -shared conftest.$OBJEXT -static-libgcc -l:libstdc++.a -o conftest.so >&AS_MESSAGE_LOG_FD 2>&1],
       [x_libstdcxx=static])
     rm -f conftest.cpp conftest.$OBJEXT conftest.so])
  # The one other library of the plugin, where its archive allows it.
  SPANK_MD_LIBS=$MD_LIBS
  AS_IF([test $x_libstdcxx = static],
    [cat >conftest.c <<'EOF'
#include <sys/types.h>
#include <sha2.h>
void f(unsigned char *digest) {
    SHA2_CTX context;
    SHA256Init(&context);
    SHA256Update(&context, digest, 32);
    SHA256Final(digest, &context);
}
EOF
     cat >conftest.map <<'EOF'
{ global: f; local: *; };
EOF
     AS_IF([$CC $CPPFLAGS $MD_CFLAGS -fPIC -c conftest.c -o conftest.$OBJEXT >&AS_MESSAGE_LOG_FD 2>&1 &&
            $CC $LDFLAGS -shared -Wl,--version-script=conftest.map -Wl,-z,text conftest.$OBJEXT -l:libmd.a -o conftest.so >&AS_MESSAGE_LOG_FD 2>&1],
       [SPANK_MD_LIBS=-l:libmd.a])
     rm -f conftest.c conftest.map conftest.$OBJEXT conftest.so])
  AC_SUBST([SPANK_MD_LIBS])
  AC_MSG_RESULT([$x_libstdcxx])
  AC_SUBST([LIBSTDCXX], [$x_libstdcxx])
  AM_CONDITIONAL([STATIC_LIBSTDCXX], [test $x_libstdcxx = static])
])
