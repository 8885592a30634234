import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { Deployment, type KindOf, Lease, silentLogger, sleep, systemClock } from '@capstan/kube';
import type { ManagerEvent } from '@capstan/reconcile';
import { createRandom, createTestCluster } from '@capstan/testing';
import { main } from './manager.ts';
import { Website } from './website-operator.ts';

const ref = { namespace: 'default', name: 'home' };
const lease = { namespace: 'capstan-system', name: 'capstan-website' };

describe('the example of a program with a manager', () => {
  test('has about thirty lines', () => {
    const lines = readFileSync(new URL('manager.ts', import.meta.url), 'utf8')
      .trimEnd()
      .split('\n');
    assert.ok(lines.length <= 32, `it has ${lines.length}`);
  });

  test('installs its CRD, writes under its Lease, answers probes, and gives the Lease back', async (t) => {
    const cluster = await createTestCluster({ clock: systemClock, random: createRandom(1) });
    const stopping = new AbortController();
    t.after(() => stopping.abort());
    const events: ManagerEvent[] = [];
    const started = Promise.withResolvers<ManagerEvent & { type: 'started' }>();
    const ready = Promise.withResolvers<void>();
    const ended = main(stopping.signal, {
      connection: cluster.transport(),
      logger: silentLogger,
      identity: 'example',
      healthAddress: '127.0.0.1:0',
      metricsAddress: '127.0.0.1:0',
      onEvent(event) {
        events.push(event);
        if (event.type === 'started') started.resolve(event);
        if (event.type === 'ready') ready.resolve();
      },
    });
    await Promise.race([ready.promise, ended]);
    const { health, metrics } = await started.promise;
    const home = {
      apiVersion: Website.apiVersion,
      kind: Website.kind,
      metadata: ref,
      spec: { pages: { 'index.html': 'hello' } },
    };
    await cluster.client.create(Website, home as unknown as KindOf<typeof Website>);
    const deadline = systemClock.now() + 10_000;
    while ((await cluster.client.find(Deployment, ref)) === undefined) {
      assert.ok(systemClock.now() < deadline, 'the Deployment is not created');
      await sleep(systemClock, 5);
    }
    assert.equal((await cluster.client.get(Lease, lease)).spec?.holderIdentity, 'example');
    const readiness = await fetch(`http://${health}/readyz?verbose`);
    assert.match(await readiness.text(), /\[\+\]lease-website ok: this instance writes/);
    assert.match(await (await fetch(`http://${metrics}/metrics`)).text(), /^leader_election_master_status\{.*\} 1$/m);
    stopping.abort();
    await ended;
    assert.deepEqual(
      events.map(({ type }) => type),
      ['started', 'ready', 'stopped'],
    );
    assert.equal((await cluster.client.get(Lease, lease)).spec?.holderIdentity, '');
    await cluster.close();
  });
});
