// Uses the customer's page in Chromium as a customer does, and writes what happened as JSON. The
// argument says what to use, as JSON; token is an operator's, for the management API.
const { sizes, show, judge, start } = require('./common.js');

async function main() {
  const { executablePath, link, api, management, token, netLog, pictures } = JSON.parse(process.argv[2]);
  const { browser, page, messages } = await start(executablePath, netLog, link);
  const button = (name) => page.getByRole('button', { name, exact: true });
  const open = (path) => page.goto(new URL(`/account${path}`, link).href);
  const call = async (key) => {
    const response = await fetch(`${api}/v1/categories`, { headers: { Authorization: `Bearer ${key}` } });
    await response.text();
    return `${response.status} of ${response.headers.get('X-RateLimit-Limit')}`;
  };
  const saw = { serious: [], messages };
  const look = async () => saw.serious.push(...await judge(page));
  const newKey = async () => {
    await button('Copy').click();
    await button('Copied').waitFor();
    await look();
    return page.evaluate(() => navigator.clipboard.readText());
  };

  await page.goto(link);
  saw.address = page.url(); // without the token
  await look();
  await page.keyboard.press('Enter'); // the button has the focus
  await page.getByRole('heading', { name: 'Sign in to Whiskers & Co?' }).waitFor();
  await look();
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(/account\/$/);
  await look();
  await page.keyboard.press('Tab');
  saw.firstStop = await page.evaluate(() => document.activeElement.textContent);

  await page.getByText('New key').click();
  await page.getByLabel('Label').fill('backend');
  await look();
  await button('Create the key').dblclick();
  saw.keys = [await newKey()];
  await page.reload(); // makes no second key, and shows none
  await page.getByRole('heading', { name: 'key_1' }).waitFor();
  saw.again = await page.content().then((text) => text.includes(saw.keys[0]));
  saw.calls = [await call(saw.keys[0])];

  await page.getByLabel('Overlap').selectOption('1 day');
  await look();
  await button('Rotate the key').click();
  saw.keys.push(await newKey());
  await page.getByRole('link', { name: 'I have copied it' }).click();
  saw.calls.push(await call(saw.keys[0]), await call(saw.keys[1]));
  while (!(await call(saw.keys[1])).startsWith('429')); // so that there is something to see

  const advice = page.getByText('Wait for the time in Retry-After');
  for (const end = Date.now() + 20_000; await advice.count() === 0 && Date.now() < end;) { // it is written once a second
    await page.waitForTimeout(300);
    await open('');
  }
  await advice.waitFor();
  await page.getByRole('textbox', { name: 'Note' }).fill('We grow.');
  await button('Request this plan').click();
  await page.getByText('You asked for the Pro plan').waitFor();
  await look();
  const approval = await fetch(`${management}/admin/v1/plan-requests/1/approve`, { method: 'POST', headers: { Authorization: `Bearer ${token}` } });
  saw.approval = approval.status;
  saw.calls.push(await call(saw.keys[1]));
  await open('');
  await page.getByRole('heading', { name: 'Pro plan' }).waitFor();

  for (const name of Object.keys(sizes)) {
    await show(page, { ...sizes[name], height: name === 'phone' ? 844 : 1150 });
    await open('');
    await page.locator('[data-chart] .u-over').waitFor();
    await page.screenshot({ path: `${pictures}/account-${name}.png` });
  }
  await show(page, sizes.light);
  for (const path of ['', '/usage', '/usage?by=day', '/keys/key_1', '/keys/key_2', '/keys/key_2/revoke', '/nowhere']) {
    await open(path);
    await look();
  }
  await open('/keys/key_2/revoke');
  await button('Revoke the key').click();
  await page.getByText('The key was revoked.').waitFor();
  await look();
  await page.locator('.you summary').click();
  await button('Sign out').click();
  await page.waitForURL(/sign-in$/);
  await open('');
  saw.after = new URL(page.url()).pathname;
  await browser.close(); // completes netLog
  saw.messages = messages.filter((text) => !/404 \(Not Found\)/.test(text)); // there is nothing at /nowhere
  process.stdout.write(JSON.stringify(saw));
}

main();
