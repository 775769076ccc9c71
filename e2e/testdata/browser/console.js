// Uses the console in Chromium as an operator does, and writes what happened as JSON. The
// argument says what to use, as JSON.
const { sizes, show, judge, start } = require('./common.js');

// lines returns the pattern of each line of a page's charts, as it is drawn and as the legend
// shows it, once they have the colors of the scheme.
async function lines(page, scheme) {
  await show(page, sizes[scheme]);
  for (const end = Date.now() + 20_000; ;) {
    const all = await page.evaluate(() => [...plots.values()].map(({ plot }) => ({
      drawn: plot.series.slice(1).map(({ dash }) => dash.map((n) => n / devicePixelRatio).join(' ') || 'none'),
      legend: [...plot.root.querySelectorAll('.u-legend path')].map((line) => line.getAttribute('stroke-dasharray')),
      colors: plot.root.querySelector('.u-legend path')?.getAttribute('stroke') === color('series-1'),
    })));
    if (Date.now() > end || (all.length === 4 && all.every(({ colors }) => colors))) return all;
  }
}

async function main() {
  const { executablePath, link, viewer, api, netLog, pictures, minutes } = JSON.parse(process.argv[2]);
  const { browser, page, messages } = await start(executablePath, netLog, link);
  const button = (name) => page.getByRole('button', { name, exact: true });
  const link_ = (name) => page.getByRole('link', { name, exact: true });
  const signOut = async () => {
    await page.locator('.you summary').click();
    await button('Sign out').click();
    await page.waitForURL(/sign-in$/);
  };
  const open = (path) => page.goto(new URL(`/console/${path}`, link).href);
  const call = async (key) => {
    const response = await fetch(`${api}/v1/categories`, { headers: { Authorization: `Bearer ${key}` } });
    const body = await response.json();
    return Array.isArray(body) ? response.status : `${response.status} ${body.code}`;
  };
  const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
  // Of a page with a chart, for the documents.
  const picture = async (name, path) => {
    await show(page, { ...sizes[name], height: name === 'phone' ? 844 : 1150 });
    await open(path);
    await page.locator('[data-chart] .u-over').first().waitFor();
    await page.screenshot({ path: `${pictures}/console-${name}.png` });
    await show(page, sizes.light);
  };
  const saw = { serious: [], messages };

  await page.goto(link);
  saw.address = page.url(); // without the token
  saw.serious.push(...await judge(page));
  await page.keyboard.press('Enter'); // the button has the focus
  await page.waitForURL(/console\/$/);
  await page.keyboard.press('Tab');
  saw.firstStop = await page.evaluate(() => document.activeElement.textContent);

  await page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: 'Accounts' }).click();
  await page.getByText('New account').click();
  saw.focus = await (await page.waitForFunction(() => document.activeElement.name)).jsonValue(); // it follows the opening
  await page.getByLabel('Name', { exact: true }).fill('Whiskers & Co');
  for (const name of ['per_minute', 'max_bytes']) { // only for the enterprise plan
    await page.locator(`[name=${name}]`).waitFor({ state: 'hidden' });
  }
  await page.getByLabel('Plan').selectOption('enterprise');
  await page.locator('[name=max_bytes]').waitFor();
  await page.getByLabel('Requests per minute').fill('600');
  await page.getByLabel('Requests per day').fill('10,000');
  saw.serious.push(...await judge(page));
  await button('Create the account').dblclick();
  await page.getByText('The account was created.').waitFor();
  const account = new URL(page.url()).pathname.split('/').pop();
  saw.account = account;

  await page.getByText('New key').click();
  await page.getByLabel('Label').fill('backend');
  await button('Create the key').click();
  await button('Copy').click();
  await button('Copied').waitFor();
  saw.key = await page.locator('#secret').textContent();
  saw.copied = await page.evaluate(() => navigator.clipboard.readText());
  saw.serious.push(...await judge(page));
  await page.reload(); // makes no second key, and shows none
  await page.getByRole('heading', { name: 'key_1' }).waitFor();
  saw.again = await page.content().then((text) => text.includes(saw.key));

  saw.calls = [await call(saw.key)];
  for (const end = Date.now() + minutes * 60_000; Date.now() < end;) { // so that charts have something to show
    await call(saw.key);
    await pause(100 + 300 * Math.random());
  }
  await open(`accounts/${account}`);
  await page.getByLabel('Requests per minute').fill('1');
  await button('Change the plan').click();
  await page.getByText('The plan was changed.').waitFor();
  const banned = Date.now() + 30_000;
  let last;
  do { last = await call(saw.key); await pause(50); } while (last !== '429 key_banned' && Date.now() < banned);
  saw.calls.push(last);

  await link_('Bans').click();
  await button('Lift the ban of key_1').waitFor();
  saw.serious.push(...await judge(page));
  await button('Lift the ban of key_1').click();
  await page.getByText('The ban was lifted.').waitFor();
  const lifted = Date.now() + 1_000;
  do { last = await call(saw.key); await pause(50); } while (last === '429 key_banned' && Date.now() < lifted);
  saw.calls.push(last);

  await open('');
  const shown = page.locator('[data-chart=requests] .u-over');
  await shown.waitFor();
  // The numbers move by themselves, when the next step ends.
  await page.locator('.numbers li', { hasText: 'Rejected' }).locator('strong').filter({ hasNotText: /^0$/ }).waitFor({ timeout: 40_000 });
  // So does the chart: the rejections are drawn.
  const moves = Date.now() + 20_000;
  do {
    saw.drawn = await page.evaluate(() => plots.get(document.querySelector('[data-chart=requests]')).plot.data[2].some((rate) => rate > 0));
  } while (!saw.drawn && Date.now() < moves);
  saw.serious.push(...await judge(page));
  saw.lines = [...await lines(page, 'light'), ...await lines(page, 'dark')];
  saw.patterns = await page.evaluate(() => Object.values(series).map((all) => all.map(([, number]) => dashes[number - 1].join(' '))));
  await picture('light', '');
  // While the node does not respond, the numbers are said to be old.
  const old = page.getByText('This page may be out of date.');
  saw.stale = [await old.isVisible()];
  await page.route('**/console/**', (route) => route.fulfill({ status: 503 }));
  await old.waitFor();
  saw.stale.push(await old.isVisible());
  await page.unroute('**/console/**');
  await old.waitFor({ state: 'hidden' });

  const search = page.getByRole('searchbox', { name: 'Search accounts, keys and requests' });
  await link_('Categories').first().click();
  await page.locator('main input[type=search]').fill(saw.key); // leads to the key, and is in no URL
  await page.waitForURL(/keys\/key_1$/);
  await search.fill('nob');
  await search.press('Enter');
  await page.getByText('No results.').waitFor();
  saw.serious.push(...await judge(page));
  saw.found = new URL(page.url()).pathname + new URL(page.url()).search;
  await search.fill('WHISK');
  await search.press('Enter');
  await link_('Whiskers & Co').waitFor();
  saw.serious.push(...await judge(page));
  await link_('Whiskers & Co').click();
  await page.waitForURL(new RegExp(`accounts/${account}$`));
  await page.getByText('The key was banned').first().waitFor(); // among the recent rejections
  await picture('dark', `accounts/${account}`);
  await picture('phone', `accounts/${account}`);
  for (const path of [`accounts/${account}`, `accounts/${account}/usage`, 'usage', 'keys/key_1', 'keys/key_1/revoke', 'accounts', `accounts/${account}/close`, 'bans?all=yes', 'requests', 'accounts?sort=requests', 'categories', 'audit', 'audit?about=nobody', 'nodes', 'settings', 'operators', 'operators/bob/remove', 'backups', 'nowhere']) {
    await open(path);
    saw.serious.push(...await judge(page));
  }

  await open('keys/key_1');
  await link_('Revoke…').click();
  await button('Revoke the key').click();
  await page.getByText('The key was revoked.').waitFor();
  const revoked = Date.now() + 1_000;
  do { last = await call(saw.key); await pause(50); } while (last !== '401 revoked_api_key' && Date.now() < revoked);
  saw.calls.push(last);
  saw.serious.push(...await judge(page));

  await open('categories');
  await page.getByText('New category').click();
  await page.getByLabel('Name', { exact: true }).fill('\u202eDogs'); // it turns the direction of the text around
  await page.getByLabel('Description').fill('Loyal,\nand always hungry');
  await button('Create the category').click();
  await page.getByText('The category was created.').waitFor();
  saw.serious.push(...await judge(page));
  await open('categories/1/delete');
  saw.serious.push(...await judge(page));
  saw.isolated = await page.evaluate(() => { // the text after the name stays behind it
    const text = document.querySelector('main h1').firstChild;
    const left = (i) => {
      const range = document.createRange();
      range.setStart(text, i);
      range.setEnd(text, i + 1);
      return range.getBoundingClientRect().left;
    };
    const name = text.data.indexOf('Dogs');
    return left(name) > left(name + 3) && left(text.length - 1) > left(name);
  });

  await open('categories/1');
  await page.getByLabel('Description').fill('Loyal,\nand always tired');
  await page.context().clearCookies(); // the session ends
  await button('Save').click();
  await page.getByText('Your session has expired').waitFor();
  saw.kept = await page.locator('input[name=description]').inputValue();
  saw.serious.push(...await judge(page));
  await page.goto('about:blank'); // else only the fragment changes, and nothing is loaded
  await page.goto(viewer);
  await page.keyboard.press('Enter');
  await page.waitForURL(/console\/$/);
  saw.serious.push(...await judge(page));
  for (const path of ['accounts', `accounts/${account}`, 'keys/key_1', 'bans?all=yes', 'categories', 'categories/1']) {
    await open(path);
    saw.serious.push(...await judge(page));
  }

  await signOut();
  await open('accounts');
  saw.after = new URL(page.url()).pathname;
  await browser.close(); // completes netLog
  // Where there is nothing, for an unknown account, and after the end of a session, that is what the console says; 503 is the response above.
  saw.messages = messages.filter((text) => !/40[034] \((Not Found|Forbidden|Bad Request)\)|\b503\b/.test(text));
  process.stdout.write(JSON.stringify(saw));
}

main();
