// `submariner gateway --clean-up` removes everything that a gateway left on its host, without an API server.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { readRejected, readRoutes } from '../../src/drivers/routes.ts';
import { openRotatingPair } from '../cables/rotation.ts';
import { skip, type TestGateway } from '../cables/underlay.ts';

const PROGRAM = resolve(import.meta.dirname, '../../../../apps/capstan/src/programs/submariner.ts');

test('the command removes cables, daemons and the backstop of one host', { skip, timeout: 120_000 }, async (t) => {
  const pair = await openRotatingPair([Buffer.from('a key of this test, thirty-two b')]);
  t.after(() => pair.close());
  await pair.use('ipsec');
  await pair.halt();
  const [{ gateway: cleaned }, { gateway: other }] = pair.ends;
  for (const each of [cleaned, other]) {
    const { links, routes, rejected, processes } = await traces(each);
    assert.ok(links.includes(each.wireguardDevice) && links.includes('ipsec0'), links.join());
    assert.ok(
      routes > 0 && rejected > 0 && processes >= 2,
      `${routes} routes, ${rejected} rejected, ${processes} daemons`,
    );
  }
  const before = await traces(other);
  const { namespace, runDir, wireguardDevice } = cleaned;
  const flags = ['--network-namespace', namespace, '--run-dir', runDir, '--wireguard-device', wireguardDevice];
  await promisify(execFile)(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', PROGRAM, 'gateway', '--clean-up', ...flags],
    {
      env: {
        ...process.env,
        KUBECONFIG: '/dev/null',
        SUBMARINER_CLUSTERID: 'a',
        SUBMARINER_CABLEDRIVERS: 'vxlan,wireguard,ipsec',
        SUBMARINER_CLUSTERCIDR: cleaned.local.subnets[0] ?? '',
      },
      timeout: 60_000,
    },
  );
  assert.deepEqual(await traces(cleaned), {
    links: ['cni0', 'lo', 'veth0'],
    routes: 0,
    rejected: 0,
    rules: 0,
    processes: 0,
    hasFile: false,
  });
  assert.deepEqual(await traces(other), before, 'the other gateway is left alone');
});

async function traces(gateway: TestGateway) {
  const host = gateway.host();
  const { stdout } = spawnSync('ip', ['netns', 'pids', gateway.namespace], { encoding: 'utf8' });
  return {
    links: (await host.query('ip', 'link', 'show')).map(({ ifname }) => String(ifname)).toSorted(),
    routes: (await readRoutes(host)).size,
    rejected: (await readRejected(host)).size,
    rules: (await host.query('ip', 'rule', 'show', 'pref', '100')).length,
    processes: stdout.split(/\s+/).filter(Boolean).length,
    hasFile: existsSync(join(gateway.runDir, 'backstop.json')),
  };
}
