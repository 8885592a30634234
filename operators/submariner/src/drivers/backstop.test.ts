// The backstop on the routes of a real kernel, in a network namespace of its own.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { createHost, type Host, ip } from '../host/index.ts';
import { createNetworkNamespaces, type NetworkNamespaces, namespaceProblem } from '../local/network-namespaces.ts';
import { type Backstop, createBackstop, FOUND } from './backstop.ts';
import { ensureRule, readRejected, removeRoutes, routeStep } from './routes.ts';

const skip = namespaceProblem() ?? false;

describe('the backstop', { skip }, () => {
  let namespaces: NetworkNamespaces;
  let folder: string;
  let host: Host;
  const open = (): Backstop => createBackstop({ host, stateDir: join(folder, 'state') });
  const rejected = async () => [...(await readRejected(host))].toSorted();
  const target = async (address: string) => {
    const { code, stdout, stderr } = await host.run(['ip', 'route', 'get', address]);
    return code === 0 ? stdout.split('\n')[0] : stderr.trim();
  };

  before(() => {
    namespaces = createNetworkNamespaces({ mark: `subb${process.pid % 100_000}`, ids: ['a'] });
    folder = mkdtempSync(join(tmpdir(), 'backstop-'));
    host = createHost({ namespace: namespaces.gateways[0]?.namespace ?? '', runDir: join(folder, 'run') });
  });
  beforeEach(async () => {
    await removeRoutes(host);
    rmSync(join(folder, 'state'), { recursive: true, force: true });
  });
  after(() => {
    namespaces?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test('rejects packets of both families that would leave by the default route', async () => {
    assert.match((await target('10.12.0.1')) ?? '', /via 172\.31\.255\.254/);
    await open().hold('cluster west', ['10.12.0.0/16', 'fd10:2::/64']);
    assert.match((await target('10.12.0.1')) ?? '', /unreachable|No route to host/i);
    assert.match((await target('fd10:2::1')) ?? '', /unreachable|No route to host/i);
    assert.match((await target('10.13.0.1')) ?? '', /via 172\.31\.255\.254/);
  });

  test('comes after the route of a cable, and stays when its device is deleted', async () => {
    await open().hold('cluster west', ['10.12.0.0/16']);
    await host.apply([
      ip('link', 'add', 'cable0', 'type', 'bridge'),
      ip('link', 'set', 'cable0', 'up'),
      routeStep('10.12.0.0/16', { device: 'cable0' }, { sourceIP: undefined }),
    ]);
    assert.match((await target('10.12.0.1')) ?? '', /dev cable0/);
    await host.apply([ip('link', 'del', 'cable0')]);
    assert.match((await target('10.12.0.1')) ?? '', /unreachable|No route to host/i);
  });

  test('opens a network when its last holder lets go', async () => {
    const backstop = open();
    await Promise.all([
      backstop.hold('cluster west', ['10.12.0.0/16']),
      backstop.hold('cable west', ['10.12.0.0/16', '244.31.99.2/32']),
    ]);
    await backstop.hold('cluster west', []);
    assert.deepEqual(await rejected(), ['10.12.0.0/16', '244.31.99.2/32']);
    await backstop.hold('cable west', []);
    assert.deepEqual(await rejected(), []);
  });

  test('is restored from its file after a reboot, with nothing but the host', async () => {
    await open().hold('cluster west', ['10.12.0.0/16', 'fd10:2::/64']);
    // A reboot removes routes and rules.
    await removeRoutes(host);
    const next = open();
    await next.restore();
    assert.deepEqual(await rejected(), ['10.12.0.0/16', 'fd10:2::/64']);
    assert.match((await target('10.12.0.1')) ?? '', /unreachable|No route to host/i);
    assert.deepEqual(next.holders(), ['cluster west']);
    assert.ok(next.isInForce(['10.12.0.0/16', 'fd10:2::/64']));
  });

  test('keeps its file from other users, and nothing but networks in it', async () => {
    await open().hold('cluster west', ['10.12.0.0/16']);
    const path = join(folder, 'state', 'backstop.json');
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.equal(statSync(join(folder, 'state')).mode & 0o777, 0o700);
    assert.deepEqual(JSON.parse(readFileSync(path, 'utf8')), {
      version: 1,
      closed: { 'cluster west': ['10.12.0.0/16'] },
    });
  });

  test('keeps routes of an earlier process whose file is lost or damaged until the pairs are known', async () => {
    await open().hold('cluster west', ['10.12.0.0/16']);
    writeFileSync(join(folder, 'state', 'backstop.json'), '{"version":1,"clo');
    const next = open();
    await next.restore();
    assert.deepEqual(next.holders(), [FOUND]);
    assert.deepEqual(await rejected(), ['10.12.0.0/16']);
  });

  test('closes again what was opened by hand', async () => {
    const backstop = open();
    await backstop.hold('cluster west', ['10.12.0.0/16', 'fd10:2::/64']);
    await host.apply([ip('route', 'flush', 'table', '100')]);
    assert.equal(await backstop.verify(), true);
    assert.match((await target('10.12.0.1')) ?? '', /unreachable|No route to host/i);
    assert.equal(await backstop.verify(), false);
  });

  test('is in place where several callers restore it at the same time', async () => {
    await Promise.all(Array.from({ length: 5 }, () => ensureRule(host)));
    for (const family of ['-4', '-6'])
      assert.equal((await host.query('ip', family, 'rule', 'show', 'pref', '100')).length, 1);
  });

  test('reports a network that the host does not reject', async () => {
    const backstop = open();
    await backstop.restore();
    const broken = createBackstop({
      host: { ...host, apply: () => Promise.resolve() },
      stateDir: join(folder, 'broken'),
    });
    await assert.rejects(broken.hold('cluster west', ['10.12.0.0/16']), /10\.12\.0\.0\/16 could leave in clear/);
    assert.equal(broken.isInForce(['10.12.0.0/16']), false);
  });

  test('leaves routes of others in its table alone when it is removed', async () => {
    const backstop = open();
    await backstop.hold('cluster west', ['10.12.0.0/16']);
    await host.apply([ip('route', 'add', 'unreachable', '10.200.0.0/16', 'table', '100')]);
    await backstop.remove();
    const left = await host.query('ip', 'route', 'show', 'table', '100');
    assert.deepEqual(
      left.map(({ dst }) => dst),
      ['10.200.0.0/16'],
    );
    await host.apply([ip('route', 'del', 'unreachable', '10.200.0.0/16', 'table', '100')]);
  });
});
