# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_WARNINGS
#
# Compiler warnings (always), -Werror (--enable-werror, used by CI: never forced on users), sanitizers
# and hardening. Sets COHORT_CXXFLAGS and COHORT_LDFLAGS.
AC_DEFUN([X_AC_WARNINGS], [
  AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [make compiler warnings errors])])
  AC_ARG_ENABLE([sanitizers],
    [AS_HELP_STRING([--enable-sanitizers=LIST], [build with -fsanitize=LIST @<:@address,undefined@:>@])],
    [AS_IF([test "$enableval" = yes], [enable_sanitizers=address,undefined])], [enable_sanitizers=no])
  AC_ARG_ENABLE([coverage], [AS_HELP_STRING([--enable-coverage], [build with --coverage])])
  COHORT_CXXFLAGS="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -fvisibility=hidden -fvisibility-inlines-hidden"
  AX_CHECK_COMPILE_FLAG([-fno-gnu-unique], [COHORT_CXXFLAGS="$COHORT_CXXFLAGS -fno-gnu-unique"], [], [-Werror])
  COHORT_LDFLAGS="-Wl,-z,relro -Wl,-z,now"
  AS_IF([test "$enable_werror" = yes], [COHORT_CXXFLAGS="$COHORT_CXXFLAGS -Werror"])
  AS_IF([test "$enable_coverage" = yes],
    [COHORT_CXXFLAGS="$COHORT_CXXFLAGS --coverage"; COHORT_LDFLAGS="$COHORT_LDFLAGS --coverage"])
  AS_IF([test "$enable_sanitizers" != no],
    [COHORT_CXXFLAGS="$COHORT_CXXFLAGS -fsanitize=$enable_sanitizers -fno-omit-frame-pointer"
     COHORT_LDFLAGS="$COHORT_LDFLAGS -fsanitize=$enable_sanitizers"],
    [COHORT_CXXFLAGS="$COHORT_CXXFLAGS -fstack-protector-strong"
     AX_CHECK_COMPILE_FLAG([-fcf-protection], [COHORT_CXXFLAGS="$COHORT_CXXFLAGS -fcf-protection"], [], [-Werror])])
  AC_SUBST([COHORT_CXXFLAGS])
  AC_SUBST([COHORT_LDFLAGS])
])
