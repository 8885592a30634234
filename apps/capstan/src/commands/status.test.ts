import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  conditions,
  defineKind,
  formatMicroTime,
  type KindOf,
  Lease,
  Namespace,
  object,
  string,
  systemClock,
} from '@capstan/kube';
import { operator } from '@capstan/reconcile';
import { createRandom, createTestCluster } from '@capstan/testing';
import { runTest } from '../cli/test-io.test-support.ts';

const kindNamed = (kind: string) =>
  defineKind({
    group: 'example.capstan.dev',
    version: 'v1',
    kind,
    scope: 'Namespaced',
    spec: object({ image: string({ optional: true }) }, { optional: true }),
    status: object({ conditions: conditions() }),
  });
const Site = kindNamed('Site');
const Absent = kindNamed('Absent');
const sites = operator({ name: 'sites', kinds: [Site], reconcilers: [] });
const both = operator({ name: 'sites', kinds: [Site, Absent], reconcilers: [] });

test('status lists what is not as it should be, with its reason, and counts the rest', async () => {
  const cluster = await createTestCluster({ clock: systemClock, random: createRandom(1), operators: [sites] });
  const transport = cluster.transport;
  const status = (exported: unknown, ...argv: string[]) =>
    runTest(['status', '--operator', 's.ts', ...argv], {
      transport,
      modules: { '/home/user/s.ts': { default: exported } },
    });
  for (const [name, is] of [
    ['good', 'True'],
    ['bad', 'False'],
  ] as const) {
    const metadata = { namespace: 'default', name };
    const site = { apiVersion: Site.apiVersion, kind: Site.kind, metadata } as KindOf<typeof Site>;
    await cluster.client.create(Site, site);
    const condition = {
      type: 'Ready',
      status: is,
      reason: 'Because',
      message: 'two\nlines',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    await cluster.client.patch(
      Site,
      metadata,
      'merge',
      { status: { conditions: [condition] } },
      { subresource: 'status' },
    );
  }
  const { code, out } = await status(both);
  assert.equal(code, 0);
  assert.equal(
    out,
    `OPERATOR  LEADER
sites     none: no instance runs

OPERATOR  KIND                        READY
sites     Site.example.capstan.dev    1 of 2
sites     Absent.example.capstan.dev  not installed

KIND                      OBJECT       STATE     REASON          MESSAGE
Site.example.capstan.dev  default/bad  NotReady  Ready: Because  two lines

1 object needs a look.
`,
  );
  assert.match((await status(sites, '-n', 'kube-system')).out, /0 of 0\n\nEverything is as it should be\.\n$/);
  await cluster.client.create(Namespace, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'capstan-system' },
  });
  const leaseOf = (renewTime: string): Lease => ({
    apiVersion: Lease.apiVersion,
    kind: Lease.kind,
    metadata: { namespace: 'capstan-system', name: 'capstan-sites' },
    spec: { holderIdentity: 'laptop_1', renewTime, leaseDurationSeconds: 15 },
  });
  await cluster.client.create(Lease, leaseOf(formatMicroTime(systemClock.now())));
  assert.match((await status(sites)).out, /^OPERATOR {2}LEADER\nsites {5}laptop_1\n/);
  const old = '2026-01-01T00:00:00.000000Z';
  await cluster.client.patch(Lease, { namespace: 'capstan-system', name: 'capstan-sites' }, 'merge', {
    spec: { renewTime: old },
  });
  assert.match((await status(sites)).out, /sites {5}none: laptop_1 has not renewed its Lease since 2026-01-01T/);
  const { kinds } = JSON.parse((await status(sites, '-o', 'json')).out) as {
    kinds: { objects: number; notReady: object[] }[];
  };
  assert.equal(kinds[0]?.objects, 2);
  assert.equal(kinds[0].notReady.length, 1);
  await cluster.close();
});
