-- Sends one request again and again, and prints what came of it as one line.
-- Arguments: METHOD, a file with the body or "-", then headers as "Name: value".
-- {n} in a header becomes something else in each request.

local threads = 0

function setup(thread)
  threads = threads + 1
  thread:set("thread", threads)
end

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
  local text = wrk.format()
  local first, last = text:find("{n}", 1, true)
  if first then
    local before, after, sent = text:sub(1, first - 1) .. thread .. "-", text:sub(last + 1), 0
    function request()
      sent = sent + 1
      return before .. sent .. after
    end
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
