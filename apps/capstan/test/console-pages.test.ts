// Every page of the console over the real demonstration, in a real browser: no error, no violation of WCAG 2.2 AA, no page wider than its
// window. The screenshots are kept in artifacts/console; those of docs/console.md are some of them.
import assert from 'node:assert/strict';
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  openBrowser,
  openPage,
  overflowOf,
  PATIENCE,
  violationsOf,
  withoutBrowser,
} from '@capstan/console/test/browser';
import { DiscoveryBackend } from '@capstan/gimbal';
import { KafkaService } from '@capstan/kroxylicious';
import { type Client, connect, createClient, Secret } from '@capstan/kube';
import type { Browser } from 'playwright-core';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** npm run setup:real -- browser lets it run. */
const skip = withoutBrowser;
const PICTURES = join(ROOT, 'artifacts/console');
const PROXY = '/o/-/KafkaProxy.kroxylicious.io/default/my-proxy';
const MANIFEST = `apiVersion: kroxylicious.io/v1alpha1
kind: KafkaService
metadata: {name: upstream, namespace: default}
spec:
  bootstrapServers: kafka-0.kafka.default.svc:9092
  nodeIdRanges: [{name: brokers, start: 0, end: 3}]
`;

/** The name of the picture, the path, and a text that is on the page when it is complete. */
const PAGES: readonly (readonly [name: string, path: string, text: RegExp])[] = [
  ['overview', '/', /Operators/],
  ['explorer', '/explore', /found/],
  ['object', PROXY, /my-proxy-[a-z0-9]+-[a-z0-9]+/],
  ['object-yaml', `${PROXY}?tab=yaml`, /apiVersion/],
  ['object-reads', `${PROXY}?tab=reads`, /Recorded reads/],
  ['object-deliveries', '/o/-/HTTPProxy.projectsesame.io/default/store?tab=deliveries', /acknowledged/i],
  ['plan', `/plan#draft=${encodeURIComponent(MANIFEST)}`, /upstream/],
  ['ingress', '/ingress?test=GET%20http%3A%2F%2Fstore.test%2Fbasket', /store\.test/],
  ['ingress-xds', '/ingress?view=xds', /Envoy/],
  ['cables', '/cables', /Policies/],
  ['kafka', '/kafka', /Virtual clusters/],
  ['discovery', '/discovery/east', /Copy in use/],
  ['packages', '/packages', /From the package to its pods/],
  ['timeline', '/time', /Time line/],
];

describe('the console over the demonstration', { skip, timeout: 10 * PATIENCE }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'capstan-console-pages-'));
  let up: ChildProcessByStdio<null, Readable, null>;
  let browser: Browser;
  let url = '';
  let token = '';

  before(async () => {
    mkdirSync(PICTURES, { recursive: true });
    const program = ['apps/capstan/src/main.ts', 'up', '--demo', '--data', join(folder, 'data'), '--listen', ':0'];
    up = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...program, '-o', 'json'], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const ready = await readyOf(up);
    url = ready.console.replace(/\/$/, '');
    const code = readFileSync(ready.consoleCodeFile, 'utf8').trim();
    token = await logIn(url, code);
    // The console follows changes from its first request on.
    await get(url, token, '/api/overview');
    await waitUntil(async () => (await get(url, token, '/api/overview'))['rootCount'] === 0);
    const client = createClient({ transport: await connect({ env: { KUBECONFIG: ready.kubeconfig } }) });
    await change(client);
    await client.close();
    await waitUntil(async () => Number((await get(url, token, '/api/overview'))['rootCount']) > 0);
    browser = await openBrowser();
  });
  after(async () => {
    await browser?.close();
    if (up !== undefined && up.exitCode === null) {
      up.kill('SIGINT');
      await once(up, 'exit');
    }
    rmSync(folder, { recursive: true, force: true });
  });

  for (const colorScheme of ['light', 'dark'] as const)
    test(`shows every page without an error in ${colorScheme}, and keeps its picture`, async () => {
      const { page, context, complaints } = await openPage(browser, url, token, { colorScheme });
      const found: Record<string, readonly string[]> = {};
      for (const [name, path, text] of PAGES) {
        await page.goto(url + path);
        await page.getByText(text).first().waitFor({ state: 'attached' });
        await page.waitForLoadState('networkidle', { timeout: 2000 }).catch(() => undefined);
        const violations = await violationsOf(page);
        if (violations.length > 0) found[path] = violations;
        await page.screenshot({ path: join(PICTURES, `${name}-${colorScheme}.png`) });
      }
      await context.close();
      assert.deepEqual(found, {});
      assert.deepEqual(complaints, []);
    });

  test('fits every page into 320 pixels', async () => {
    const { page, context } = await openPage(browser, url, token, { viewport: { width: 320, height: 700 } });
    for (const [name, path, text] of PAGES) {
      await page.goto(url + path);
      await page.getByText(text).first().waitFor({ state: 'attached' });
      assert.ok((await overflowOf(page)) <= 0, `${path} is wider than the window`);
      await page.screenshot({ path: join(PICTURES, `${name}-320.png`) });
    }
    await context.close();
  });
});

/** A third broker, a Secret that is gone, and a backend in maintenance. */
async function change(client: Client): Promise<void> {
  await client.patch(KafkaService, { namespace: 'default', name: 'upstream' }, 'merge', {
    spec: { nodeIdRanges: [{ name: 'brokers', start: 0, end: 2 }] },
  });
  await client.patch(DiscoveryBackend, { namespace: 'gimbal-discovery', name: 'east' }, 'merge', {
    spec: { clusterStatus: 'Maintenance' },
  });
  await client.delete(Secret, { namespace: 'default', name: 'vault-token' });
}

interface Ready {
  readonly console: string;
  readonly consoleCodeFile: string;
  readonly kubeconfig: string;
}

function readyOf(up: ChildProcessByStdio<null, Readable, null>): Promise<Ready> {
  return new Promise((resolve, reject) => {
    createInterface(up.stdout).on('line', (line) => {
      if (line.includes('"event":"ready"')) resolve(JSON.parse(line) as Ready);
    });
    up.once('exit', (code) => reject(new Error(`capstan up ended with ${code}`)));
  });
}

async function logIn(url: string, code: string): Promise<string> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}/api/login`, { method: 'POST', headers, body: JSON.stringify({ code }) });
  return ((await response.json()) as { token: string }).token;
}

async function get(url: string, token: string, path: string): Promise<Record<string, unknown>> {
  const response = await fetch(url + path, { headers: { 'capstan-token': token } });
  return (await response.json()) as Record<string, unknown>;
}

async function waitUntil(isSo: () => Promise<boolean>): Promise<void> {
  const until = performance.now() + PATIENCE;
  while (!(await isSo())) {
    if (performance.now() > until) throw new Error('it did not become so');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
