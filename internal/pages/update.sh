#!/usr/bin/env bash
# Puts the files of a release of htmx and of uPlot into assets/, as they are in their npm
# packages, whose checksums npm verifies:
#
#   internal/pages/update.sh 2.0.8 1.6.32
#
# Afterwards: run the tests, look at the pages, and commit assets/ whole.
set -euo pipefail

htmx=${1:?"name the version of htmx.org, such as 2.0.8"}
uplot=${2:?"name the version of uplot, such as 1.6.32"}
cd "$(dirname "${BASH_SOURCE[0]}")"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for package in "htmx.org@$htmx" "uplot@$uplot"; do
	npm pack --silent --pack-destination "$scratch" "$package" >/dev/null
	mkdir "$scratch/${package%@*}"
	tar -xzf "$scratch/${package/@/-}.tgz" -C "$scratch/${package%@*}" --strip-components 1
done
mkdir -p assets
install -m 0644 "$scratch/htmx.org/dist/htmx.min.js" assets/htmx.min.js
install -m 0644 "$scratch/htmx.org/LICENSE" assets/htmx.LICENSE.txt
install -m 0644 "$scratch/uplot/dist/uPlot.iife.min.js" assets/uPlot.min.js
install -m 0644 "$scratch/uplot/dist/uPlot.min.css" assets/uPlot.min.css
install -m 0644 "$scratch/uplot/LICENSE" assets/uPlot.LICENSE.txt
printf 'htmx.org %s\nuplot %s\n' "$htmx" "$uplot" >assets/VERSIONS
(cd assets && sha256sum -- htmx.min.js htmx.LICENSE.txt uPlot.min.js uPlot.min.css uPlot.LICENSE.txt VERSIONS >SHA256SUMS)
