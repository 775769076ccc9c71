// Uses the reference page in Chromium as an integrator does, and writes what the
// browser showed and did as JSON. The argument says what to use, as JSON.
const { chromium } = require('playwright-core');
const { judge } = require('./common.js');

async function main() {
  const { executablePath, url, key, body, screenshot, netLog } = JSON.parse(process.argv[2]);
  const browser = await chromium.launch({
    executablePath,
    // Chromium asks its maker's servers of its own accord. So that none of that leaves
    // the machine, it knows the address of no host.
    args: ['--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1', '--disable-quic', '--disable-sync', '--disable-gpu', `--log-net-log=${netLog}`],
  });
  const page = await browser.newPage({ viewport: { width: 1200, height: 800 }, reducedMotion: 'reduce' });
  page.setDefaultTimeout(20_000);
  const messages = [];
  page.on('console', (message) => messages.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => messages.push(`exception: ${error}`));
  page.on('requestfailed', (request) => messages.push(`failed: ${request.url()}: ${request.failure().errorText}`));

  await page.goto(url);
  await page.locator('.opblock').first().waitFor();
  const operations = await page.locator('.opblock').evaluateAll((blocks) => blocks.map((block) => ({
    method: block.querySelector('.opblock-summary-method').textContent,
    path: block.querySelector('[data-path]').dataset.path,
    summary: block.querySelector('.opblock-summary-description').textContent,
    deprecated: block.classList.contains('opblock-deprecated'),
  })));

  await page.getByRole('button', { name: 'Authorize', exact: true }).click();
  await page.getByLabel('auth-bearer-value').fill(key);
  await page.getByRole('button', { name: 'Apply credentials' }).click();
  await page.getByRole('button', { name: 'Close', exact: true }).click();

  const create = page.locator('[id$=createCategory]');
  await create.locator('.opblock-summary-control').click();
  await create.getByRole('button', { name: 'Try it out' }).click();
  await create.locator('.body-param__text').fill(body);
  await create.getByRole('button', { name: 'Execute' }).click();
  const response = create.locator('.live-responses-table .response');
  await response.waitFor();
  const status = await response.locator('.response-col_status').textContent();
  const shown = await response.locator('.highlight-code code').first().textContent();

  await create.locator('.execute').evaluate((element) => element.scrollIntoView());
  if ((await page.locator('body').innerText()).includes(key)) messages.push('the page shows the key');
  await page.screenshot({ path: screenshot });
  const serious = await judge(page);
  await browser.close(); // completes netLog
  process.stdout.write(JSON.stringify({ operations, status, shown, messages, serious }));
}

main();
