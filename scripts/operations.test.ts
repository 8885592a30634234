import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { createRegistry, standardMetrics } from '@capstan/reconcile';
import { parseQuery } from './promql.ts';

const ROOT = new URL('../', import.meta.url).pathname;
const guide = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8');
const alerts = [...section('## Metrics and alerts').matchAll(/^\| [\w ]+ \| `([^`]+)`(?: for (\S+))? \|/gm)].map(
  ([, query = '', duration]) => ({ query, duration }),
);
const dashboard = JSON.parse(readFileSync(join(ROOT, 'docs/grafana-dashboard.json'), 'utf8')) as {
  title: string;
  panels: { title: string; type: string; gridPos: object; targets: { expr: string }[] }[];
};
const panels = dashboard.panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ title, expr })));

describe('alerts and dashboard', () => {
  const families = registered();
  const gimbal = readFileSync(join(ROOT, 'operators/gimbal/src/metrics.ts'), 'utf8');
  const queries = [...alerts.map(({ query }) => query), ...panels.map(({ expr }) => expr)];

  test('are queries that Prometheus understands', () => {
    assert.ok(alerts.length >= 8 && panels.length >= 6, `${alerts.length} alerts, ${panels.length} panels`);
    for (const query of queries) assert.ok(parseQuery(query).metrics.length > 0, query);
    for (const { duration } of alerts) if (duration !== undefined) assert.match(duration, /^\d+[smh]$/);
    assert.ok(dashboard.panels.every(({ title, type }) => title !== '' && type !== ''));
  });

  test('name only metrics and labels that every operator serves, or those of Gimbal', () => {
    const missing = queries.flatMap((query) => {
      const { metrics, labels } = parseQuery(query);
      const found = metrics.map((name) => families.get(name.replace(/_(?:bucket|sum|count)$/, '')));
      const known = new Set([...OF_PROMETHEUS, ...found.flatMap((names) => names ?? [])]);
      return [
        ...metrics.filter((name, index) => found[index] === undefined && !gimbal.includes(`'${name}'`)),
        ...labels.filter((label) => !known.has(label)),
      ].map((name) => `${name} in ${query}`);
    });
    assert.deepEqual(missing, []);
  });
});

/** The labels of everything that every operator serves, by name. */
function registered(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  const registry = createRegistry();
  const seen = <O extends { name: string; labels?: readonly string[] }, R>(register: (options: O) => R) =>
    function record(options: O): R {
      found.set(options.name, options.labels ?? []);
      return register(options);
    };
  standardMetrics({
    ...registry,
    counter: seen(registry.counter),
    gauge: seen(registry.gauge),
    histogram: seen(registry.histogram),
  });
  return found;
}

/** `le` is the label of every histogram; the others come with the scrape. */
const OF_PROMETHEUS = new Set(['le', 'job', 'instance', 'namespace', 'pod']);

describe('a query', () => {
  test('names its metrics and labels', () => {
    const query =
      'histogram_quantile(0.99, sum by (le, name) (rate(a_bucket{code=~"5..", x!=""}[5m]))) > 2 * b{} - 1e3';
    assert.deepEqual(parseQuery(query), { metrics: ['a_bucket', 'b'], labels: ['le', 'name', 'code', 'x'] });
  });

  for (const wrong of [
    'rate(a[5m]',
    'sum by name (a)',
    'a{b=c}',
    'a >',
    'rated(a[5m])',
    'a[5]',
    'a b',
    'a{b="c"',
    'a # b',
  ])
    test(`is not ${wrong}`, () => assert.throws(() => parseQuery(wrong)));
});

test('every command of the guide is one that the programs have', () => {
  const commands = readFileSync(join(ROOT, 'apps/capstan/src/command-table.ts'), 'utf8');
  const named = [...guide.matchAll(/`capstan (\w+)|^capstan (\w+)/gm)].map(
    ([, inline, block]) => inline ?? block ?? '',
  );
  assert.ok(named.length > 15);
  assert.deepEqual(
    named.filter((name) => !commands.includes(`\n  ${name}: {`)),
    [],
  );
});

function section(title: string): string {
  const start = guide.indexOf(title);
  const end = guide.indexOf('\n## ', start + 1);
  return guide.slice(start, end === -1 ? undefined : end);
}
