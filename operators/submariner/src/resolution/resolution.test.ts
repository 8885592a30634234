import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { DriverName } from '../policy/driver-names.ts';
import { readPolicy } from '../policy/read-policy.ts';
import { type ClusterFacts, clusterFacts } from './cluster-labels.ts';
import type { Offer } from './decision.ts';
import { createPairMatrix } from './pair-matrix.ts';
import { rankRules } from './ranking.ts';
import { decideFor, explainPair } from './resolver.ts';

const cluster = (id: string, labels: Record<string, string> = {}): ClusterFacts =>
  clusterFacts({ metadata: { name: id, labels }, spec: { cluster_id: id } });
const policy = (name: string, spec: unknown, createdAt?: string) => {
  const annotations: Record<string, string> =
    createdAt === undefined ? {} : { 'submariner.io/policy-created-at': createdAt };
  const read = readPolicy({ metadata: { name, annotations }, spec });
  assert.deepEqual(read.problems, []);
  return read;
};
const offers = (...names: DriverName[]): Offer => ({
  backend: names[0],
  drivers: new Map(names.map((name) => [name, {}])),
});
const anything = { offerOf: () => undefined };

describe('the picture of the design', () => {
  const clusters = [
    cluster('cluster1', { location: 'cloud' }),
    cluster('cluster2', { location: 'on-premise' }),
    cluster('cluster3', { location: 'cloud' }),
    cluster('cluster4', { location: 'cloud' }),
  ];
  const ranking = rankRules([
    policy('default', { cableDriver: { name: 'vxlan' } }),
    policy('on-prem-to-cloud', {
      leftClusterSelector: { location: 'on-premise' },
      rightClusterSelector: { location: 'cloud' },
      cableDriver: { name: 'ipsec' },
    }),
  ]);

  test('connects the cluster on premise by IPsec and the others by VXLAN, seen from both ends', () => {
    for (const local of clusters) {
      for (const [remote, { driver, policy: by }] of decideFor(local, clusters, { ranking, ...anything })) {
        const isPremise = local.id === 'cluster2' || remote === 'cluster2';
        assert.equal(driver, isPremise ? 'ipsec' : 'vxlan', `${local.id} and ${remote}`);
        assert.equal(by, isPremise ? 'on-prem-to-cloud' : 'default');
      }
    }
  });

  test('counts the pairs that each policy decides', () => {
    assert.deepEqual([...createPairMatrix(ranking, clusters).counts()], [3, 3]);
  });
});

describe('of several policies', () => {
  const [a, b] = [cluster('a', { env: 'x', tier: 'y' }), cluster('b', { env: 'x' })];
  const winner = (...policies: ReturnType<typeof policy>[]) => explainPair(a, b, policies, anything);

  test('the one with the higher priority wins', () => {
    const low = policy('low', { leftClusterSelector: { env: 'x', tier: 'y' }, name: 'vxlan' });
    const high = policy('high', { name: 'ipsec', priority: 1 });
    assert.equal(winner(low, high).policy, 'high');
  });

  test('the more specific one wins, and a named cluster beats every group', () => {
    const any = policy('a-any', { name: 'vxlan' });
    const one = policy('b-one', { leftClusterSelector: { env: 'x' }, name: 'ipsec' });
    const named = policy('c-named', { leftClusterSelector: { 'submariner.io/cluster-id': 'b' }, name: 'wireguard' });
    assert.equal(winner(any, one).policy, 'b-one');
    assert.equal(winner(any, one, named).policy, 'c-named');
  });

  test('the older one wins a tie, which is flagged with the names of both', () => {
    const young = policy('a', { leftClusterSelector: { env: 'x' }, name: 'vxlan' }, '2026-01-02T00:00:00.000Z');
    const old = policy('b', { leftClusterSelector: { env: 'x' }, name: 'ipsec' }, '2026-01-01T00:00:00.000Z');
    const undated = policy('0', { leftClusterSelector: { env: 'x' }, name: 'ipsec' });
    const found = winner(young, old, undated);
    assert.deepEqual([found.policy, found.driver, found.ambiguous], ['b', 'ipsec', true]);
    assert.match(found.message, /; "a" of the same rank contradicts it/);
  });

  test('a tie with the same outcome is no ambiguity', () => {
    const spec = { leftClusterSelector: { env: 'x' }, name: 'ipsec' };
    assert.equal(winner(policy('a', spec), policy('b', spec)).ambiguous, false);
  });

  test('none connects an ambiguous pair when conflicts are refused', () => {
    const policies = [policy('a', { name: 'vxlan' }), policy('b', { name: 'ipsec' })];
    const found = explainPair(a, b, policies, { ...anything, onConflict: 'refuse' });
    assert.deepEqual([found.driver, found.reason], [undefined, 'Ambiguous']);
    assert.match(found.message, /"a" \(vxlan\) and "b" \(ipsec\) contradict/);
  });

  test('a cluster that is excluded by a negation is one with that value only', () => {
    const rule = policy('p', {
      leftClusterSelector: { tier: '!y' },
      rightClusterSelector: { tier: '!y' },
      name: 'vxlan',
    });
    assert.equal(explainPair(b, cluster('c'), [rule], anything).policy, 'p');
    assert.equal(explainPair(a, cluster('c'), [rule], anything).policy, '(fallback)');
  });
});

describe('a driver', () => {
  const [a, b] = [cluster('a'), cluster('b')];
  const explain = (spec: object, one: Offer, other: Offer, fallback: DriverName = 'vxlan') =>
    explainPair(a, b, [policy('default', { name: fallback }), policy('p', spec)], {
      offerOf: (id) => (id === 'a' ? one : other),
    });

  test('a driver that one end lacks is an error that names it, never another driver', () => {
    const found = explain({ name: 'wireguard' }, offers('ipsec', 'vxlan'), offers('wireguard', 'vxlan'));
    assert.deepEqual([found.driver, found.reason], [undefined, 'DriverNotAvailable']);
    assert.match(
      found.message,
      /"wireguard" required by policy "p" is not available in cluster "a" \(available: ipsec, vxlan\)/,
    );
  });

  test('may be replaced by the default, but not by one without encryption', () => {
    const spec = { name: 'wireguard', onUnavailable: 'default' };
    const [one, other] = [offers('ipsec', 'vxlan'), offers('wireguard', 'ipsec', 'vxlan')];
    assert.equal(explain(spec, one, other, 'vxlan').driver, undefined);
    assert.equal(explain(spec, one, other, 'ipsec').driver, 'ipsec');
  });

  test('needs the same shared options on both ends, unless the policy has them', () => {
    const withId = (id: string): Offer => ({ backend: 'vxlan', drivers: new Map([['vxlan', { vxlanID: id }]]) });
    const found = explain({ name: 'vxlan' }, withId('100'), withId('200'));
    assert.equal(found.reason, 'OptionsDiffer');
    assert.match(found.message, /vxlanID of vxlan differs: "100" in cluster "a", "200" in cluster "b"/);
    const settled = explain({ name: 'vxlan', options: { data: { vxlanID: '300' } } }, withId('100'), withId('200'));
    assert.deepEqual([settled.driver, settled.options], ['vxlan', { vxlanID: '300' }]);
    assert.deepEqual(explain({ name: 'vxlan' }, withId('7'), withId('7')).options, { vxlanID: '7' });
  });

  test('a driver without any policy is one that both ends have', () => {
    const offerOf = (id: string) => (id === 'a' ? offers('vxlan', 'ipsec') : offers('ipsec'));
    const found = explainPair(a, b, [], { offerOf });
    assert.deepEqual([found.driver, found.policy, found.reason], ['ipsec', '(fallback)', 'Fallback']);
  });
});

describe('a pair without a policy', () => {
  const [a, b] = [cluster('a'), cluster('b')];
  const explain = (one: Offer | undefined, other: Offer | undefined, requiresEncryption = false) =>
    explainPair(a, b, [], { offerOf: (id) => (id === 'a' ? one : other), requiresEncryption });

  test('is connected with the driver of the smaller id, if both have it', () => {
    assert.equal(explain(offers('wireguard', 'ipsec'), offers('ipsec', 'wireguard')).driver, 'wireguard');
    assert.equal(explain(offers('wireguard'), undefined).driver, 'wireguard');
    assert.deepEqual(explain(offers('wireguard'), offers('ipsec')).reason, 'DriverNotAvailable');
  });

  test('is not connected without encryption where the broker asks for it', () => {
    const found = explain(offers('vxlan'), offers('vxlan'), true);
    assert.deepEqual([found.driver, found.reason], [undefined, 'NotEncrypted']);
    assert.match(found.message, /which the broker asks for \(minimumSecurity\), and vxlan does not encrypt/);
    assert.equal(explain(offers('ipsec'), offers('ipsec'), true).driver, 'ipsec');
    assert.equal(explain(offers('vxlan'), offers('vxlan')).driver, 'vxlan');
  });
});

describe('a driver that is not available', () => {
  const [a, b] = [cluster('a'), cluster('b')];
  const explain = (onUnavailable: object, one: Offer, other: Offer) =>
    explainPair(a, b, [policy('default', { name: 'ipsec' }), policy('p', { name: 'wireguard', ...onUnavailable })], {
      offerOf: (id) => (id === 'a' ? one : other),
    });

  test('is replaced by the default policy only if the policy allows it and both ends have that driver', () => {
    const allowed = { onUnavailable: 'default' };
    const has = offers('wireguard', 'ipsec');
    assert.equal(explain(allowed, offers('ipsec'), has).driver, 'ipsec');
    assert.match(explain(allowed, offers('ipsec'), has).message, /until then the policy "default" uses ipsec/);
    assert.equal(explain({}, offers('ipsec'), has).driver, undefined);
    assert.equal(explain(allowed, offers('vxlan'), has).driver, undefined);
    assert.equal(explain(allowed, offers('ipsec'), offers('wireguard')).driver, undefined);
  });

  test('is reported with the drivers that there are, or with none', () => {
    const none: Offer = { backend: undefined, drivers: new Map() };
    assert.match(explain({}, none, offers('wireguard')).message, /not available in cluster "a" \(available: none\)/);
    const found = explain({}, offers('wireguard'), offers('vxlan', 'ipsec'));
    assert.match(found.message, /not available in cluster "b" \(available: ipsec, vxlan\)/);
  });
});

describe('properties', () => {
  const label = fc.constantFrom('a', 'b', 'c');
  const labels = fc.dictionary(fc.constantFrom('x', 'y'), label, { maxKeys: 2 });
  const selector = fc.dictionary(
    fc.constantFrom('x', 'y'),
    fc.oneof(
      label,
      label.map((v) => `!${v}`),
    ),
    { maxKeys: 2 },
  );
  const rule = fc.record({
    leftClusterSelector: selector,
    rightClusterSelector: selector,
    name: fc.constantFrom('vxlan', 'ipsec', 'wireguard'),
    priority: fc.constantFrom(0, 1),
  });
  const world = fc.record({
    clusters: fc.array(labels, { minLength: 2, maxLength: 6 }),
    policies: fc.array(fc.array(rule, { minLength: 1, maxLength: 2 }), { maxLength: 6 }),
  });
  const build = ({ clusters, policies }: { clusters: Record<string, string>[]; policies: object[][] }) => ({
    clusters: clusters.map((each, index) => cluster(`c${index}`, each)),
    policies: policies.map((spec, index) =>
      policy(`p${index}`, spec, index % 2 ? '2026-01-01T00:00:00.000Z' : undefined),
    ),
  });

  test('both ends decide the same, in whatever order things arrived', () => {
    fc.assert(
      fc.property(world, (given) => {
        const { clusters, policies } = build(given);
        const here = rankRules(policies);
        const there = rankRules(policies.toReversed());
        for (const one of clusters) {
          for (const [id, decision] of decideFor(one, clusters, { ranking: here, ...anything })) {
            const other = clusters.find((each) => each.id === id) ?? one;
            const seen = decideFor(other, clusters.toReversed(), { ranking: there, ...anything }).get(one.id);
            assert.deepEqual(decision, seen);
          }
        }
      }),
    );
  });

  test('the matrix says the same as the decisions, also after labels change and clusters go', () => {
    fc.assert(
      fc.property(world, fc.array(fc.tuple(fc.nat(5), fc.option(labels)), { maxLength: 8 }), (given, changes) => {
        const { clusters, policies } = build(given);
        const ranking = rankRules(policies);
        const matrix = createPairMatrix(ranking, clusters);
        const now = new Map(clusters.map((each) => [each.id, each]));
        for (const [index, changed] of changes) {
          const id = `c${index}`;
          if (changed === null) {
            now.delete(id);
            matrix.remove(id);
          } else {
            now.set(id, cluster(id, changed));
            matrix.put(cluster(id, changed));
          }
        }
        let pairs = 0;
        for (const one of now.values()) {
          for (const [id, decision] of decideFor(one, now.values(), { ranking, ...anything })) {
            const found = matrix.ruleOf(one.id, id);
            assert.ok(found);
            assert.equal(found.index < 0 ? '(fallback)' : ranking.rules[found.index]?.label, decision.policy);
            assert.equal(found.ambiguous, decision.ambiguous);
            pairs++;
          }
        }
        assert.equal(
          matrix.counts().reduce((sum, each) => sum + each, 0),
          pairs / 2,
        );
      }),
    );
  });
});
