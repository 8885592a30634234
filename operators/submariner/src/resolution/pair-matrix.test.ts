import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readPolicy } from '../policy/read-policy.ts';
import { clusterFacts } from './cluster-labels.ts';
import { createPairMatrix } from './pair-matrix.ts';
import { rankRules } from './ranking.ts';
import { decideFor, explainPair } from './resolver.ts';

const cluster = (id: string, labels: Record<string, string> = {}) =>
  clusterFacts({ metadata: { name: id, labels }, spec: { cluster_id: id } });
const policy = (name: string, spec: object, createdAt?: string) =>
  readPolicy({
    metadata: { name, ...(createdAt && { annotations: { 'submariner.io/policy-created-at': createdAt } }) },
    spec,
  });

describe('the matrix of pairs', () => {
  const ranking = rankRules([
    policy('x', { leftClusterSelector: { site: 'x' }, name: 'vxlan' }),
    policy('y', { leftClusterSelector: { site: 'y' }, name: 'ipsec' }),
  ]);

  test('lists exactly the pairs for which policies contradict each other, also after a cluster went', () => {
    const matrix = createPairMatrix(ranking, [
      cluster('a', { site: 'x' }),
      cluster('b', { site: 'y' }),
      cluster('c', { site: 'x' }),
      cluster('d'),
    ]);
    assert.deepEqual(
      [...matrix.ambiguousPairs()].map((pair) => pair.toSorted()),
      [
        ['a', 'b'],
        ['b', 'c'],
      ],
    );
    matrix.remove('a');
    assert.deepEqual(
      [...matrix.ambiguousPairs()].map((pair) => pair.toSorted()),
      [['b', 'c']],
    );
    assert.equal(matrix.clusters, 3);
  });

  test('reports a change exactly if a pair is decided by another rule', () => {
    const matrix = createPairMatrix(ranking, [cluster('a', { site: 'x' }), cluster('d')]);
    assert.equal(matrix.put(cluster('a', { site: 'x' })), false);
    assert.equal(matrix.put(cluster('a', { site: 'x', note: 'new' })), false);
    assert.equal(matrix.put(cluster('a', { site: 'y' })), true);
    assert.equal(matrix.put(cluster('a')), true);
    // A pair that a rule decides already keeps it where another cluster takes the same label.
    assert.equal(matrix.put(cluster('a', { site: 'x' })), true);
    assert.equal(matrix.put(cluster('d', { site: 'x' })), false);
  });

  test('counts pairs in a copy that later changes leave alone', () => {
    const matrix = createPairMatrix(ranking, [cluster('a', { site: 'x' }), cluster('d')]);
    const before = matrix.counts();
    matrix.put(cluster('e'));
    assert.deepEqual([...before], [1, 0, 0]);
    assert.deepEqual([...matrix.counts()], [2, 0, 1]);
  });

  test('agrees with the decisions of each cluster beyond the pairs that it has room for at first', () => {
    const sites = ['x', 'y', 'z'];
    const clusters = Array.from({ length: 70 }, (_, index) => cluster(`c${index}`, { site: sites[index % 3] ?? '' }));
    const matrix = createPairMatrix(ranking, clusters);
    for (const one of clusters)
      for (const [other, { policy: by, ambiguous }] of decideFor(one, clusters, {
        ranking,
        offerOf: () => undefined,
      })) {
        const found = matrix.ruleOf(one.id, other);
        const label = ranking.rules[found?.index ?? -1]?.label ?? '(fallback)';
        assert.deepEqual([label, found?.ambiguous], [by, ambiguous], `${one.id} and ${other}`);
      }
    assert.equal(
      matrix.counts().reduce((sum, each) => sum + each, 0),
      (70 * 69) / 2,
    );
  });
});

describe('the order of rules', () => {
  test('is by priority, specificity, age and name', () => {
    const x = { leftClusterSelector: { site: 'x' }, name: 'vxlan' };
    const given = [
      policy('undated', x),
      policy('older-b', x, '2026-01-01T00:00:00.000Z'),
      policy('older-a', x, '2026-01-01T00:00:00.000Z'),
      policy('newer', x, '2026-01-02T00:00:00.000Z'),
      policy('any', { name: 'vxlan' }),
      policy('first', { name: 'vxlan', priority: 1 }),
      policy('undated-too', x),
    ];
    const expected = ['first', 'older-a', 'older-b', 'newer', 'undated', 'undated-too', 'any'];
    for (const order of [given, given.toReversed()])
      assert.deepEqual(
        rankRules(order).rules.map(({ label }) => label),
        expected,
      );
  });

  test('counts a selector 100, an equality 10, another requirement 1 and the id of a cluster 1000', () => {
    const found = explainPair(
      cluster('a', { site: 'x' }),
      cluster('b', { site: 'x' }),
      [
        policy('any', { name: 'vxlan' }),
        policy('equal', { leftClusterSelector: { site: 'x' }, name: 'vxlan' }),
        policy('not', { rightClusterSelector: { site: '!y' }, name: 'vxlan' }),
        policy('both', { leftClusterSelector: { site: 'x' }, rightClusterSelector: { site: 'x' }, name: 'vxlan' }),
        policy('named', { leftClusterSelector: { 'submariner.io/cluster-id': 'a' }, name: 'vxlan' }),
      ],
      { offerOf: () => undefined },
    );
    assert.deepEqual(
      found.candidates.map(({ policy: name, specificity }) => [name, specificity]),
      [
        ['named', 1110],
        ['both', 220],
        ['equal', 110],
        ['not', 101],
        ['any', 0],
      ],
    );
    const any = found.candidates.at(-1);
    assert.deepEqual([any?.left, any?.right], ['*', '*']);
    assert.match(found.candidates.find(({ policy: name }) => name === 'equal')?.left ?? '', /site/);
  });
});
