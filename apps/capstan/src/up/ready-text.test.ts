import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { Pod, systemClock } from '@capstan/kube';
import { createRandom, createTestCluster } from '@capstan/testing';
import { testIo } from '../cli/test-io.test-support.ts';
import { firstRequest } from './first-request.ts';
import { type ReadyFields, readyText } from './ready-text.ts';

const objects = (count: number) => Array.from({ length: count }, (_, at) => `HTTPProxy default/route-number-${at}`);
const demo = ['kroxylicious', 'crossplane', 'gimbal', 'submariner', 'sesame'].map((name, at) => ({
  name,
  folder: `/usr/lib/operators/${name}/demo`,
  objects: objects(at * 3 + 1),
  resources: [`${name}deployments`, `${name}configurations`],
}));
const ready: ReadyFields = {
  kubeconfig: '/home/user/.capstan/kubeconfig',
  clusters: ['capstan', 'broker', 'east', 'west', 'remote'].map((name) => ({ name, url: 'https://127.0.0.1:6443' })),
  console: 'http://127.0.0.1:39041/',
  consoleCodeFile: '/home/user/.capstan/console-code',
  demo,
  request: { curl: "curl -H 'host: store.test' http://127.64.0.12:8080/" },
};
const options = {
  consoleCode: 'AAAAAAAAAAAAAAAAAAAAAA',
  settings: { data: '/home/user/.capstan', unknownImages: 'simulate' },
  env: {},
} as const;

test('the ready screen fits 80 columns and 20 lines, with every part of it', () => {
  for (const more of [{}, { detached: { pid: 12_345, log: '/home/user/.capstan/up.log' } }]) {
    const text = readyText(ready, { ...options, ...more });
    // The tutorials are where this checkout is.
    const lines = text
      .trimEnd()
      .split('\n')
      .filter((line) => !line.includes('tutorials:'));
    assert.ok(lines.length <= 20, text);
    for (const line of lines) assert.ok(line.length <= 80, line);
    assert.match(text, /^Capstan is ready\.\n {2}capstan {2}https:/);
    assert.match(text, /\n {2}other contexts: broker, east, west, remote\n/);
    for (const { name } of demo) assert.match(text, new RegExp(`\n {2}${name} +HTTPProxy default/route-number-0`));
    assert.match(text, /\n {2}console: http:\/\/127\.0\.0\.1:39041\/#code=A{22}\n/);
    assert.match(text, /\nA request to try:\n {2}curl -H 'host: store\.test' http:\/\/127\.64\.0\.12:8080\/\n/);
    assert.match(text, /\n {2}kubectl get kroxyliciousdeployments,\S+ -A\n/);
    assert.match(text, /capstan status\n {2}.*capstan tree httpproxy\/route-number-0 -n default\n/);
  }
});

test('a demonstration without a real data path says so in one line', () => {
  const text = readyText(
    { ...ready, request: { problem: 'Envoy is simulated; capstan setup envoy fetches it' } },
    options,
  );
  assert.match(text, /\nNo request: Envoy is simulated; capstan setup envoy fetches it\n/);
});

test('the first request is shown when it was answered, and not for simulated pods', async (t) => {
  const server = createServer((request, answer) => {
    answer.writeHead(request.headers.host === 'store.test' ? 200 : 404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const { client } = await createTestCluster({ clock: systemClock, random: createRandom(1), operators: [] });
  const asked = {
    name: 'Envoy',
    namespace: 'default',
    pods: 'app=edge',
    port,
    host: 'store.test',
    path: '/',
    remedy: 'get it',
  };
  const { io } = testIo({ files: { '/demo/request.txt': JSON.stringify(asked) } });
  const { signal } = new AbortController();
  const ask = (folder: string) => firstRequest({ folder, client, clock: systemClock, io, signal });
  assert.equal(await ask('/none'), undefined);
  const pod = (name: string, annotations: Record<string, string>) =>
    client.create(Pod, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { namespace: 'default', name, labels: { app: 'edge' }, annotations },
      spec: { containers: [{ name: 'envoy', image: 'envoy' }] },
    });
  const waiting = ask('/demo');
  await pod('real', {});
  const status = { podIP: '127.0.0.1', podIPs: [{ ip: '127.0.0.1' }] };
  await client.patch(Pod, { namespace: 'default', name: 'real' }, 'merge', { status }, { subresource: 'status' });
  assert.deepEqual(await waiting, { curl: `curl -H 'host: store.test' http://127.0.0.1:${port}/` });
  await pod('simulated', { 'capstan.dev/simulated': 'true' });
  assert.deepEqual(await ask('/demo'), { problem: 'Envoy is simulated; get it' });
});
