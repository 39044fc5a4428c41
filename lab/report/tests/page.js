// Tries a report's page in Chromium; `.ci/page` makes the page and has the tools. The last part spoils the page: what finds
// nothing then is no test.
'use strict';
const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const puppeteer = require('puppeteer-core');
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const [executablePath, file] = process.argv.slice(2);
const folder = path.dirname(file);
const pause = ms => new Promise(done => setTimeout(done, ms));

async function open(browser, { scheme = 'light', width = 1100, scripts = true } = {}) {
  const page = await browser.newPage();
  page.on('pageerror', error => { throw error; });
  page.on('console', message => assert.notEqual(message.type(), 'error', message.text()));
  page.on('request', request => assert.match(request.url(), /^(file|blob|data):/, 'the page asks nobody'));
  await page.setJavaScriptEnabled(scripts);
  await page.setViewport({ width, height: 800 });
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
  await page.goto('file://' + file);
  return page;
}

// What is wrong for somebody who cannot see, or has no pointer: rules whose impact is serious or critical.
async function barred(page, options = {}) {
  await page.evaluate(() => document.querySelectorAll('details').forEach(details => details.open = true));
  await page.evaluate(axe);
  const { violations } = await page.evaluate(options => axe.run(document, { resultTypes: ['violations'], ...options }), options);
  const grave = violations.filter(violation => ['serious', 'critical'].includes(violation.impact));
  return grave.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes.slice(0, 3).map(node => node.html.slice(0, 160)).join(' | ')}`);
}

const tip = page => page.$eval('#tip', tip => getComputedStyle(tip).display == 'none' ? '' : tip.textContent);

async function glossary(page) {
  const term = await page.$('figcaption .term');
  const word = await term.evaluate(term => document.querySelector(term.hash).textContent);
  await term.hover();
  assert.ok((await tip(page)).endsWith(word), 'the pointer on a word shows what it means');
  await page.mouse.move(1, 1);
  assert.equal(await tip(page), '');
  await term.focus();
  assert.ok((await tip(page)).endsWith(word), 'so does the keyboard');
  await page.keyboard.press('Escape');
  assert.equal(await tip(page), '', 'and Escape takes it away');
  const heads = await page.$$('#f-barriers text');
  const names = await Promise.all(heads.map(head => head.evaluate(head => head.textContent)));
  await heads[names.indexOf('Rust std')].hover();
  assert.match(await tip(page), /^Rust std: /, 'a word in a figure is explained, too');
  await page.mouse.move(1, 1);
}

const shown = page => page.$$eval('.claims li', rows => rows.filter(row => !row.hidden && !row.closest('[hidden]')).length);

async function filter(page) {
  const all = await shown(page);
  const holds = await page.$eval('#filter input[value=holds]', box => +box.parentElement.textContent.match(/\d+/)[0]);
  await page.focus('#filter input[value=holds]');
  await page.keyboard.press('Space');
  assert.equal(await shown(page), all - holds, 'an outcome that is not ticked is not shown');
  await page.keyboard.press('Space');
  await page.type('#filter [type=search]', 'interrupts');
  const hits = await page.$$eval('.claims li', rows => rows.filter(row => !row.hidden).map(row => row.textContent.toLowerCase()));
  assert.ok(hits.length > 0 && hits.length < all && hits.every(text => text.includes('interrupts')));
  assert.equal(await page.$eval('#filter output', output => output.textContent), `${hits.length} shown`);
}

async function links(page) {
  const href = await page.$eval('.claims .id a', link => { link.closest('details').open = true; link.click(); return link.hash; });
  await pause(200);
  const box = await page.$eval(href, figure => { const { top, height } = figure.getBoundingClientRect(); return { tag: figure.tagName, top, height }; });
  assert.ok(box.tag == 'FIGURE' && box.height > 100 && Math.abs(box.top) < 60, `a claim leads to its figure: ${JSON.stringify(box)}`);
}

// A file that the page saves.
async function saved(page, name, click) {
  const at = path.join(folder, name);
  await click();
  for (let i = 0; i < 50 && !fs.existsSync(at); i++) await pause(100);
  return fs.readFileSync(at, 'utf8');
}

// A text of comma-separated values as rows of cells.
const cells = text => text.trimEnd().split('\r\n').map(row =>
  [...row.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, bare]) => quoted?.replaceAll('""', '"') ?? bare));

async function downloads(page, browser) {
  const client = await browser.target().createCDPSession();
  await client.send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: folder });
  const save = (figure, what) => page.$eval(`#f-${figure}`, (figure, what) => {
    [...figure.querySelectorAll('.save button')].find(button => button.textContent.includes(what)).click();
  }, what);
  const csv = async figure => cells(await saved(page, `${figure}.csv`, () => save(figure, 'CSV')));
  const [heads, ...barriers] = await csv('barriers');
  assert.ok(barriers.every(row => row.length == heads.length), 'rows have as many cells as there are columns');
  const results = JSON.parse(fs.readFileSync(path.join(folder, 'barriers.json')));
  const measured = results.measurements.filter(m => m.labels.row && m.figures.oracle_share !== undefined);
  const wanted = measured.map(m => [m.id, m.labels.row, m.labels.waiter, m.unit, m.summary.p50, m.figures.oracle_share].map(String));
  const columns = ['id', 'row', 'waiter', 'unit', 'p50', 'oracle_share'].map(name => heads.indexOf(name));
  assert.deepEqual(barriers.map(row => columns.map(column => row[column])).sort(), wanted.sort(), 'every measured cell is a row');
  const packets = await csv('fig3-11b');
  assert.deepEqual(packets[0].slice(0, 4), ['what', 'from', 'to', 'asked_us']);
  assert.ok(packets.some(row => row[0] == 'forced') && packets.some(row => row[0] == 'interrupted'));
  const strip = await csv('fig4-over-time');
  assert.ok(strip[0].some(head => head.endsWith('state=computing')) && strip.length > 100);
  const svg = await saved(page, 'barriers.svg', () => save('barriers', 'SVG'));
  assert.ok(svg.startsWith('<svg ') && svg.includes('Foregather') && !/var\(|data-|tabindex/.test(svg));
}

async function rows(page) {
  await page.$eval('#filter', form => form.reset());
  await page.evaluate(() => document.querySelectorAll('details').forEach(details => details.open = true));
  const highest = await page.$$eval('.claims li', rows => Math.max(...rows.map(row => row.getBoundingClientRect().height)));
  assert.ok(highest > 20 && highest < 800, `the highest claim has ${highest} pixels`);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `the page is ${wide} pixels too wide`);
}

// Without scripts all is there to be read, and nothing that does nothing.
async function plain(browser) {
  const page = await open(browser, { scripts: false });
  assert.ok(await page.$$eval('.claims li', rows => rows.length) > 5);
  assert.equal(await page.$eval('#filter', form => getComputedStyle(form).display), 'none');
  assert.equal(await page.$$eval('.save', all => all.length), 0);
}

// Spoilt pages: axe has to find each fault, or it finds nothing at all.
const FAULTS = {
  'svg-img-alt': () => document.querySelector('.chart:not(:has(.k))').removeAttribute('aria-label'),
  'color-contrast': () => document.querySelectorAll('.sub').forEach(sub => sub.style.color = '#bbb'),
  'label': () => { const box = document.querySelector('#filter [type=search]'); box.parentElement.replaceWith(box); },
};

(async () => {
  const browser = await puppeteer.launch({ executablePath, headless: true, args: ['--no-sandbox', '--disable-gpu'] });
  try {
    const page = await open(browser);
    for (const part of [glossary, filter, links, downloads, rows]) await part(page, browser);
    await plain(browser);
    for (const [scheme, width] of [['light', 1100], ['dark', 1100], ['light', 600]]) {
      assert.deepEqual(await barred(await open(browser, { scheme, width })), [], `${scheme}, ${width} pixels wide`);
    }
    for (const [rule, spoil] of Object.entries(FAULTS)) {
      const page = await open(browser);
      await page.evaluate(spoil);
      assert.equal((await barred(page, { runOnly: [rule] })).length, 1, `axe does not find ${rule}, which was planted`);
    }
  } finally {
    await browser.close();
  }
  console.log('the page works by pointer and by keyboard, and bars nobody');
})().catch(error => { console.error(error.message ?? error); process.exit(1); });
