// speedscope.mjs: serves speedscope and a trace on loopback, opens both in headless Chromium, looks
// for span names, takes two pictures: FOLDER (with node_modules) TRACE PICTURES NAME...
import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, normalize } from 'node:path';

const [folder, trace, pictures, ...names] = process.argv.slice(2);
const { chromium } = createRequire(join(folder, 'x.js'))('playwright-core');
const release = join(folder, 'node_modules/speedscope/dist/release');
const types = { html: 'text/html', js: 'text/javascript', css: 'text/css', json: 'application/json' };

const server = createServer(async (request, response) => {
  const path = normalize(new URL(request.url, 'http://x').pathname);
  try {
    const body = await readFile(path === '/trace.json' ? trace : join(release, path));
    response.setHeader('Content-Type', types[path.split('.').pop()] ?? 'application/octet-stream');
    response.end(body);
  } catch {
    response.statusCode = 404;
    response.end();
  }
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const base = `http://127.0.0.1:${server.address().port}`;
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
let failed = 0;
try {
  const page = await browser.newPage({ viewport: { width: 1400, height: 800 } });
  page.on('pageerror', (error) => { console.log(`FAIL: the page: ${error.message}`); failed++; });
  await page.goto(`${base}/index.html#profileURL=${encodeURIComponent(`${base}/trace.json`)}`);
  await page.waitForFunction(() => document.body.innerText.includes('Time Order'), null,
    { timeout: 30000 });
  await page.waitForTimeout(1500);
  await page.screenshot({ path: join(pictures, 'speedscope-time.png') });
  // The time order is drawn; the table of the sandwich view is text.
  await page.keyboard.press('3');
  await page.getByText('Total', { exact: true }).click(); // the longest first: only rows in sight exist
  await page.waitForTimeout(1500);
  await page.screenshot({ path: join(pictures, 'speedscope-sandwich.png') });
  const text = await page.evaluate(() => document.body.innerText);
  for (const name of names) {
    // Behind the name it writes the args.
    const there = text.split('\n').some((line) => line.trim().startsWith(`${name} {`));
    console.log(`${there ? 'ok' : 'FAIL'}: the page shows ${name}`);
    if (!there) failed++;
  }
} finally {
  await browser.close();
  server.close();
}
process.exit(failed ? 1 : 0);
