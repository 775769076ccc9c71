// Sends the requests of the JSON array on stdin, by http, fetch or http2, and
// writes what came back as a JSON array.
const http = require('node:http');
const http2 = require('node:http2');

function byHTTP(request) {
  return new Promise((resolve, reject) => {
    const agent = new http.Agent({ keepAlive: request.headers.Connection !== 'close' });
    const sent = http.request(request.url, { method: request.method, headers: request.headers, agent }, (answer) => {
      let body = '';
      answer.on('data', (piece) => { body += piece; });
      answer.on('end', () => { agent.destroy(); resolve({ status: answer.statusCode, body }); });
      answer.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(Buffer.alloc(request.size, '0'));
  });
}

async function byFetch(request) {
  const answer = await fetch(request.url, { method: request.method, headers: request.headers, body: Buffer.alloc(request.size, '0') });
  return { status: answer.status, body: await answer.text() };
}

function byHTTP2(request) {
  return new Promise((resolve, reject) => {
    const url = new URL(request.url);
    // In MB: Node counts a body that waits to be sent, and would refuse the answer.
    const session = http2.connect(url.origin, { rejectUnauthorized: false, maxSessionMemory: 100 });
    session.on('error', reject);
    const stream = session.request({ ':method': request.method, ':path': url.pathname, ...request.headers });
    let body = '';
    let status = 0;
    stream.on('response', (headers) => { status = headers[':status']; });
    stream.on('data', (piece) => { body += piece; });
    stream.on('error', reject);
    stream.on('end', () => { session.destroy(); resolve({ status, body }); });
    stream.end(Buffer.alloc(request.size, '0'));
  });
}

async function main() {
  let input = '';
  for await (const piece of process.stdin) input += piece;
  const answers = [];
  for (const request of JSON.parse(input)) {
    const by = { fetch: byFetch, http2: byHTTP2 }[request.by] || byHTTP;
    answers.push(await by(request).catch((e) => ({ error: `${e} ${e.cause || ''}` })));
  }
  process.stdout.write(JSON.stringify(answers), () => process.exit(0));
}

main();
