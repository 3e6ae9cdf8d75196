# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_LIBRARY(VARIABLE, PKG-CONFIG MODULE, DEBIAN PACKAGE)
#
# A library that pkg-config knows. Says which package to install when it is missing.
AC_DEFUN([X_AC_LIBRARY], [
  PKG_CHECK_MODULES([$1], [$2], [],
    [AC_MSG_ERROR([$2 was not found. Install its development package (Debian: $3) and run configure again])])
])

# X_AC_HEADER_LIBRARY(HEADER, DEBIAN PACKAGE)
#
# A C++ library of headers only.
AC_DEFUN([X_AC_HEADER_LIBRARY], [
  AC_LANG_PUSH([C++])
  AC_CHECK_HEADER([$1], [],
    [AC_MSG_ERROR([<$1> was not found. Install its development package (Debian: $2) and run configure again])])
  AC_LANG_POP([C++])
])
