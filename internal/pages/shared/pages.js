// Draws the charts, and makes the pages easier to use. Everything but the charts works without it.
'use strict';

// The token of a link is in the fragment, which browsers never send. It is moved from the address
// into the form at once.
function takeToken() {
  const field = document.getElementById('token');
  if (!field || location.hash.length < 2) return;
  field.value = location.hash.slice(1);
  history.replaceState(null, '', location.pathname);
  field.form.querySelector('button').focus();
}

// A new key is shown once. Reloading leads to the key's page, and does not create a second key.
function leaveForm() {
  const shown = document.querySelector('[data-address]');
  if (shown) history.replaceState(null, '', shown.dataset.address);
}

async function copy(button) {
  try {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = 'Copied';
  } catch { // the browser does not allow it
    button.textContent = 'Select the text and copy it';
  }
}

// Old numbers must not look current.
function showStale(stale) {
  const warning = document.getElementById('stale');
  if (warning) warning.hidden = !stale;
  document.body.classList.toggle('stale', stale); // hides the badge "healthy"
}

// Only the Enterprise plan has numbers of its own. It needs the quotas.
function showNumbers(chooser) {
  for (const numbers of chooser.form.querySelectorAll('[data-numbers]')) {
    numbers.hidden = chooser.value !== 'enterprise';
    for (const input of numbers.querySelectorAll('input')) {
      input.disabled = numbers.hidden;
      input.required = !numbers.hidden && numbers.dataset.numbers === 'required';
    }
  }
}

const series = {
  requests: [['successful', 1], ['rejected', 2], ['client errors', 3], ['server errors', 4]],
  usage: [['allowed', 1], ['rejected', 2], ['failed', 4]],
  median: [['median', 1]],
  p99: [['p99', 1]],
  reasons: [['rate_limit_exceeded', 1], ['daily_quota_exceeded', 2], ['key_banned', 4], ['too_many_failed_attempts', 3], ['invalid_api_key', 5], ['missing_api_key', 8], ['expired_api_key', 7], ['revoked_api_key', 6], ['disabled_api_key', 9]],
};

// Lines can be distinguished without their colors: each has its own pattern of dashes and gaps, in
// CSS pixels. The first is solid.
const dashes = [[], [7, 4], [2, 3], [10, 3, 2, 3], [16, 4], [7, 3, 2, 3, 2, 3], [2, 7], [16, 3, 6, 3], [6, 9]];

const plots = new Map();

function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

// A series in the legend: a piece of its line, and its name.
function inLegend(label, number) {
  const [image, line] = ['svg', 'path'].map((tag) => document.createElementNS('http://www.w3.org/2000/svg', tag));
  image.setAttribute('viewBox', '0 0 36 10');
  line.setAttribute('d', 'M0 5h36');
  line.setAttribute('stroke', color(`series-${number}`));
  line.setAttribute('stroke-dasharray', dashes[number - 1].join(' ') || 'none');
  image.append(line);
  const name = document.createElement('span');
  name.append(image, label);
  return name;
}

// The indices of the values without a neighbour.
const single = (column) => [...column.keys()].filter((i) => column[i] != null && column[i - 1] == null && column[i + 1] == null);

// Marks of an axis, in UTC: the time of day, or where there are many days, the day.
function marks(u, splits) {
  const [from, to] = u.scales.x.min ? [u.scales.x.min, u.scales.x.max] : [0, 0];
  const text = splits.map((seconds) => new Date(seconds * 1000).toISOString());
  return text.map((t) => (to - from > 2 * 86_400 ? t.slice(5, 10) : t.slice(11, 16)));
}

function draw(chart, columns) {
  // Of many series, only those with values: a legend of all of them would be too long.
  const all = series[chart.dataset.chart].map(([label, number], i) => ({ label, number, column: columns[i + 1] }));
  const shown = all.length < 5 ? all : all.filter(({ column }) => column.some((v) => v > 0));
  const data = [columns[0], ...shown.map(({ column }) => column)];
  const labels = shown.map(({ label }) => label).join();
  const before = plots.get(chart);
  const empty = !data.slice(1).some((column) => column.some((v) => v > 0));
  chart.classList.toggle('without', empty); // CSS shows a text instead
  if (empty) {
    before?.plot.destroy();
    plots.delete(chart);
    return;
  }
  if (before && before.labels === labels) {
    before.plot.setData(data);
    return;
  }
  before?.plot.destroy();
  const axis = { stroke: color('muted'), grid: { stroke: color('line'), width: 1 }, ticks: { show: false }, font: '12px system-ui, sans-serif' };
  const plot = new uPlot({
    width: chart.clientWidth, height: 200, padding: [8, 22, 0, 0],
    cursor: { y: false, points: { size: 6 } },
    scales: { x: { range: (u, from, to) => [Math.min(from, to - 300), to] }, y: { range: (u, low, high) => [0, high > 0 ? high * 1.08 : 1] } },
    axes: [{ ...axis, grid: { show: false }, size: 28, space: 70, values: marks }, { ...axis, size: (u, values) => 14 + 7 * Math.max(2, ...(values ?? []).map((v) => String(v ?? '').length)) }],
    legend: { markers: { show: false } },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
    series: [{}, ...shown.map(({ label, number }) => ({
      label: inLegend(label, number), dash: dashes[number - 1].map((n) => n * devicePixelRatio), paths: chart.dataset.chart === 'usage' ? uPlot.paths.stepped({ align: 1 }) : undefined, stroke: color(`series-${number}`), width: 1.5,
      points: { show: false, filter: (u, n) => single(u.data[n]), size: 5 }, // a single value has no line
      fill: number === 1 ? `${color(`series-${number}`)}1c` : undefined,
      value: (u, v) => (v == null ? '–' : v < 10 && !Number.isInteger(v) ? v.toFixed(2) : v.toFixed(0)),
    }))],
  }, data, chart);
  plots.set(chart, { plot, labels });
}

// The columns of a usage chart: times, and the requests of each period. Periods without requests
// are not in the history. The last period lasts until the end.
function usageColumns({ from, to, step, periods }) {
  const known = new Map(periods.map((period) => [period[0], period]));
  const columns = [[], [], [], []];
  for (let at = from; at < to; at += step) {
    columns.forEach((column, i) => column.push(i ? known.get(at)?.[i] ?? 0 : at));
  }
  columns.forEach((column, i) => column.push(i ? column.at(-1) : to));
  return { usage: columns };
}

// The columns of the charts of a node's history, from its start: times, and rates a second or
// milliseconds. null is a gap. The server's durations are in nanoseconds.
function historyColumns(all) {
  const steps = all.slice(Math.max(0, all.findIndex(({ took }) => took > 0)));
  const times = steps.map(({ end }) => Date.parse(end) / 1e3);
  const rates = (count) => steps.map((step) => (step.took ? count(step) / (step.took / 1e9) : null));
  const latencies = (name) => steps.map((step) => (step.p99 ? step[name] / 1e6 : null));
  return {
    requests: [times, ...['good', 'rejected', 'faulty', 'failed'].map((name) => rates((step) => step[name]))],
    reasons: [times, ...series.reasons.map(([code]) => rates(({ reasons }) => reasons[code] ?? 0))],
    median: [times, latencies('p50')],
    p99: [times, latencies('p99')],
  };
}

async function refresh(charts) {
  if (document.hidden) return;
  const response = await fetch(charts.dataset.history, { headers: { Accept: 'application/json' }, signal: AbortSignal.timeout(8_000) });
  if (response.redirected) return; // the session has ended
  if (!response.ok) throw new Error(`${response.status}`);
  const history = await response.json();
  const columns = Array.isArray(history) ? historyColumns(history) : usageColumns(history);
  showStale(false);
  for (const chart of charts.querySelectorAll('[data-chart]')) draw(chart, columns[chart.dataset.chart]);
}

function startCharts() {
  const all = [...document.querySelectorAll('[data-history]')];
  if (!all.length) return;
  const again = () => Promise.all(all.map(refresh)).catch(() => showStale(true));
  again();
  setInterval(again, 10_000);
  const redraw = () => {
    for (const [chart, { plot }] of plots) {
      plot.destroy();
      plots.delete(chart);
    }
    again();
  };
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  let width = innerWidth;
  addEventListener('resize', () => {
    if (innerWidth !== width) {
      width = innerWidth;
      redraw();
    }
  });
}

// Shows the age of each time, by the server's clock.
function showAges() {
  const now = Date.parse(document.body.dataset.now) || Date.now();
  const units = [['second', 1], ['minute', 60], ['hour', 3600], ['day', 86_400]];
  const format = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
  for (const time of document.querySelectorAll('main time[datetime]')) {
    const seconds = (Date.parse(time.dateTime) - now) / 1000;
    const [unit, length] = units.findLast(([, least]) => Math.abs(seconds) >= least) ?? units[0];
    if (time.querySelector('small')) continue;
    const age = document.createElement('small');
    age.textContent = format.format(Math.trunc(seconds / length), unit);
    time.append(' ', age);
  }
}

// Focuses the field with the error.
function showWrong() {
  const error = document.querySelector('.wrong');
  const field = error && document.getElementsByName(error.dataset.field)[0];
  if (!field) return;
  error.id = 'wrong';
  field.setAttribute('aria-invalid', 'true');
  field.setAttribute('aria-describedby', 'wrong');
  field.focus();
}

document.addEventListener('toggle', (event) => {
  if (event.target.matches('details.create[open]')) event.target.querySelector('input:not([type=hidden]), select, textarea').focus();
}, true);
document.addEventListener('click', (event) => {
  const button = event.target.closest('[data-copy]');
  if (button) copy(button);
  for (const open of document.querySelectorAll('details.create[open]')) {
    if (!open.contains(event.target)) open.open = false;
  }
});
document.addEventListener('keydown', (event) => {
  const open = event.key === 'Escape' && document.querySelector('details.create[open]');
  if (open) {
    open.open = false;
    open.querySelector('summary').focus();
  }
});
// A key must not be in an address: if it is typed into a search by GET, the search by POST takes over.
document.addEventListener('input', (event) => {
  const posted = document.querySelector('form[method=post][role=search] input'), { target } = event;
  if (!posted || target.form?.method !== 'get' || !/pck_(live|test)_[0-9A-Za-z]{38}/.test(target.value)) return;
  event.stopImmediatePropagation();
  posted.value = target.value;
  target.value = '';
  posted.form.requestSubmit();
}, true);
// A double click sends a form once.
document.addEventListener('submit', (event) => {
  if (event.target.dataset.sent) event.preventDefault();
  else if (event.target.method === 'post') event.target.dataset.sent = 'yes';
});
addEventListener('pageshow', () => { // also for a page from the browser's cache
  for (const form of document.querySelectorAll('form[data-sent]')) delete form.dataset.sent;
});
document.addEventListener('change', (event) => {
  if (event.target.matches('[data-plan]')) showNumbers(event.target);
});
for (const failure of ['htmx:sendError', 'htmx:responseError', 'htmx:timeout']) document.addEventListener(failure, () => showStale(true));
document.addEventListener('htmx:afterSwap', () => {
  showStale(false);
  showAges();
});
addEventListener('hashchange', takeToken);
takeToken();
leaveForm();
showAges();
showWrong();
const current = document.querySelector('.side nav [aria-current]'); // on a phone, the navigation scrolls
if (current) current.closest('nav').scrollLeft = current.offsetLeft - 40;
for (const chooser of document.querySelectorAll('[data-plan]')) showNumbers(chooser);
startCharts();
