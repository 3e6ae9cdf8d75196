# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_SLURM
#
# Finds the Slurm that the plugins are built for. Slurm ships no pkg-config file, and a plugin
# loads only into the very version whose headers it was built with, so the site may name both:
#   --with-slurm=PREFIX         PREFIX/include/slurm/slurm.h and PREFIX/lib*/libslurm.so
#   --with-slurm-plugindir=DIR  where job_submit_*.so and spank plugins are installed
#
# Sets SLURM_CPPFLAGS, SLURM_LIBS, SLURM_VERSION, SLURM_PLUGINDIR (all AC_SUBST).
AC_DEFUN([X_AC_SLURM], [
  AC_ARG_WITH([slurm],
    [AS_HELP_STRING([--with-slurm=PREFIX], [Slurm's installation prefix @<:@/usr@:>@])],
    [], [with_slurm=/usr])
  AS_CASE([$with_slurm], [yes], [with_slurm=/usr],
    [no], [AC_MSG_ERROR([slurm-cohort cannot be built without Slurm: use --with-slurm=PREFIX])])
  AC_ARG_WITH([slurm-plugindir],
    [AS_HELP_STRING([--with-slurm-plugindir=DIR], [Slurm's plugin directory @<:@found under PREFIX@:>@])])

  AC_MSG_CHECKING([for Slurm's headers])
  AS_IF([test ! -f "$with_slurm/include/slurm/slurm.h"],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([$with_slurm/include/slurm/slurm.h is missing. Install Slurm's development package (Debian: libslurm-dev) or name Slurm's prefix with --with-slurm=PREFIX])])
  AS_IF([test ! -f "$with_slurm/include/slurm/spank.h"],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([$with_slurm/include/slurm/slurm.h is there but spank.h is not: the Slurm headers are incomplete, reinstall them])])
  AS_IF([test "$with_slurm" = /usr], [SLURM_CPPFLAGS=], [SLURM_CPPFLAGS="-isystem $with_slurm/include"])
  x_save_CPPFLAGS=$CPPFLAGS
  CPPFLAGS="$SLURM_CPPFLAGS $CPPFLAGS"
  AC_COMPUTE_INT([x_slurm_major], [(SLURM_VERSION_NUMBER >> 16) & 0xff], [@%:@include <slurm/slurm_version.h>], [x_slurm_major=0])
  AC_COMPUTE_INT([x_slurm_minor], [(SLURM_VERSION_NUMBER >> 8) & 0xff], [@%:@include <slurm/slurm_version.h>], [x_slurm_minor=0])
  AC_COMPUTE_INT([x_slurm_micro], [SLURM_VERSION_NUMBER & 0xff], [@%:@include <slurm/slurm_version.h>], [x_slurm_micro=0])
  CPPFLAGS=$x_save_CPPFLAGS
  SLURM_VERSION=`printf '%d.%02d.%d' $x_slurm_major $x_slurm_minor $x_slurm_micro`
  AC_MSG_RESULT([$SLURM_VERSION])
  AS_IF([test `expr $x_slurm_major '*' 100 + $x_slurm_minor` -lt 2205],
    [AC_MSG_ERROR([Slurm $SLURM_VERSION is too old: slurm-cohort needs 22.05 or newer])])

  AC_MSG_CHECKING([for Slurm's library])
  SLURM_LIBS=
  for x_dir in "$with_slurm/lib/$x_multiarch" "$with_slurm/lib64" "$with_slurm/lib"; do
    AS_IF([test -z "$SLURM_LIBS" && test -e "$x_dir/libslurm.so"],
      [AS_IF([test "$with_slurm" = /usr], [SLURM_LIBS=-lslurm], [SLURM_LIBS="-L$x_dir -lslurm"])
       x_slurm_libdir=$x_dir])
  done
  AS_IF([test -z "$SLURM_LIBS"],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([libslurm.so was not found under $with_slurm/lib*. Install Slurm's development package (Debian: libslurm-dev)])])
  AC_MSG_RESULT([$x_slurm_libdir])

  AC_MSG_CHECKING([for Slurm's plugin directory])
  SLURM_PLUGINDIR=$with_slurm_plugindir
  AS_IF([test -z "$SLURM_PLUGINDIR"],
    [for x_dir in "$x_slurm_libdir/slurm-wlm" "$x_slurm_libdir/slurm"; do
       AS_IF([test -z "$SLURM_PLUGINDIR" && test -d "$x_dir"], [SLURM_PLUGINDIR=$x_dir])
     done])
  AS_IF([test -z "$SLURM_PLUGINDIR"],
    [AS_IF([test -e "$x_slurm_libdir/pkgconfig" || test -d /etc/debian_version], [:])
     SLURM_PLUGINDIR="$x_slurm_libdir/slurm"
     AS_IF([test -e /etc/debian_version], [SLURM_PLUGINDIR="$x_slurm_libdir/slurm-wlm"])
     AC_MSG_RESULT([$SLURM_PLUGINDIR (not there yet: name another with --with-slurm-plugindir=DIR)])],
    [AC_MSG_RESULT([$SLURM_PLUGINDIR])])
  AC_SUBST([SLURM_CPPFLAGS])
  AC_SUBST([SLURM_LIBS])
  AC_SUBST([SLURM_VERSION])
  AC_SUBST([SLURM_PLUGINDIR])
])
