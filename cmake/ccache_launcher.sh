#!/bin/sh
# ccache_launcher.sh CCACHE COMPILER…: compiles through ccache. A precompiled header that is made again is removed first. Otherwise the
# preprocessor reads the old one in place of the headers, so that ccache takes what it has for other versions of these.
for argument; do
  case $argument in *.gch) rm -f "$argument" ;; esac
done
CCACHE_SLOPPINESS=pch_defines,time_macros exec "$@"
