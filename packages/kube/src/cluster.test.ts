import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

test('a program that only talks to clusters loads no schemas, no rule languages and only a part of undici', () => {
  const program = `
    const { registerHooks } = await import('node:module');
    const urls = [];
    registerHooks({ load: (url, context, next) => { urls.push(url); return next(url, context); } });
    const { createHttpTransport } = await import('./cluster.ts');
    const transport = createHttpTransport({ server: 'http://127.0.0.1:1' });
    await transport.request({ method: 'GET', path: '/' }).catch(() => {});
    await transport.close();
    console.log(JSON.stringify(urls));`;
  const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', program];
  const detail = execFileSync(process.execPath, flags, { cwd: import.meta.dirname, encoding: 'utf8' });
  const urls = JSON.parse(detail) as string[];
  const of = (part: RegExp) => urls.filter((url) => part.test(url)).length;
  assert.equal(of(/\/src\/(cel|regexp|schema)\//), 0);
  assert.ok(of(/\/undici\/lib\/dispatcher\/pool\.js$/) > 0, 'the request went through a pool');
  assert.equal(of(/\/undici\/(index\.js|lib\/(mock|cache|interceptor)\/)/), 0);
});
