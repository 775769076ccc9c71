-- Sends one request again and again, and prints what came of it as one line.
-- Arguments: METHOD, a file with the body or "-", then headers as "Name: value".

function init(args)
  wrk.method = args[1]
  if args[2] ~= "-" then
    local file = assert(io.open(args[2], "rb"))
    wrk.body = file:read("*a")
    file:close()
  end
  for i = 3, #args do
    local name, value = args[i]:match("^([^:]+):%s*(.*)$")
    wrk.headers[name] = value
  end
end

-- Durations are in microseconds.
function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format(
    'result {"requests":%d,"micros":%d,"bytes":%d,' ..
    '"errors":{"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d},' ..
    '"p50":%d,"p90":%d,"p99":%d,"p999":%d,"max":%d}\n',
    summary.requests, summary.duration, summary.bytes,
    e.connect, e.read, e.write, e.status, e.timeout,
    latency:percentile(50), latency:percentile(90), latency:percentile(99),
    latency:percentile(99.9), latency.max))
end
