import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { Fragment, FragmentChunk, hexHash } from '../../envoy/index.ts';
import { sharedRoutes, VIRTUAL_HOST } from '../../routing/envoy/route-message.ts';
import type { Resource } from '../resource.ts';
import { Isolation, PART_MARKER, type RefusedParts } from './isolation.ts';

const parts = new Map<string, Fragment<typeof VIRTUAL_HOST>>();
/** The same host in the same version is the same part. */
function part(host: string, version: string): Fragment<typeof VIRTUAL_HOST> {
  const key = `${host} ${version}`;
  const known = parts.get(key) ?? new Fragment(VIRTUAL_HOST, { name: version, domains: [host] }, true);
  parts.set(key, known);
  return known;
}

function routes(hosts: Readonly<Record<string, string>>): Resource {
  const chunks = Object.entries(hosts).map(([host, version]) => new FragmentChunk([part(host, version)]));
  return sharedRoutes('ingress_http', chunks, hexHash(JSON.stringify(hosts)), []);
}

function hostsOf(resource: Resource | undefined): Record<string, string> {
  const all = resource?.composition?.chunks.flatMap(({ fragments }) => fragments.map(({ value }) => value)) ?? [];
  const found = all as unknown as readonly { readonly name: string; readonly domains: readonly string[] }[];
  return Object.fromEntries(found.map(({ name, domains }): [string, string] => [domains[0] ?? '', name]));
}

/** Reads the hosts in order, as Envoy does, and returns the message about the first bad one. */
function refusalOf(resource: Resource): string | undefined {
  for (const { fragments } of resource.composition?.chunks ?? [])
    for (const { value } of fragments as readonly Fragment<typeof VIRTUAL_HOST>[]) {
      if (value.name === PART_MARKER) return `Didn't find a registered implementation for '${PART_MARKER}'`;
      if (value.name === 'bad') return 'it is bad';
    }
  return undefined;
}

/** A client that refuses everything with a host in a bad version. */
function deliver(isolation: Isolation, has: Resource | undefined): { has: Resource | undefined; refusals: number } {
  let current = has;
  let refusals = 0;
  for (let sent = isolation.next(); sent.version('whole') !== current?.version('whole'); sent = isolation.next()) {
    if (Object.values(hostsOf(sent)).includes('bad')) {
      refusals += 1;
      assert.ok(isolation.refused(sent, 'it is bad'));
    } else {
      current = sent;
      isolation.accepted(sent);
    }
  }
  return { has: current, refusals };
}

describe('a composed resource of which a part is refused', () => {
  test('serves all other parts, and of that one what was accepted last', () => {
    const before = routes({ a: '1', b: '1', c: '1' });
    const isolation = new Isolation(routes({ a: '2', b: 'bad', c: '1', d: '1' }), before, new Map());
    const { has } = deliver(isolation, before);
    assert.deepEqual(hostsOf(has), { a: '2', b: '1', c: '1', d: '1' });
    assert.deepEqual(
      isolation.kept.map(({ name, message }) => [name, message]),
      [['b', 'it is bad']],
    );
  });

  test('takes the part back when it is changed, and forgets it when it is removed', () => {
    const before = routes({ a: '1', b: '1' });
    const isolation = new Isolation(routes({ a: '1', b: 'bad' }), before, new Map());
    const { has } = deliver(isolation, before);
    isolation.want(routes({ a: '1', b: '2' }));
    assert.deepEqual(hostsOf(deliver(isolation, has).has), { a: '1', b: '2' });
    assert.ok(isolation.isOver);
    isolation.want(routes({ a: '1' }));
    assert.deepEqual(hostsOf(isolation.next()), { a: '1' });
  });

  test('is found among thousands in few attempts, by a client that has nothing', () => {
    const hosts: Record<string, string> = Object.fromEntries(Array.from({ length: 4096 }, (_, at) => [`h${at}`, '1']));
    const isolation = new Isolation(routes({ ...hosts, h1234: 'bad' }), undefined, new Map());
    const { has, refusals } = deliver(isolation, undefined);
    assert.equal(Object.keys(hostsOf(has)).length, 4095);
    assert.ok(refusals < 40, `${refusals} refusals`);
  });

  test('is sent last and alone to another client, which keeps it when it accepts it', () => {
    const suspects: RefusedParts = new Map();
    const [before, wanted] = [routes({ a: '1', b: '1' }), routes({ a: '2', b: 'bad', c: '1' })];
    deliver(new Isolation(wanted, before, suspects), before);
    assert.equal(suspects.size, 1);
    const other = new Isolation(wanted, before, suspects);
    const innocent = other.next();
    assert.deepEqual(hostsOf(innocent), { a: '2', b: '1', c: '1' });
    other.accepted(innocent);
    assert.deepEqual(hostsOf(other.next()), { a: '2', b: 'bad', c: '1' });
    other.accepted(other.next());
    assert.deepEqual([other.isOver, other.kept, suspects.size], [true, [], 0]);
  });

  test('a client that came back loses nothing while its bad parts are looked for, and then those alone', () => {
    const hosts = fc.dictionary(fc.stringMatching(/^[a-z]$/), fc.constantFrom('1', '2', 'bad'), { minKeys: 1 });
    fc.assert(
      fc.property(hosts, hosts, (had, wanted) => {
        const isolation = new Isolation(routes(wanted), undefined, new Map(), false);
        let has: Record<string, string> = had;
        for (let sent = isolation.next(), attempts = 0; ; sent = isolation.next(), attempts += 1) {
          assert.ok(attempts < 300, 'the search ends');
          const message = refusalOf(sent);
          if (message === undefined) {
            has = hostsOf(sent);
            isolation.accepted(sent);
            break;
          }
          assert.deepEqual(has, had, 'it keeps all that it has');
          assert.ok(isolation.refused(sent, message));
        }
        const good = Object.entries(wanted).filter(([, version]) => version !== 'bad');
        assert.deepEqual(has, Object.fromEntries(good));
        assert.deepEqual(
          isolation.kept.map(({ name }) => name).toSorted(),
          Object.keys(wanted)
            .filter((name) => wanted[name] === 'bad')
            .toSorted(),
        );
      }),
    );
  });

  test('no part is blamed for what a client that came back refuses as a whole', () => {
    const isolation = new Isolation(routes({ a: '1', b: '1' }), undefined, new Map(), false);
    assert.ok(isolation.refused(isolation.next(), 'there is no memory'), 'a version with the marker follows');
    assert.equal(isolation.refused(isolation.next(), 'there is no memory'), false);
    assert.deepEqual(isolation.kept, []);
  });

  test('whatever changes: a client ends with every good part, and with no bad one', () => {
    const hosts = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), fc.constantFrom('1', '2', 'bad'));
    fc.assert(
      fc.property(fc.array(hosts, { minLength: 1, maxLength: 6 }), (steps) => {
        const isolation = new Isolation(routes(steps[0] ?? {}), undefined, new Map());
        let has: Resource | undefined;
        for (const step of steps) {
          const before = hostsOf(has);
          isolation.want(routes(step));
          has = deliver(isolation, has).has;
          const expected = Object.entries(step).flatMap(([host, version]) => {
            const shown = version === 'bad' ? before[host] : version;
            return shown === undefined ? [] : [[host, shown]];
          });
          assert.deepEqual(hostsOf(has), Object.fromEntries(expected));
        }
      }),
    );
  });
});
