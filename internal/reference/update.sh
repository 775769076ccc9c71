#!/usr/bin/env bash
# Puts the files of a release of Swagger UI into assets/, as they are in its npm
# package, whose checksum npm verifies:
#
#   internal/reference/update.sh 5.35.0
#
# Afterwards: run the tests, look at /docs, and commit assets/ whole.
set -euo pipefail

version=${1:?"name the version of swagger-ui-dist, such as 5.35.0"}
cd "$(dirname "${BASH_SOURCE[0]}")"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
npm pack --silent --pack-destination "$scratch" "swagger-ui-dist@$version" >/dev/null
tar -xzf "$scratch/swagger-ui-dist-$version.tgz" -C "$scratch"

files=(swagger-ui-bundle.js swagger-ui-bundle.js.LICENSE.txt swagger-ui.css favicon-32x32.png LICENSE NOTICE)
for file in "${files[@]}"; do
	install -m 0644 "$scratch/package/$file" "assets/$file"
done
echo "$version" >assets/VERSION
(cd assets && sha256sum -- "${files[@]}" VERSION >SHA256SUMS)
