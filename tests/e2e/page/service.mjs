// The service under test, and what it is filled with.

import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const BINARY = process.env.TOOLSTUB;

function freePort() {
  return new Promise((found) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => found(port));
    });
  });
}

/** Starts `toolstub serve` on a store of its own. */
export async function serve(...options) {
  const store = mkdtempSync(resolve('store-'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const args = ['--store', store, '--fsync', 'false', 'serve', '--listen', `127.0.0.1:${port}`, ...options];
  const child = spawn(BINARY, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  const end = async () => {
    child.kill('SIGTERM');
    if (child.exitCode === null) await new Promise((over) => child.once('exit', over));
    rmSync(store, { recursive: true, force: true });
  };
  for (let tries = 0; ; tries += 1) {
    try {
      if ((await fetch(`${url}/health`)).ok) return { url, store, end };
    } catch (error) {
      if (tries === 100 || child.exitCode !== null) throw error;
    }
    await sleep(100);
  }
}

export class Client {
  constructor(url, key) {
    this.url = url;
    this.headers = { 'Content-Type': 'application/json', ...(key && { 'X-API-Key': key }) };
  }

  async call(method, path, body) {
    const response = await fetch(`${this.url}/api/v1${path}`, { method, headers: this.headers, body: body && JSON.stringify(body) });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${answer.error.message}`);
    return answer.result;
  }

  message(session, ...parts) {
    const role = parts.some(({ type }) => type === 'tool') ? 'assistant' : 'user';
    return this.call('POST', `/sessions/${encodeURIComponent(session)}/messages`, { role, parts });
  }

  results(session) {
    return this.call('GET', `/sessions/${encodeURIComponent(session)}/tool-results?limit=1000`);
  }
}

/** Stores bytes that no message can carry. */
export function put(store, file, tool, ...options) {
  execFileSync(BINARY, ['--store', store, ...options, 'put', file, '--tool-name', tool]);
}

export const text = (text) => ({ type: 'text', text });

let calls = 0;
export function tool(tool_name, tool_output, tool_input = {}) {
  calls += 1;
  return { type: 'tool', tool_id: `call_${calls}`, tool_name, tool_input, tool_output, tool_status: 'completed' };
}
