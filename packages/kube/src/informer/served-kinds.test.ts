import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRandom, createVirtualClock } from '@capstan/testing';
import { createClient } from '../client/create-client.ts';
import type { ApiResponse, Transport } from '../client/transport.ts';
import { externalKind } from '../kind.ts';
import { silentLogger } from '../logger.ts';
import { createInformers } from './informers.ts';

const names = ['Alpha', 'Beta', 'Gamma', 'Delta'];
const kinds = names.map((kind) =>
  externalKind({
    group: `${kind.toLowerCase()}.io`,
    version: 'v1',
    kind,
    plural: `${kind.toLowerCase()}s`,
    scope: 'Namespaced',
  }),
);
const [alpha] = kinds;
assert.ok(alpha);

/** Creates a server with the kinds in `there`, all without objects. It records its requests without the queries. */
function prepare() {
  const clock = createVirtualClock();
  const there = new Set<string>();
  const asked: string[] = [];
  const scene = { clock, there, asked, groupsStatus: 200 };
  const answer = async (path: string): Promise<ApiResponse> => {
    asked.push(path);
    const groups = [...there].map((name) => ({ name: `${name}.io`, versions: [{ version: 'v1' }] }));
    if (path === '/apis') return { status: scene.groupsStatus, headers: {}, body: { kind: 'APIGroupList', groups } };
    const [, , group = '', , plural] = path.split('/');
    const name = group.slice(0, -3);
    const resources = [{ name: `${name}s`, kind: name, namespaced: true }];
    if (!there.has(name)) return { status: 404, headers: {}, body: { kind: 'Status', code: 404, reason: 'NotFound' } };
    if (plural === undefined) return { status: 200, headers: {}, body: { kind: 'APIResourceList', resources } };
    return { status: 200, headers: {}, body: { kind: 'List', metadata: { resourceVersion: '1' }, items: [] } };
  };
  const transport: Transport = {
    address: 'https://cluster.example',
    request: ({ path }) => answer(path),
    async watch({ path, signal }) {
      const { status, headers, body } = await answer(path);
      if (status !== 200) return { status, headers, body };
      return (async function* () {
        await new Promise((resolve) => signal?.addEventListener('abort', resolve));
        yield [];
      })();
    },
    async close() {},
  };
  const random = createRandom(7);
  const client = createClient({ transport, clock, random: random.fork('client'), logger: silentLogger });
  const informers = createInformers({ client, clock, random, logger: silentLogger, streaming: false });
  return Object.assign(scene, { informers });
}

describe('kinds that are not served', () => {
  it('kinds that are not served are looked for together, by one small request at a time', async () => {
    const { clock, asked, informers } = prepare();
    for (const kind of kinds) informers.for(kind);
    await clock.settle();
    assert.equal(asked.splice(0).length, kinds.length, 'each has asked once');
    await clock.advance(3_600_000);
    assert.deepEqual([...new Set(asked)], ['/apis']);
    assert.ok(asked.length >= 240 && asked.length <= 480, `${asked.length} requests in an hour`);
    assert.ok(informers.all().every((one) => one.state().phase === 'waiting' && one.state().reason === 'NotServed'));
    await informers.close();
    assert.equal(clock.pendingTimers, 0);
  });

  it('a kind is listed within 15 seconds after it appears, and no other kind is', async () => {
    const { clock, there, asked, informers } = prepare();
    const [first, ...others] = kinds.map((kind) => informers.for(kind).informer);
    await clock.advance(600_000);
    there.add('alpha');
    asked.length = 0;
    await clock.advance(15_000);
    assert.equal(first?.isSynced, true);
    assert.equal(first.state().reason, undefined);
    assert.ok(others.every((one) => !one.isSynced));
    assert.ok(!asked.some((path) => path.includes('beta')));
    await informers.close();
  });

  it('each kind is tried at the same pace if the server does not list its groups', async () => {
    const scene = prepare();
    const { clock, there, asked, informers } = scene;
    scene.groupsStatus = 403;
    const { informer } = informers.for(alpha);
    await clock.advance(60_000);
    const tries = asked.filter((path) => path.includes('alpha')).length;
    assert.ok(tries >= 4 && tries <= 9, `${tries} tries in a minute`);
    there.add('alpha');
    await clock.advance(15_000);
    assert.equal(informer.isSynced, true);
    await informers.close();
  });

  it('no request is sent if no kind is awaited', async () => {
    const { clock, asked, informers } = prepare();
    const users = kinds.map((kind) => informers.for(kind));
    await clock.advance(60_000);
    await Promise.all(users.map((user) => user.release()));
    assert.equal(clock.pendingTimers, 0);
    asked.length = 0;
    await clock.advance(60_000);
    assert.deepEqual(asked, []);
  });
});
