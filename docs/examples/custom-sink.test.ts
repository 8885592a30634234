import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { describe, test } from 'node:test';
import { findCondition, type KindOf } from '@capstan/kube';
import { alwaysLeader, preview } from '@capstan/reconcile';
import {
  createRandom,
  createStage,
  createTestCluster,
  createVirtualClock,
  objectOf,
  recordingTransport,
  type Stage,
  startIncarnation,
} from '@capstan/testing';
import { Config, createConfigOperator } from './custom-sink.ts';
import { eventually } from './eventually.test-support.ts';

type Config = KindOf<typeof Config>;
const ref = { namespace: 'default', name: 'web' };
const web = objectOf<Config>(Config, { metadata: ref, spec: { settings: { colour: 'red' } } });

interface Received {
  readonly key: string;
  readonly version?: string;
  readonly settings: Record<string, string> | null;
}

/** A configured program: it takes every version, or refuses those with the colour that it does not support. */
async function client(port: number, { refuses }: { refuses?: string } = {}) {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const received: Received[] = [];
  createInterface({ input: socket }).on('line', (line) => {
    const message = JSON.parse(line) as Received;
    received.push(message);
    const isRefused = refuses !== undefined && message.settings?.['colour'] === refuses;
    const answer = { key: message.key, version: message.version, ...(isRefused && { error: `no ${refuses}` }) };
    socket.write(`${JSON.stringify(answer)}\n`);
  });
  const close = async () => {
    if (socket.closed) return;
    socket.destroy();
    await once(socket, 'close');
  };
  return { received, colours: () => received.map(({ settings }) => settings?.['colour'] ?? null), socket, close };
}

async function staged(check: (stage: Stage, port: number) => Promise<void>): Promise<void> {
  let port = 0;
  const stage = await createStage({
    operators: [createConfigOperator({ port: 0, onListening: (found) => (port = found) })],
    given: async (admin) => void (await admin.create(Config, web)),
  });
  try {
    await eventually(stage, async () => port !== 0, 'it listens');
    await check(stage, port);
  } finally {
    await stage.end();
  }
}

const appliedOf = async ({ client: admin }: Pick<Stage, 'client'>) =>
  findCondition((await admin.get(Config, ref)).status?.conditions, 'Applied');
const untilReason = (stage: Pick<Stage, 'client' | 'settle'>, reason: string, message: RegExp) =>
  eventually(
    stage,
    async () => {
      const condition = await appliedOf(stage);
      return condition?.reason === reason && message.test(condition.message);
    },
    `${reason} ${message}`,
  );
const paint = async (stage: Stage, colour: string) =>
  void (await stage.client.patch(Config, ref, 'merge', { spec: { settings: { colour } } }));

describe('the example of a sink', () => {
  test('has at most 120 lines', () => {
    const text = readFileSync(new URL('custom-sink.ts', import.meta.url), 'utf8');
    assert.ok(text.trimEnd().split('\n').length <= 120);
  });

  test('sends what is there to a client that connects, then what changes, and shows what was acknowledged', () =>
    staged(async (stage, port) => {
      await untilReason(stage, 'Pushing', /^0 of 0/);
      const one = await client(port);
      await untilReason(stage, 'Applied', /^1 of 1/);
      const two = await client(port);
      await untilReason(stage, 'Applied', /^2 of 2/);
      await paint(stage, 'blue');
      await untilReason(stage, 'Applied', /^2 of 2/);
      await eventually(stage, async () => two.received.length === 2, 'both versions arrive');
      assert.deepEqual(
        [one.colours(), two.colours()],
        [
          ['red', 'blue'],
          ['red', 'blue'],
        ],
      );
      await two.close();
      await untilReason(stage, 'Applied', /^1 of 1/);
      await stage.client.delete(Config, ref);
      await eventually(stage, async () => one.received.length === 3, 'the removal arrives');
      assert.equal(one.received.at(-1)?.settings, null);
      await one.close();
    }));

  test('shows what a client refuses, until it is corrected', () =>
    staged(async (stage, port) => {
      const one = await client(port, { refuses: 'pink' });
      await untilReason(stage, 'Applied', /./);
      await paint(stage, 'pink');
      await untilReason(stage, 'Refused', /no pink/);
      await paint(stage, 'green');
      await untilReason(stage, 'Applied', /^1 of 1/);
      await one.close();
    }));

  test('drops a client that sends what is no JSON, and goes on', () =>
    staged(async (stage, port) => {
      const bad = await client(port);
      bad.socket.write('hello\n');
      await once(bad.socket, 'close');
      const good = await client(port);
      await untilReason(stage, 'Applied', /^1 of 1/);
      await good.close();
    }));

  test('shows that a port is taken, and serves when it is free', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const stage = await createStage({
      operators: [createConfigOperator({ port })],
      given: async (admin) => void (await admin.create(Config, web)),
    });
    try {
      await untilReason(stage, 'NotServed', /EADDRINUSE/);
      other.close();
      await once(other, 'close');
      await stage.clock.advance(60_000);
      await untilReason(stage, 'Pushing', /^0 of 0/);
    } finally {
      await stage.end();
    }
  });

  test('a preview shows which clients would reload, and sends nothing', () =>
    staged(async (stage, port) => {
      const one = await client(port);
      await untilReason(stage, 'Applied', /./);
      const changed = { ...(await stage.client.get(Config, ref)), spec: { settings: { colour: 'blue' } } };
      const { deliveries } = await preview(stage.program.runtime, [{ kind: Config, object: changed }]);
      assert.deepEqual(deliveries, [
        { by: 'config-push.push', key: 'default/web', change: 'changed', disturbs: 'clients reload' },
      ]);
      assert.deepEqual(one.colours(), ['red']);
      await one.close();
    }));

  test('a replica that does not lead serves too, and writes nothing', async () => {
    const clock = createVirtualClock();
    const random = createRandom(1);
    const ports: number[] = [];
    const operators = [0, 1].map((at) => createConfigOperator({ port: 0, onListening: (port) => (ports[at] = port) }));
    const cluster = await createTestCluster({ clock, random, operators: operators.slice(0, 1) });
    await cluster.client.create(Config, web);
    const transports = operators.map(() => recordingTransport(cluster.transport()));
    const replicas = operators.map((operator, at) =>
      startIncarnation({
        operators: [operator],
        transport: transports[at] ?? cluster.transport(),
        clock,
        random,
        runtime: { leadership: () => ({ ...alwaysLeader, holds: at === 0 }) },
      }),
    );
    const stage = { client: cluster.client, settle: () => clock.advance(1_000) };
    try {
      await eventually(stage, async () => Object.keys(ports).length === 2, 'both listen');
      const clients = await Promise.all(ports.map((port) => client(port)));
      await eventually(stage, async () => clients.every(({ received }) => received.length === 1), 'both are sent it');
      await untilReason(stage, 'Applied', /^1 of 1/);
      assert.ok((transports[0]?.writes.length ?? 0) > 0);
      assert.deepEqual(transports[1]?.writes, []);
      await Promise.all(clients.map(({ close }) => close()));
    } finally {
      for (const replica of replicas) await replica.stop();
      await cluster.close();
    }
  });
});
