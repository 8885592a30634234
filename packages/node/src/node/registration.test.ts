import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Client, Node, silentLogger } from '@capstan/kube';
import { createRandom, createTestCluster, createVirtualClock } from '@capstan/testing';
import { createToolkit } from '../controller/toolkit.ts';
import { thisMachine } from './machine.ts';
import { keepRegistered } from './registration.ts';

const NAME = 'local';
const MINUTE = 60_000;

test('a node that was silent is ready again as soon as it is heard, although others reported it as lost', async (t) => {
  const clock = createVirtualClock();
  const { client, close } = await createTestCluster({ clock, random: createRandom(1) });
  t.after(close);
  let isAway = false;
  const patch: Client['patch'] = (...args) =>
    isAway ? Promise.reject(new Error('the server is away')) : client.patch(...args);
  const stop = new AbortController();
  const tools = createToolkit({
    client: { ...client, patch },
    clock,
    random: createRandom(1),
    logger: silentLogger,
    manager: 'test',
  });
  const running = keepRegistered(
    tools,
    {
      name: NAME,
      hostIP: '127.0.0.1',
      machine: thisMachine(),
      labels: {},
      taints: [],
      maxPods: 10,
      version: '0',
    },
    stop.signal,
  );
  const readiness = async () =>
    (await client.get(Node, { name: NAME })).status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  await clock.advance(MINUTE);
  assert.equal(await readiness(), 'True');

  isAway = true;
  await clock.advance(MINUTE);
  const { status, ...node } = await client.get(Node, { name: NAME });
  const conditions =
    status?.conditions?.map((one) => (one.type === 'Ready' ? { ...one, status: 'Unknown' } : one)) ?? [];
  await client.update(Node, { ...node, status: { ...status, conditions } }, { subresource: 'status' });
  isAway = false;
  await clock.advance(10_000);
  assert.equal(await readiness(), 'True');
  stop.abort();
  await running;
});
