import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatObjectId, type ObjectGraph, type ObjectId } from '@capstan/reconcile';
import { directEdges, neighbourhood } from './neighbourhood.ts';
import type { Row } from './rows.ts';

/** Objects `K name`; edges `a>b`: a reads b. */
function graphOf(edges: readonly string[]): Pick<ObjectGraph, 'readsOf' | 'readersOf'> {
  const pairs = edges.map((edge) => edge.split('>') as [string, string]);
  const at = (name: string) => ({ world: '', kind: 'K', key: name });
  return {
    readsOf: ({ key }) =>
      pairs
        .filter(([from]) => from === key)
        .map(([, to]) => ({
          ...at(to),
          presence: to.startsWith('absent') ? 'absent' : 'known',
          projections: [''],
          via: [],
          isListed: false,
        })),
    readersOf: ({ key }) =>
      pairs.filter(([, to]) => to === key).map(([from]) => ({ ...at(from), by: 'k', isSink: false, via: [] })),
  };
}

const start: ObjectId = { world: '', kind: 'K', key: 'start' };
const both = { directions: ['reads', 'readers'], depth: 3, budget: 200 } as const;

describe('the edges of a neighbourhood', () => {
  const node = (kind: string, key: string) => ({ id: `${kind} ${key}`, kind, key });
  const proxy = node('KafkaProxy.kroxylicious.io', 'default/p');
  const cluster = node('VirtualKafkaCluster.kroxylicious.io', 'default/c');
  const secret = node('Secret', 'default/s');
  const edge = (from: typeof proxy, to: typeof proxy, ...via: string[]) => ({ from: from.id, to: to.id, via });

  it('an edge that another object explains is left out', () => {
    const far = edge(proxy, secret, 'VirtualKafkaCluster(default/c)');
    const near = [edge(proxy, cluster), edge(cluster, secret, 'template(default/c)')];
    assert.deepEqual(directEdges([proxy, cluster, secret], [far, ...near]), near);
  });

  it('objects that are computed together are drawn by the one that they are computed with', () => {
    const root = node('HTTPProxy', 'default/root');
    const children = Array.from({ length: 20 }, (_, at) => node('HTTPProxy', `default/child-${at}`));
    const services = children.map((_, at) => node('Service', `default/service-${at}`));
    const own = children.flatMap((child, at) => [
      edge(child, root),
      edge(root, child, 'root(default/root)'),
      edge(child, services[at] ?? root),
    ]);
    const shared = children.flatMap((child) => services.map((service) => edge(child, service, 'root(default/root)')));
    assert.deepEqual(directEdges([root, ...children, ...services], [...own, ...shared]), own);
  });

  it('an object without another edge keeps its edge', () => {
    const far = edge(proxy, secret, 'VirtualKafkaCluster(default/c)');
    assert.deepEqual(directEdges([proxy, cluster, secret], [far]), [far]);
  });
});

describe('the neighbourhood of an object', () => {
  it('has both directions with their distances, and absent objects', () => {
    const report = neighbourhood(graphOf(['start>a', 'a>absent', 'r>start']), start, new Map(), both);
    assert.deepEqual(
      report.nodes.map(({ key, distance, state }) => `${key} ${distance} ${state}`),
      ['start 0 absent', 'a -1 none', 'absent -2 absent', 'r 1 none'],
    );
    assert.deepEqual(
      report.edges.map(({ from, to }) => `${from}>${to}`),
      ['K start>K a', 'K a>K absent', 'K r>K start'],
    );
    assert.deepEqual(report.left, []);
  });

  it('ends in a circle', () => {
    const report = neighbourhood(graphOf(['start>a', 'a>start', 'a>a']), start, new Map(), both);
    assert.deepEqual(
      report.nodes.map(({ key }) => key),
      ['start', 'a'],
    );
  });

  it('spends its budget worst first, at most a quarter on one parent, and counts the rest', () => {
    const names = Array.from({ length: 1000 }, (_, index) => `r${String(index).padStart(4, '0')}`);
    const rows = new Map<string, Pick<Row, 'state'>>(
      names.map((key, index) => [formatObjectId({ ...start, key }), { state: index >= 990 ? 'broken' : 'ready' }]),
    );
    const report = neighbourhood(graphOf(names.map((name) => `${name}>start`)), start, rows, { ...both, budget: 100 });
    assert.equal(report.nodes.length, 1 + 25);
    assert.deepEqual(
      report.nodes.slice(1, 11).map(({ state }) => state),
      Array.from({ length: 10 }, () => 'broken'),
    );
    assert.deepEqual(report.left, [{ of: 'K start', direction: 'readers', count: 975, worst: 'ready' }]);
  });

  it('gives one direction the part of the budget that the other one leaves', () => {
    const wide = Array.from({ length: 8 }, (_, parent) => [
      `start>p${parent}`,
      ...Array.from({ length: 30 }, (_child, child) => `p${parent}>c${parent}-${child}`),
    ]).flat();
    const report = neighbourhood(graphOf([...wide, 'r>start']), start, new Map(), { ...both, budget: 100 });
    assert.equal(report.nodes.length, 100);
    assert.equal(report.nodes.filter(({ distance }) => distance > 0).length, 1);
  });

  it('never exceeds its budget', () => {
    const edges = Array.from({ length: 30 }, (_, parent) => [
      `start>p${parent}`,
      ...Array.from({ length: 30 }, (_child, child) => `p${parent}>c${parent}-${child}`),
    ]).flat();
    for (const budget of [1, 2, 10, 200]) {
      const report = neighbourhood(graphOf(edges), start, new Map(), { ...both, directions: ['reads'], budget });
      assert.ok(report.nodes.length <= budget, `${report.nodes.length} of ${budget}`);
    }
  });
});
