// The problem of an object is reported on it with type, reason, path and remedy, Envoy gets none of it, and everything else is served. The
// fixtures are in the YAML files beside; each file describes its entries.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { before, suite, test } from 'node:test';
import type { KubeObject } from '@capstan/kube';
import { parse } from 'yaml';
import { type Mutable, testSettings } from '../../src/routing/default-settings.ts';
import type { RoutingSettings } from '../../src/routing/settings.ts';
import { createSecrets } from './secrets.ts';
import { outcomeOf } from './served.ts';

interface Fixture {
  readonly name: string;
  /** Put beside the route /still-here of the host bad.test. */
  readonly route?: object;
  readonly routes?: readonly object[];
  /** The virtual host of HTTPProxy default/bad. */
  readonly virtualhost?: object;
  readonly spec?: object;
  readonly objects?: readonly KubeObject[];
  readonly settings?: object;
  /** Routes of bad.test that are still served; without a route of its own none is. */
  readonly serves?: readonly string[];
  readonly reports: readonly string[];
}

const FILES = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.yaml') && name !== 'world.yaml');
const load = (name: string): unknown =>
  parse(readFileSync(`${import.meta.dirname}/${name}`, 'utf8'), { merge: true, maxAliasCount: -1 });

/** The subject of a message and the remedy: `spec.routes[1].FIELD: PROBLEM; REMEDY`. */
const SHAPE = /^(warning |listener \S+ )?[A-Za-z]+\/[A-Za-z]+ [^;]+: .+; .+/;

suite('errors of objects', () => {
  const world = load('world.yaml') as KubeObject[];
  let secrets: KubeObject[] = [];
  before(async () => {
    secrets = await createSecrets();
  });

  for (const file of FILES)
    suite(file.replace('.yaml', ''), () => {
      for (const fixture of load(file) as Fixture[])
        test(fixture.name, () => {
          const objects = [...world, ...secrets, ...objectsOf(fixture)];
          const { reports, served, refused } = outcomeOf(objects, settingsOf(fixture), ['good.test', 'bad.test']);
          assert.deepEqual(reports, fixture.reports);
          for (const report of reports) assert.match(report.slice(report.indexOf(': ') + 2), SHAPE);
          assert.deepEqual(served('good.test'), ['/'], 'another host is served');
          assert.deepEqual([...served('bad.test')].sort(), servesOf(fixture));
          assert.deepEqual(refused, []);
        });
    });
});

suite('objects at the limit of their size', () => {
  const world = load('world.yaml') as KubeObject[];
  const bad = (routes: readonly object[]) => objectsOf({ name: '', routes, reports: [] });

  test('a body of a direct response that Envoy takes, and one that it does not', () => {
    const route = (body: string, prefix: string) => ({
      conditions: [{ prefix }],
      directResponsePolicy: { statusCode: 200, body },
    });
    const objects = [...world, ...bad([route('x'.repeat(4_096), '/fits'), route('é'.repeat(2_049), '/long')])];
    const { reports, served } = outcomeOf(objects, testSettings(), ['bad.test']);
    assert.deepEqual(reports, [
      'HTTPProxy default/bad: RouteError/RefusedByEnvoy spec.routes[2].directResponsePolicy.body: it has 4098 bytes, and Envoy takes 4096; shorten it, or let a Service answer',
    ]);
    assert.deepEqual([...served('bad.test')].sort(), ['/fits', '/long', '/still-here']);
  });

  test('a proxy of a megabyte, and its one bad route', () => {
    const route = (index: number) => ({
      conditions: [
        { prefix: `/part-${index}` },
        { header: { name: `x-${index}`, exact: 'x'.repeat(400) } },
        { header: { name: 'x-all', contains: 'y'.repeat(400) } },
      ],
      services: [{ name: 'shop', port: index === 500 ? 81 : 80 }],
    });
    const objects = [...world, ...bad(Array.from({ length: 1_100 }, (_, index) => route(index)))];
    assert.ok(JSON.stringify(objects).length > 1_000_000);
    const { reports, served, refused } = outcomeOf(objects, testSettings(), ['bad.test', 'good.test']);
    assert.deepEqual(reports, [
      'HTTPProxy default/bad: ServiceError/ServiceUnresolvedReference spec.routes[501].services[0].port: Service default/shop has no TCP port 81; use 80 or 9090',
    ]);
    assert.deepEqual([served('bad.test').length, served('good.test'), refused], [1_101, ['/'], []]);
  });
});

function objectsOf({ route, routes, virtualhost, spec, objects = [] }: Fixture): KubeObject[] {
  const own = routes ?? (route ? [route] : undefined);
  if (!own && !virtualhost && !spec) return [...objects];
  const shop = [{ name: 'shop', port: 80 }];
  const bad = {
    apiVersion: 'projectsesame.io/v1',
    kind: 'HTTPProxy',
    metadata: { name: 'bad', namespace: 'default' },
    spec: {
      virtualhost: { fqdn: 'bad.test', ...virtualhost },
      routes: [{ conditions: [{ prefix: '/still-here' }], services: shop }, ...(own ?? [])],
      ...spec,
    },
  };
  return [bad, ...objects];
}

function servesOf({ route, routes, serves }: Fixture): readonly string[] {
  return serves ?? (route || routes ? ['/still-here'] : []);
}

function settingsOf({ settings = {} }: Fixture): RoutingSettings {
  return testSettings((each) => merge(each, settings));
}

function merge(into: Mutable<RoutingSettings>, more: object): void {
  const target = into as unknown as Record<string, unknown>;
  for (const [key, value] of Object.entries(more)) {
    const known = target[key];
    const isNested = typeof value === 'object' && value !== null && !Array.isArray(value);
    if (isNested && typeof known === 'object' && known !== null)
      merge(known as Mutable<RoutingSettings>, value as object);
    else target[key] = value;
  }
}
