// Works with the page as people do, and says how many checks were passed.

import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { launch } from './browser.mjs';
import * as contents from './contents.mjs';
import { Client, put, serve, text, tool } from './service.mjs';

const SHOTS = resolve('shots');
const KEY = 'a-key-of-the-browser-test';
const [PASSED, FAILED] = [[], []];

function check(fact, holds, found = '') {
  (holds ? PASSED : FAILED).push(fact);
  if (!holds) console.error(`FAILED: ${fact} ${found === '' ? '' : JSON.stringify(found)?.slice(0, 600)}`);
}

const same = (fact, found, expected) => check(fact, found === expected, { found, expected });

// ---- The browser ----------------------------------------------------------------------------

const complaints = [];
let latest;

async function open(browser, url, { width = 1280, height = 800, dark = false } = {}) {
  const context = await browser.createBrowserContext();
  const page = latest = await context.newPage();
  page.setDefaultTimeout(20_000);
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }]);
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('console', (message) => {
    // What the browser itself says of an answer that is an error is wanted where one is asked for.
    if (!/^Failed to load resource: .* status of 4\d\d|500/.test(message.text())) complaints.push(`console: ${message.text()}`);
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(url) && !/^(data|blob):/.test(request.url())) complaints.push(`asked for ${request.url()}`);
  });
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  await page.evaluateOnNewDocument(() => {
    addEventListener('securitypolicyviolation', (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
  });
  await page.goto(`${url}/`);
  return page;
}

const textOf = (page, selector) => page.$eval(selector, (node) => node.textContent);
const until = (page, holds, ...given) => page.waitForFunction(holds, {}, ...given);
const isShown = (page, selector) => page.$eval(selector, (node) => node.checkVisibility());
const shot = (page, name) => page.screenshot({ path: join(SHOTS, `${name}.png`) });

async function go(page, hash) {
  await page.evaluate((hash) => { location.hash = hash; }, hash);
}

const placed = (fields) => `#${new URLSearchParams(fields)}`;

async function opened(page) {
  await until(page, () => document.getElementById('result').checkVisibility() && document.getElementById('text').ariaBusy === 'false');
}

async function inSession(page, stubs) {
  await until(page, (stubs) => document.getElementById('near').checkVisibility()
    && document.querySelectorAll('.stub').length === stubs && document.getElementById('session-note').hidden, stubs);
}

/** Turns the pages of an original until its end, and joins what stands on them. */
async function readAll(page) {
  const pages = [];
  for (;;) {
    pages.push(await textOf(page, '#text'));
    const range = await textOf(page, '#range');
    if (await page.$eval('#next', (button) => button.disabled)) return pages;
    await page.click('#next');
    await until(page, (range) => document.getElementById('range').textContent !== range, range);
  }
}

const focused = (page) => page.evaluate(() => document.activeElement.dataset.name ?? (document.activeElement.id || document.activeElement.tagName));

async function fitsIn(page, what) {
  const [found, room] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  check(`${what} is not wider than the screen`, found <= room, { found, room });
  const hidden = await page.evaluate(() => [...document.querySelectorAll('button, a, input, h1, h2')]
    .filter((node) => node.checkVisibility() && !node.closest('pre, .hidden') && node.getBoundingClientRect().right > innerWidth + 1)
    .map((node) => node.outerHTML.slice(0, 120)));
  check(`${what} has all that is to be clicked within the screen`, hidden.length === 0, hidden);
}

// ---- What is there --------------------------------------------------------------------------

async function fill(client, store) {
  const made = { json: contents.json(), csv: contents.csv(), log: contents.log(), hostile: contents.hostile(), line: contents.oneLine() };
  const s = 'orders-november';
  await client.message(s, text('Which customers of the shop had failing orders in November, and why?'));
  await client.message(s, text('I look at the customers first, then at their orders.'), tool('query_customers', made.json, { table: 'customers', active: true, limit: 1500 }));
  await client.message(s, tool('export_orders', made.csv, { month: '2026-11', format: 'csv' }));
  await client.message(s, tool('git_status', 'On branch main\nnothing to commit, working tree clean\n', { path: '.' }));
  await client.message(s, text('The orders are there. Now the log of the workers.'), tool('read_log', made.log, { path: '/var/log/workers.log' }));
  await client.message(s, text('Two workers lost their connection at the same time; the failing orders are theirs.'));
  await client.message('hostile', text(contents.markup), tool(contents.markup, made.hostile, { html: contents.markup }), tool('one_line', made.line));
  writeFileSync('bytes.bin', Buffer.concat([Buffer.from([0xff, 0xfe, 0, 0x80]), Buffer.from('text '.repeat(6000)), Buffer.from([0xc3])]));
  put(store, 'bytes.bin', 'bytes', '--session', 'hostile');
  writeFileSync('of-an-event.csv', made.csv);
  put(store, 'of-an-event.csv', 'of_an_event', '--session', 'hostile', '--event', 'one/two');
  await client.call('POST', '/sessions', { session_id: 'empty' });
  await client.message('damaged', tool('will_be_damaged', made.csv));
  const many = Array.from({ length: 1200 }, (_, nth) => tool(`tool_${nth % 7}`, `${nth} ${'lorem ipsum '.repeat(1700)}`));
  for (let done = 0; done < many.length; done += 60) {
    const messages = many.slice(done, done + 60).map((part) => ({ role: 'assistant', parts: [part] }));
    await client.call('POST', '/sessions/many/messages/batch', { messages });
  }
  return made;
}

async function fillSessions(client, count) {
  const names = Array.from({ length: count }, (_, nth) => `run-${String(nth).padStart(5, '0')}`);
  while (names.length > 0) {
    await Promise.all(names.splice(0, 16).map((session_id) => client.call('POST', '/sessions', { session_id })));
  }
}

async function idOf(client, session, name) {
  const { tool_results } = await client.results(session);
  return tool_results.find(({ tool_name }) => tool_name === name).tool_result_id;
}

// ---- The checks -----------------------------------------------------------------------------

async function delivery(url) {
  const page = await fetch(`${url}/`);
  same('the page is HTML', page.headers.get('content-type'), 'text/html; charset=utf-8');
  const policy = page.headers.get('content-security-policy') ?? '';
  for (const part of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self' data:", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"]) {
    check(`the policy says ${part}`, policy.split('; ').includes(part), policy);
  }
  for (const [path, kind] of [['/', 'text/html'], ['/page.js', 'text/javascript'], ['/page.css', 'text/css']]) {
    const answer = await fetch(url + path);
    const headers = Object.fromEntries(answer.headers);
    check(`${path} is of its kind`, headers['content-type'] === `${kind}; charset=utf-8`, headers);
    same(`${path} is asked for again`, headers['cache-control'], 'no-cache');
    same(`${path} tells no other site of us`, headers['referrer-policy'], 'no-referrer');
    const again = await fetch(url + path, { headers: { 'If-None-Match': headers.etag } });
    same(`${path} is sent once`, again.status, 304);
    same(`${path} has one tag`, again.headers.get('etag'), headers.etag);
    same(`${path} is sent to those who have another`, (await fetch(url + path, { headers: { 'If-None-Match': '"other"' } })).status, 200);
  }
}

async function reading(page, made) {
  await until(page, () => document.querySelectorAll('#session-rows .row').length > 0);
  await shot(page, 'sessions');
  await page.click('a.row[data-name=orders-november]');
  await inSession(page, 3);
  await until(page, () => !document.getElementById('saved').hidden);
  const share = parseFloat(await textOf(page, '#saved-share'));
  check('what is saved is told', share > 95 && share < 100, share);
  const sum = [made.json, made.csv, made.log].reduce((sum, text) => sum + [...text].length, 0);
  check('the sum of the originals is told', (await textOf(page, '#saved-sizes')).includes(sum.toLocaleString('en')));
  check('what is short stands as it is', (await textOf(page, '#message-rows')).includes('nothing to commit'));
  await shot(page, 'session');
  await page.click('#to-results');
  await until(page, () => document.querySelectorAll('#result-rows .row').length === 3);
  check('results have kind, size and stub', /export_orderscsv.*→.*−9/.test(await textOf(page, '#result-rows')), await textOf(page, '#result-rows'));
  await page.click('#to-messages');

  for (const [name, key] of [['query_customers', 'json'], ['export_orders', 'csv']]) {
    await page.evaluate((name) => [...document.querySelectorAll('.stub .row')].find((row) => row.textContent.startsWith(name)).click(), name);
    await until(page, (name) => document.getElementById('tool').textContent === name, name);
    await opened(page);
    same(`the kind of ${name} is told`, await textOf(page, '#kind'), key);
    const pages = await readAll(page);
    check(`${name} comes in pages`, pages.length > 2 && pages.every((page) => [...page].length <= 20_000), pages.length);
    check(`${name} read to its end is the original`, pages.join('') === made[key]);
    await page.click('#first');
    await until(page, () => document.getElementById('offset').value === '0');
  }
  check('the stub beside it is the one that is open', await page.$eval('.stub .row[aria-current]', (row) => row.textContent.startsWith('export_orders')));
  await page.click('#about summary');
  check('the synopsis is shown', /rows|columns/.test(await textOf(page, '#synopsis')), await textOf(page, '#synopsis'));
  await shot(page, 'original');
  await page.click('#about summary');
}

async function searching(page, made, id) {
  const characters = [...made.log];
  await go(page, placed({ session: 'orders-november', result: id }));
  await until(page, () => document.getElementById('tool').textContent === 'read_log');
  await opened(page);
  await page.type('#q', 'needle-in-the-log 針');
  await page.keyboard.press('Enter');
  await page.waitForSelector('mark.now');
  same('a match is marked', await textOf(page, 'mark.now'), 'needle-in-the-log 針');
  const offset = characters.slice(0, 5e6).join('').indexOf('needle');
  const expected = [...made.log.slice(0, offset)].length;
  const at = await page.evaluate(() => Number(new URLSearchParams(location.hash.slice(1)).get('at')));
  same('it is the one at its offset', at, expected);
  check('its page is within the original', Math.abs(Number(await page.$eval('#offset', (field) => field.value)) - expected) <= 20_000);
  check('it is in sight', await page.$eval('mark.now', (mark) => {
    const [one, all] = [mark.getBoundingClientRect(), document.getElementById('text').getBoundingClientRect()];
    return one.top >= all.top && one.bottom <= all.bottom;
  }));
  await shot(page, 'match');
  await page.reload();
  await page.waitForSelector('mark.now');
  same('the address keeps the match', await textOf(page, 'mark.now'), 'needle-in-the-log 針');
  same('and the search', await page.$eval('#q', (field) => field.value), 'needle-in-the-log 針');

  await page.$eval('#q', (field) => field.select());
  await page.type('#q', 'ERROR WORKER-1[0-5]');
  await page.click('#regex');
  await until(page, () => document.getElementById('found-sum').textContent === 'No match.');
  await page.click('#ignore-case');
  await until(page, () => document.querySelectorAll('#match-rows .row').length === 51 && document.getElementById('found-sum').textContent.includes(' of '));
  const count = [...made.log.matchAll(/error worker-1[0-5]/gi)].length;
  check('all matches are counted', (await textOf(page, '#found-sum')).endsWith(`of ${count} matches`), await textOf(page, '#found-sum'));
  check('each match is marked in its line', await page.$$eval('#match-rows mark', (marks) => marks.length === 50 && marks.every((mark) => /^ERROR worker-1[0-5]$/.test(mark.textContent))));
  check('a match of an expression is marked whole', /^ERROR worker-1[0-5]$/.test(await textOf(page, 'mark.now')));
  await page.click('#match-rows .more button');
  await until(page, () => document.querySelectorAll('#match-rows mark').length > 50);
  const listed = await page.$$eval('#match-rows .row[data-name]', (rows) => rows.map((row) => Number(row.dataset.name)));
  check('the search goes on where it ended', listed.every((offset, nth) => nth === 0 || offset > listed[nth - 1]) && listed.length === Math.min(100, count), listed.length);
  await page.evaluate(() => document.querySelectorAll('#match-rows .row')[60].click());
  await until(page, (offset) => document.getElementById('match-rows').querySelector(`[data-name="${offset}"]`).ariaCurrent === 'true', listed[60]);
  check('a later match is marked', /^ERROR worker-1[0-5]$/.test(await textOf(page, 'mark.now')));
  await page.$eval('#q', (field) => field.select());
  await page.type('#q', '(unclosed');
  await page.keyboard.press('Enter');
  await until(page, () => /unclosed group/.test(document.getElementById('found-sum').textContent));
  check('a wrong expression is explained', true);
  await page.click('#last');
  await until(page, () => document.getElementById('next').disabled);
  check('the last page ends as the original does', made.log.endsWith(await textOf(page, '#text')));
  await page.$eval('#offset', (field) => field.select());
  await page.type('#offset', '1234567');
  await page.keyboard.press('Enter');
  await until(page, () => /1,254,567/.test(document.getElementById('range').textContent));
  check('any offset can be gone to', await textOf(page, '#text') === characters.slice(1_234_567, 1_254_567).join(''));
}

async function keyboard(page) {
  await go(page, '');
  await until(page, () => document.querySelectorAll('#session-rows .row').length > 0);
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('/');
  same('/ goes to the filter', await focused(page), 'filter');
  await page.keyboard.type('orders');
  await until(page, () => document.querySelectorAll('#session-rows .row').length === 1);
  await page.keyboard.press('ArrowDown');
  same('an arrow goes to the first session', await focused(page), 'orders-november');
  check('what has the focus is seen', await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle === 'solid'));
  await page.keyboard.press('Enter');
  await inSession(page, 3);
  await page.keyboard.press('ArrowDown');
  const first = await focused(page);
  check('an arrow goes to the first stub', first.startsWith('/tr_'), first);
  await page.keyboard.press('ArrowDown');
  check('and on to the next', (await focused(page)) !== first);
  await page.keyboard.press('ArrowUp');
  same('and back', await focused(page), first);
  await page.keyboard.press('Enter');
  await opened(page);
  await until(page, () => document.activeElement.id === 'text');
  same('Enter opens the original', await textOf(page, '#tool'), 'query_customers');
  await page.keyboard.press('ArrowRight');
  await until(page, () => document.getElementById('offset').value === '20000');
  await page.keyboard.press('ArrowLeft');
  await until(page, () => document.getElementById('offset').value === '0');
  await page.keyboard.press('End');
  await until(page, () => document.getElementById('next').disabled);
  await page.keyboard.press('Home');
  await until(page, () => document.getElementById('offset').value === '0');
  check('the arrows, Home and End turn the pages', true);
  await page.keyboard.press('/');
  same('/ goes to the search', await focused(page), 'q');
  await page.keyboard.type('美咲');
  await page.keyboard.press('Enter');
  await page.waitForSelector('mark.now');
  const place = () => page.evaluate(() => new URLSearchParams(location.hash.slice(1)).get('at'));
  await page.focus('#text');
  const one = await place();
  await page.keyboard.press('n');
  await until(page, (one) => new URLSearchParams(location.hash.slice(1)).get('at') !== one, one);
  await page.keyboard.press('p');
  await until(page, (one) => new URLSearchParams(location.hash.slice(1)).get('at') === one, one);
  check('n and p go through the matches', true);
  await page.focus('#q');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await until(page, (one) => new URLSearchParams(location.hash.slice(1)).get('at') !== one, one);
  check('the arrows and Enter go to a match', true);
  await page.keyboard.press('Escape');
  await until(page, () => document.getElementById('found').hidden);
  same('Esc ends the search', await focused(page), 'text');
  await page.keyboard.press('c');
  await until(page, () => document.getElementById('copy').textContent === 'Copied');
  check('c copies the ref', (await page.evaluate(() => navigator.clipboard?.readText().catch(() => getSelection().toString()) ?? getSelection().toString())).includes('/tool-results/tr_'));
  await page.keyboard.press('?');
  check('? opens the help', await page.$eval('#help', (help) => help.open));
  await shot(page, 'help');
  await page.keyboard.press('Escape');
  check('Esc closes it, and nothing else', await page.evaluate(() => !document.getElementById('help').open && location.hash.includes('result')));
  await page.keyboard.press('Escape');
  await until(page, () => document.getElementById('result').hidden);
  same('Esc leads from the original back to its stub', await focused(page), first);
  await page.keyboard.press('t');
  await until(page, () => !document.getElementById('result-rows').hidden);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await opened(page);
  check('t shows the results; they open too', true);
  await page.keyboard.press('Escape');
  await until(page, () => document.getElementById('result').hidden);
  await page.keyboard.press('Escape');
  await until(page, () => document.getElementById('session').hidden);
  await until(page, () => document.activeElement.dataset.name === 'orders-november');
  check('Esc leads from the session back to its row', true);
  await page.keyboard.press('Tab');
  check('Tab goes on', (await focused(page)) !== 'orders-november');
}

async function hostility(page, client, made) {
  await go(page, placed({ session: 'hostile' }));
  await inSession(page, 2);
  await page.evaluate(() => document.querySelectorAll('.stub .row')[0].click());
  await opened(page);
  const pages = await readAll(page);
  check('hostile content read to its end is the original', pages.join('') === made.hostile);
  await page.click('#first');
  await until(page, () => document.getElementById('offset').value === '0');
  same('a name of a tool is text', await textOf(page, '#tool'), contents.markup);
  const inside = await page.$$eval('#text *', (nodes) => [...new Set(nodes.map((node) => `${node.tagName}.${node.className}`))]);
  same('content makes no elements but the names of what is unseen', inside.join(), 'SPAN.unseen');
  const names = new Set(await page.$$eval('#text .unseen', (nodes) => nodes.map((node) => node.dataset.name)));
  check('control and bidi characters are shown by their names', ['NUL', 'ESC', 'BEL', 'DEL', 'RLO', 'LRI', 'PDI', 'BOM', 'ZWSP', 'CR', 'U+E0041'].every((name) => names.has(name)), [...names]);
  await shot(page, 'hostile');
  await go(page, placed({ session: 'hostile', result: await idOf(client, 'hostile', 'one_line') }));
  await until(page, () => document.getElementById('tool').textContent === 'one_line');
  await page.click('#wrap');
  check('lines that are not wrapped are scrolled', await page.$eval('#text', (text) => text.scrollWidth > 100_000 && text.clientWidth < 1000));
  await page.click('#wrap');
  check('lines that are wrapped are not', await page.$eval('#text', (text) => text.scrollWidth <= text.clientWidth));
  await go(page, placed({ session: 'hostile', result: await idOf(client, 'hostile', 'bytes') }));
  await until(page, () => document.getElementById('tool').textContent === 'bytes');
  await opened(page);
  check('bytes that are no text are told of', await isShown(page, '#lossy'));
  await page.evaluate(() => document.getElementById('to-results').click());
  await until(page, () => document.querySelectorAll('#result-rows .row').length === 4);
  await page.evaluate(() => [...document.querySelectorAll('#result-rows .row')].find((row) => row.textContent.startsWith('of_an_event')).click());
  await until(page, () => document.getElementById('tool').textContent === 'of_an_event');
  await opened(page);
  check('results of events are read too', made.csv.startsWith(await textOf(page, '#text')) && (await textOf(page, '#ref')).includes('/events/one%2Ftwo/'), await textOf(page, '#ref'));
  same('nothing of it has run', await page.evaluate(() => window.pwned), undefined);
}

async function states(page, client, store) {
  await go(page, placed({ session: 'empty' }));
  await until(page, () => document.getElementById('session-note').textContent.includes('No messages'));
  await page.keyboard.press('t');
  await until(page, () => document.getElementById('session-note').textContent.includes('No results'));
  check('an empty session says so', true);
  await go(page, placed({ session: 'unknown' }));
  await until(page, () => document.getElementById('session-note').textContent.includes('There is no such session'));
  check('an unknown session is told', true);
  await shot(page, 'unknown');
  await go(page, placed({ session: 'orders-november', result: 'tr_unknown' }));
  await until(page, () => document.getElementById('result-note').textContent.includes('it was never stored'));
  check('an unknown result is told', true);
  const damaged = await idOf(client, 'damaged', 'will_be_damaged');
  for (const name of readdirSync(store, { recursive: true })) {
    const path = join(store, name);
    if (name.includes(damaged) && statSync(path).isFile() && statSync(path).size > 100_000) truncateSync(path, 1000);
  }
  await go(page, placed({ session: 'damaged', result: damaged }));
  await until(page, () => document.getElementById('result-note').textContent.includes('This original is damaged'));
  check('a damaged original is told', true);
  await shot(page, 'damaged');
  for (const hash of ['#session=%ff&result=%00', '#session=../..&offset=-5', '#offset=1e99', `#session=orders-november&result=${'x'.repeat(5000)}`]) {
    await go(page, hash);
    await until(page, () => [...document.querySelectorAll('.state, #session-rows .row')].some((node) => node.checkVisibility() && node.textContent));
  }
  check('addresses that make no sense are answered', true);
}

async function downloads(page, client, session, csv) {
  const id = await idOf(client, session, 'export_orders');
  await go(page, placed({ session, result: id }));
  await until(page, () => document.getElementById('tool').textContent === 'export_orders');
  await opened(page);
  const folder = resolve('downloads');
  rmSync(folder, { recursive: true, force: true });
  const browser = await page.createCDPSession();
  await browser.send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: folder, eventsEnabled: true, browserContextId: page.browserContext().id });
  const over = new Promise((over) => browser.on('Browser.downloadProgress', ({ state }) => state === 'completed' && over()));
  await page.click('#download');
  await over;
  const [file] = readdirSync(folder);
  same('the download has the name of the result', file, `${id}.txt`);
  check('the download is the original', readFileSync(join(folder, file), 'utf8') === csv);
}

async function large(page) {
  await go(page, placed({ session: 'many', view: 'results' }));
  await until(page, () => document.querySelectorAll('#result-rows .row').length === 100);
  check('a long list of results comes in parts', (await textOf(page, '#to-results')).includes('+'));
  for (let tries = 0; tries < 60 && await page.$('#result-rows .more'); tries += 1) {
    await page.evaluate(() => document.querySelector('#result-rows .more')?.scrollIntoView());
    await new Promise((over) => setTimeout(over, 100));
  }
  same('all of it comes if scrolled', await page.$$eval('#result-rows .row', (rows) => rows.length), 1200);
  await page.click('#to-messages');
  check('messages that do not fit are told of', (await textOf(page, '#older')).includes('older message'));
  await page.$eval('#filter', (field) => { field.value = ''; });
  const begun = Date.now();
  await go(page, '');
  await until(page, () => document.querySelectorAll('#session-rows .row').length >= 100);
  check('thousands of sessions are listed at once', Date.now() - begun < 3000, Date.now() - begun);
  check('of which few are drawn', await page.$$eval('#session-rows .row', (rows) => rows.length <= 400));
  await page.type('#filter', 'run-02999');
  await until(page, () => document.querySelectorAll('#session-rows .row').length === 1);
  check('and any is found', (await textOf(page, '#session-rows')).includes('run-02999'));
}

async function narrow(browser, url) {
  const page = await open(browser, url, { width: 320, height: 640 });
  await until(page, () => document.querySelectorAll('#session-rows .row').length > 0);
  await fitsIn(page, 'the list of sessions on 320 px');
  await shot(page, 'narrow-sessions');
  await go(page, placed({ session: 'orders-november' }));
  await inSession(page, 3);
  await fitsIn(page, 'a session on 320 px');
  await shot(page, 'narrow-session');
  await page.click('#to-results');
  await fitsIn(page, 'the list of results on 320 px');
  await shot(page, 'narrow-results');
  await page.evaluate(() => document.querySelector('#result-rows .row').click());
  await opened(page);
  check('one thing is shown at a time', !await isShown(page, '#near') && await isShown(page, '#far'));
  await page.type('#q', 'a');
  await page.keyboard.press('Enter');
  await page.waitForSelector('mark.now');
  await fitsIn(page, 'an original on 320 px');
  await shot(page, 'narrow-original');
  check('there is room to read', await page.$eval('#text', (text) => text.clientHeight >= 120), await page.$eval('#text', (text) => text.clientHeight));
  await page.click('#back');
  await until(page, () => document.getElementById('near').checkVisibility());
  check('and there is a way back', true);
  await go(page, placed({ session: 'hostile' }));
  await inSession(page, 2);
  await fitsIn(page, 'a hostile session on 320 px');
  await page.evaluate(() => document.querySelector('.stub .row').click());
  await opened(page);
  await fitsIn(page, 'a hostile original on 320 px');
  await page.browserContext().close();
}

async function dark(browser, url, id) {
  const page = await open(browser, url, { width: 1440, height: 900, dark: true });
  await go(page, placed({ session: 'orders-november', result: id, q: 'ERROR', offset: '20000' }));
  await page.waitForSelector('#text mark');
  same('the address keeps the page', await page.$eval('#offset', (field) => field.value), '20000');
  const [paper, ink] = await page.evaluate(() => [getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color].map((color) => parseInt(color.match(/\d+/)[0], 10)));
  check('dark is dark', paper < 60 && ink > 180, { paper, ink });
  await shot(page, 'dark');
  await page.browserContext().close();
}

async function withoutScript(browser, url) {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  await page.setJavaScriptEnabled(false);
  await page.goto(`${url}/`);
  const text = await page.evaluate(() => document.body.innerText).catch(() => '');
  check('without JavaScript it says what it is and where the API is', text.includes('/api/v1/sessions') && text.includes('needs JavaScript'), text);
  await shot(page, 'without-script');
  await context.close();
}

async function keys(browser) {
  writeFileSync('keys.txt', `${KEY}\n`);
  const service = await serve('--api-key-file', resolve('keys.txt'));
  try {
    const client = new Client(service.url, KEY);
    const csv = contents.csv();
    await client.message('locked', tool('export_orders', csv));
    const page = await open(browser, service.url);
    await until(page, () => document.getElementById('key')?.open);
    await page.type('#key-text', 'a-key-that-opens-nothing');
    await page.keyboard.press('Enter');
    await until(page, () => document.getElementById('key-note').textContent === 'Invalid API key');
    check('a wrong key is told', await page.$eval('#key', (key) => key.open));
    await shot(page, 'key');
    await page.type('#key-text', KEY);
    await page.keyboard.press('Enter');
    await until(page, () => document.querySelectorAll('#session-rows .row').length === 1);
    check('a key opens the sessions', true);
    await go(page, placed({ session: 'locked' }));
    await inSession(page, 1);
    await page.reload();
    await inSession(page, 1);
    check('it is kept for the tab', await page.evaluate(() => !document.getElementById('key').open));
    check('in the session alone', await page.evaluate(() => localStorage.length === 0 && document.cookie === '' && sessionStorage.length === 1));
    await page.evaluate(() => document.querySelector('.stub .row').click());
    await opened(page);
    await downloads(page, client, 'locked', csv);
    await page.click('#forget');
    await until(page, () => document.getElementById('key')?.open);
    check('it can be forgotten', await page.evaluate(() => sessionStorage.length === 0));
    await page.browserContext().close();
  } finally {
    await service.end();
  }
}

async function main() {
  mkdirSync(SHOTS, { recursive: true });
  const service = await serve();
  const browser = await launch();
  try {
    const client = new Client(service.url);
    await delivery(service.url);
    const page = await open(browser, service.url);
    await until(page, () => document.getElementById('sessions-note').textContent.includes('No sessions yet'));
    check('an empty store says how to begin', true);
    await shot(page, 'empty');
    const made = await fill(client, service.store);
    const log = await idOf(client, 'orders-november', 'read_log');
    await page.reload();
    await reading(page, made);
    await searching(page, made, log);
    await keyboard(page);
    await hostility(page, client, made);
    await states(page, client, service.store);
    await downloads(page, client, 'orders-november', made.csv);
    await narrow(browser, service.url);
    await dark(browser, service.url, log);
    await fillSessions(client, 3000);
    await large(page);
    await withoutScript(browser, service.url);
    await keys(browser);
    check('the browser had nothing to complain about', complaints.length === 0, complaints);
  } catch (error) {
    await shot(latest, 'failure').catch(() => {});
    throw error;
  } finally {
    await browser.close();
    await service.end();
  }
}

await main().catch((error) => {
  FAILED.push('all steps were gone through');
  console.error(error, complaints);
});
console.log(`page: ${PASSED.length} passed, ${FAILED.length} failed`);
process.exitCode = FAILED.length === 0 ? 0 : 1;
