// What the scripts that use pages have in common.
const { chromium } = require('playwright-core');
const fs = require('fs');

const sizes = {
  light: { scheme: 'light', width: 1280, height: 860 },
  dark: { scheme: 'dark', width: 1280, height: 860 },
  phone: { scheme: 'light', width: 390, height: 844 },
};

async function show(page, { scheme, width, height }) {
  await page.emulateMedia({ colorScheme: scheme });
  await page.setViewportSize({ width, height });
}

const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

// judge lets axe look at a page in each form, and returns what is serious.
async function judge(page) {
  const found = [];
  for (const [name, size] of Object.entries(sizes)) {
    await show(page, size);
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => window.axe.run());
    for (const v of violations) {
      if (['serious', 'critical'].includes(v.impact)) found.push(`${new URL(page.url()).pathname}, ${name}: ${v.id}: ${v.nodes[0].html}`);
    }
    const beyond = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (beyond > 0) found.push(`${new URL(page.url()).pathname}, ${name}: ${beyond} pixels are beyond the window`);
  }
  await show(page, sizes.light);
  return found;
}

// start opens a page in Chromium, and collects what its console says.
async function start(executablePath, netLog, url) {
  const browser = await chromium.launch({
    executablePath,
    // As for the reference page: nothing leaves the machine.
    args: ['--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1', '--disable-quic', '--disable-sync', '--disable-gpu', `--log-net-log=${netLog}`],
  });
  const context = await browser.newContext({ viewport: sizes.light, reducedMotion: 'reduce' });
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: new URL(url).origin });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const messages = [];
  page.on('console', (message) => messages.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => messages.push(`exception: ${error}`));
  return { browser, page, messages };
}

module.exports = { sizes, show, judge, start };
