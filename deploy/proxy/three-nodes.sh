#!/usr/bin/env bash
# Starts three petcat nodes and a proxy on this machine, as a demonstration, and stops them
# on Ctrl-C.
#
#   export PETCAT_DATABASE=postgres://petcat:PASSWORD@localhost/petcat
#   deploy/proxy/three-nodes.sh [PORT]
#
# The API is at PORT, 8080 by default. The nodes use PORT + 21 to 23, and their admin
# listeners PORT + 121 to 123. The environment can have other settings of petcat. For
# example, PETCAT_LOG_LEVEL=info logs each request with the node that handled it.
#
# PETCAT is the path of the program. The default is bin/petcat of this repository, or
# petcat in PATH.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
config=$root/deploy/proxy/three-nodes.cfg

fail() { # exit code, sentence
	echo "three-nodes: $2" >&2
	exit "$1"
}

export API_PORT=${1:-8080}
[[ $API_PORT =~ ^[0-9]{1,5}$ ]] && ((API_PORT >= 1 && API_PORT <= 65535 - 123)) ||
	fail 2 "$API_PORT is not a valid port, or is too high for the nodes' ports (up to PORT + 123); try deploy/proxy/three-nodes.sh 8080"
[[ ${PETCAT_DATABASE:-}${PETCAT_DATABASE_FILE:-} ]] ||
	fail 78 "several nodes share a database; set its URL: export PETCAT_DATABASE=postgres://petcat:PASSWORD@localhost/petcat"
# On Debian, haproxy is in a directory that is only in root's PATH.
PATH=$PATH:/usr/sbin:/usr/local/sbin
command -v haproxy >/dev/null || fail 1 "haproxy is not installed; on Debian: apt-get install haproxy"
petcat=${PETCAT:-$root/bin/petcat}
[[ -x $petcat ]] || petcat=$(command -v petcat) ||
	fail 1 "there is no bin/petcat and no petcat in PATH; build it first: make build"

for n in 1 2 3; do
	export "NODE_$n=$((API_PORT + 20 + n))" "ADMIN_$n=$((API_PORT + 120 + n))"
done

# Run each job in its own process group, so that Ctrl-C reaches only this script, which
# stops the jobs in order.
set -m
exec 3>&2
pids=()   # of the running nodes, indexed by node number
proxy=    # the proxy's pid
started=  # set once the API has responded
code=0

# stop stops the nodes, which finish their requests, and then the proxy.
stop() {
	trap '' INT TERM EXIT
	((${#pids[@]} == 0)) || echo "stopping the nodes" >&3
	for n in "${!pids[@]}"; do kill -TERM "${pids[n]}" 2>/dev/null || true; done
	for n in "${!pids[@]}"; do wait "${pids[n]}" 2>/dev/null || note $?; done
	if [[ $proxy ]]; then
		kill -TERM "$proxy" 2>/dev/null || true
		wait "$proxy" 2>/dev/null || true
	fi
	exit "$code"
}
note() { ((code != 0)) || code=$1; }
trap stop INT TERM EXIT

# label prefixes each line with its source, and drops haproxy's duplicate lines. It exits
# at the end of its input.
label() {
	trap '' INT TERM
	local line
	while IFS= read -r line; do
		[[ $line == '[NOTICE]'* || $line == '[WARNING]'* ]] || printf '%s: %s\n' "$1" "$line"
	done
}

for n in 1 2 3; do
	listen=NODE_$n admin=ADMIN_$n
	PETCAT_LOG_LEVEL=${PETCAT_LOG_LEVEL:-warn} PETCAT_LOG_FORMAT=${PETCAT_LOG_FORMAT:-text} \
		PETCAT_PUBLIC_URL=${PETCAT_PUBLIC_URL:-http://localhost:$API_PORT} \
		"$petcat" serve --listen "127.0.0.1:${!listen}" --admin-listen "127.0.0.1:${!admin}" --trusted-proxies 127.0.0.1 \
		</dev/null > >(label "node $n") 2>&1 &
	pids[n]=$!
done
# ready starts the proxy once all nodes are ready, so that it does not report them as down.
# It succeeds once the proxy accepts connections.
ready() {
	local n admin
	for n in 1 2 3; do
		admin=ADMIN_$n
		"$petcat" health --admin-listen "127.0.0.1:${!admin}" >/dev/null 2>&1 || return 1
	done
	if [[ ! $proxy ]]; then
		haproxy -db -f "$config" </dev/null > >(label proxy) 2>&1 &
		proxy=$!
	fi
	(: <"/dev/tcp/127.0.0.1/$API_PORT") 2>/dev/null
}

# check_processes reports nodes that have exited. The other nodes keep running.
check_processes() {
	local n ended
	for n in "${!pids[@]}"; do
		kill -0 "${pids[n]}" 2>/dev/null && continue
		ended=0
		wait "${pids[n]}" 2>/dev/null || ended=$?
		unset 'pids[n]'
		echo "node $n exited with code $ended" >&3
		[[ $started ]] || { note "$ended"; exit; }
	done
	if [[ $proxy ]] && ! kill -0 "$proxy" 2>/dev/null; then
		wait "$proxy" || note $?
		proxy=
		echo "the proxy exited" >&3
		exit
	fi
	if ((${#pids[@]} == 0)); then
		note 1
		exit
	fi
}

# Hide stderr except >&3: the shell would print the command of every killed job.
exec 2>/dev/null
while :; do
	check_processes
	if [[ ! $started ]] && ready; then
		started=yes
		cat <<TEXT

Three nodes are ready; the API is at http://localhost:$API_PORT. In another terminal, with the same PETCAT_DATABASE:

  $petcat account create acme --plan free
  $petcat key create acme
  curl -i -H "Authorization: Bearer KEY" http://localhost:$API_PORT/v1/categories

The nodes themselves are at 127.0.0.1:$NODE_1, $NODE_2 and $NODE_3; their metrics are at :$ADMIN_1, $ADMIN_2 and $ADMIN_3, path /metrics.
Kill one of them and watch the others: kill -9 ${pids[*]:0:1}
Press Ctrl-C to stop all of them.

TEXT
	fi
	# In the background, because a trap waits for a foreground command.
	sleep 0.3 &
	wait $! || true
done
