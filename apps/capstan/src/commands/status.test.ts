import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
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
import { runTest, testIo } from '../cli/test-io.test-support.ts';
import { runCommandLine } from '../cli.ts';

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

test('status has one line for an operator that is not installed', async () => {
  const { transport } = await createTestCluster({ clock: systemClock, random: createRandom(1), operators: [sites] });
  const elsewhere = operator({ name: 'elsewhere', kinds: [Absent, kindNamed('Other')], reconcilers: [] });
  const { out } = await runTest(['status', '--operator', 'e.ts'], {
    transport,
    modules: { '/home/user/e.ts': { default: elsewhere } },
  });
  assert.match(out, /^elsewhere +not installed$/m);
  assert.doesNotMatch(out, /Absent/);
  assert.match(out, /^No operator is installed\.$/m);
});

test('status lists what is not healthy, with its reason, root causes first, and counts the rest', async () => {
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
    `2 objects are not healthy.

Root cause: Operator sites
  NoLeader: no instance runs; start it with capstan run or capstan install

Root cause: Site default/bad
  Ready: Because: two lines

KIND                      OBJECT       STATE     REASON          MESSAGE
Operator                  sites        Stopped   NoLeader        no instance runs; start it with capstan run or capstan install
Site.example.capstan.dev  default/bad  NotReady  Ready: Because  two lines

OPERATOR  KIND                        READY
sites     Site.example.capstan.dev    1 of 2
sites     Absent.example.capstan.dev  not installed

OPERATOR  LEADER
sites     none: no instance runs
`,
  );
  assert.equal((await status(both, '-o', 'name')).out, 'operator/sites\nsite.example.capstan.dev/bad\n');
  assert.match(
    (await status(both, '-o', 'wide')).out,
    /^Site\.example\.capstan\.dev .* 2026-01-01T00:00:00Z .*two lines$/m,
  );
  assert.match((await status(both, '-o', 'yaml')).out, /^healthy: false\nproblems:\n {2}- kind: Operator\n/);
  assert.equal((await status(both, '--exit-code')).code, 3);
  const elsewhere = await status(sites, '-n', 'kube-system', '--exit-code');
  assert.match(elsewhere.out, /^All objects are healthy\.\n\nOPERATOR {2}LEADER\n/);
  assert.equal(elsewhere.code, 0);
  const nowhere = await status(sites, '-n', 'nowhere');
  assert.equal(nowhere.code, 1);
  assert.match(nowhere.err, /^error: there is no namespace "nowhere" in this cluster; check the name/);
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
  assert.match((await status(sites)).out, /^OPERATOR {2}LEADER\nsites {5}laptop_1\n/m);
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

test('status of one object shows what it depends on and what depends on it', async () => {
  const cluster = await createTestCluster({ clock: systemClock, random: createRandom(1), operators: [sites] });
  const modules = { '/home/user/s.ts': { default: sites } };
  const { transport } = cluster;
  const status = (...argv: string[]) => runTest(['status', '--operator', 's.ts', ...argv], { transport, modules });
  const put = async (name: string, condition: object) => {
    const metadata = { namespace: 'default', name };
    await cluster.client.create(Site, { apiVersion: Site.apiVersion, kind: Site.kind, metadata });
    const base = { type: 'Ready', status: 'False', reason: 'Bad', lastTransitionTime: '2026-01-01T00:00:00Z' };
    const patch = { status: { conditions: [{ ...base, ...condition }] } };
    await cluster.client.patch(Site, metadata, 'merge', patch, { subresource: 'status' });
  };
  await put('base', { message: 'port 99999 is too large' });
  await put('user', { message: 'Site base is not ready' });
  await put('other', { message: 'alone' });
  await put('good', { status: 'True', message: '' });
  const { out } = await status('site/user');
  assert.match(out, /^Site\.\S+ +default\/base .*port 99999 is too large$/m);
  assert.match(out, /^Site\.\S+ +default\/user .*because of Site default\/base$/m);
  assert.doesNotMatch(out, /other/);
  const good = await status('site', 'good', '-n', 'default', '-o', 'json');
  const { problems } = JSON.parse(good.out) as { problems: { kind: string }[] };
  assert.deepEqual(
    problems.map(({ kind }) => kind),
    ['Operator'],
  );
  assert.match((await status('site/none')).err, /^error: there is no Site default\/none|Site default\/none/);
  assert.match((await status('namespace/default')).err, /Namespace is not a kind of an operator; capstan status shows/);
  assert.equal((await status('-n', 'default', '-A')).code, 2);
  const { io, out: printed } = testIo({ transport, modules });
  await runCommandLine(['status', '--operator', 's.ts'], { ...io, isTerminal: true, columns: 60 });
  for (const line of stripVTControlCharacters(printed()).split('\n')) assert.ok(line.length <= 60, line);
  await cluster.close();
});

test('status --watch prints again when something changed, and ends with 130', async () => {
  const cluster = await createTestCluster({ clock: systemClock, random: createRandom(1), operators: [sites] });
  const stopping = new AbortController();
  const { io, out } = testIo({
    transport: cluster.transport,
    modules: { '/home/user/s.ts': { default: sites } },
    signal: stopping.signal,
  });
  const printed = async (text: string) => {
    while (!out().includes(text)) await new Promise((resolve) => setImmediate(resolve));
  };
  const ended = runCommandLine(['status', '--watch', '--operator', 's.ts'], io);
  await printed('All objects are healthy');
  const metadata = { namespace: 'default', name: 'late' };
  const site = { apiVersion: Site.apiVersion, kind: Site.kind, metadata } as KindOf<typeof Site>;
  await cluster.client.create(Site, site);
  await printed('Root cause: Operator sites');
  stopping.abort();
  assert.equal(await ended, 130);
  await cluster.close();
});

test('status uses colours on a terminal, unless NO_COLOR is set', async () => {
  const cluster = await createTestCluster({ clock: systemClock, random: createRandom(1), operators: [sites] });
  const coloured = async (env: Record<string, string>) => {
    const { io, out } = testIo({
      transport: cluster.transport,
      modules: { '/home/user/s.ts': { default: sites } },
      env,
    });
    await runCommandLine(['status', '--operator', 's.ts'], { ...io, isTerminal: true });
    return out().includes('\u001B[32mAll objects are healthy.\u001B[0m');
  };
  assert.equal(await coloured({}), true);
  assert.equal(await coloured({ NO_COLOR: '1' }), false);
  assert.equal(await coloured({ TERM: 'dumb' }), false);
  await cluster.close();
});
