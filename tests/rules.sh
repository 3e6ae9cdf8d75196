#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The rules of the tree, as a test: who may include what, licence lines, no paths of a machine.
# Run by make check; prints each violation and ends with a line of counts.
cd "${srcdir:-.}" || exit 99
passed=0
failed=0

# rule WORDS COMMAND...: COMMAND prints the violations; none is a pass.
rule() {
	words=$1
	shift
	found=$("$@")
	if [ -z "$found" ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL: $words"
		echo "$found" | sed 's/^/    /'
	fi
}

sources() { find common plugins rebootprog tests \( -name '*.cpp' -o -name '*.hpp' \) -print; }
grep_sources() { sources | xargs grep -nE "$1" | grep -vE "$2"; }
# tests/load plays Slurm's part, so it may know Slurm.
slurm_outside() { grep_sources '^ *# *include *<slurm/' '^(common/slurm/|plugins/[a-z_]+/entry\.cpp:|tests/load/)'; }
version_outside() { grep_sources 'SLURM_VERSION_N' '^(common/slurm/compat\.hpp:|plugins/[a-z_]+/entry\.cpp:|tests/load/)'; }
curl_outside() { grep_sources '^ *# *include *<curl/' '^common/openstack/http\.(cpp|hpp):'; }
yaml_in_plugins() { grep -rnE 'yaml-cpp|<curl/|CLI/CLI|<spdlog' common/*.?pp common/slurm plugins; }
common_upwards() { grep -rnE '^ *# *include "(plugins|rebootprog)/' common; }
openstack_in_node() { grep -nE 'openstack|curl' rebootprog/node_*; }
positive_spank() { grep -rnE 'return +ESPANK_|return +[1-9]' plugins/spank/entry.cpp 2>/dev/null; }
no_spdx() {
	find . -type f \( -name '*.?pp' -o -name '*.mk' -o -name '*.m4' -o -name '*.sh' -o -name '*.py' -o -name '*.ac' \
		-o -name '*.am' -o -name '*.map' -o -name '*.[1-8]' -o -path './etc/*' \) \
		-not -path './build*' -not -path './autom4te.cache/*' -not -path './m4/libtool.m4' \
		-not -path './m4/lt*' -not -path './aclocal.m4' -not -path '*/__pycache__/*' -print |
		xargs grep -L 'SPDX-License-Identifier: GPL-2.0-or-later'
}
# The words are put together here so that this file does not break its own rule.
machine_paths() {
	w='work'
	grep -rnE "/($w|root)/|/home/[a-z]|\.\./shared" --include='*.?pp' --include='*.mk' --include='*.sh' \
		--include='*.md' --include='*.ac' --include='*.am' common plugins rebootprog etc m4 README.md NEWS configure.ac Makefile.am 2>/dev/null |
		grep -v '^tests/rules.sh'
}
long_files() { sources | xargs wc -l | awk '$2 != "total" && $1 > 400 { print $2 ": " $1 " lines" }'; }

rule 'slurm.h only in common/slurm and entry files' slurm_outside
rule 'Slurm version differences only in common/slurm/compat.hpp' version_outside
rule 'curl only in common/openstack/http' curl_outside
rule 'no curl, yaml-cpp, CLI11 in what plugins link' yaml_in_plugins
rule 'common never includes programs or plugins' common_upwards
rule 'nothing of the cloud in cohort-node' openstack_in_node
rule 'SPANK hooks never return a positive code' positive_spank
rule 'an SPDX line in every file' no_spdx
rule 'no path of a machine' machine_paths
rule 'no file of more than 400 lines' long_files
echo "rules: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
