// Objects that Gimbal's own discoverer created are taken over. CAPSTAN_GIMBAL_DISCOVERER names the program `kubernetes-discoverer`, built
// from a checkout of https://github.com/projectcontour/gimbal: `go build ./cmd/kubernetes-discoverer`.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startCluster, writeKubeconfig } from '@capstan/apiserver';
import {
  type Client,
  createClient,
  Endpoints,
  type Kind,
  type KubeObject,
  refOf,
  Service,
  silentLogger,
  systemClock,
} from '@capstan/kube';
import { addressesOf, createDiscoverStage, discovered, namespace, remoteService } from '../discover/stage.ts';

const program = process.env['CAPSTAN_GIMBAL_DISCOVERER'] ?? '';
const skip =
  !existsSync(program) &&
  'CAPSTAN_GIMBAL_DISCOVERER names no program: build kubernetes-discoverer of https://github.com/projectcontour/gimbal';

const LIMIT_MS = 120_000;
const SERVICES: Readonly<Record<string, readonly string[]>> = { web: ['10.0.0.1', '10.0.0.2'], api: ['10.0.0.3'] };
const SHOWN: readonly Kind[] = [Service, Endpoints];

/** Lets the original mirror two Services, and returns the objects that it created. */
async function mirroredByOriginal(): Promise<readonly (readonly [Kind, KubeObject])[]> {
  const folder = mkdtempSync(join(tmpdir(), 'gimbal-take-over-'));
  const start = () => startCluster({ clock: systemClock, random: Math.random, port: 0 });
  const [local, remote] = [await start(), await start()];
  const clientOf = ({ clusters }: typeof local): Client => {
    const [first] = clusters;
    assert.ok(first);
    return createClient({ transport: first.server.transport(), clock: systemClock, logger: silentLogger });
  };
  const [here, there] = [clientOf(local), clientOf(remote)];
  const files = { local: join(folder, 'local'), remote: join(folder, 'remote') };
  await writeKubeconfig(files.local, local.kubeconfig);
  await writeKubeconfig(files.remote, remote.kubeconfig);
  for (const client of [here, there]) await namespace(client, 'team');
  for (const [name, addresses] of Object.entries(SERVICES)) {
    const metadata = { namespace: 'team', name, labels: { app: name } };
    const port = { name: 'http', protocol: 'TCP' as const };
    const spec = { ports: [{ ...port, port: 80 }] };
    await there.create(Service, { apiVersion: 'v1', kind: 'Service', metadata, spec });
    const subsets = [{ addresses: addresses.map((ip) => ({ ip })), ports: [{ ...port, port: 8080 }] }];
    await there.create(Endpoints, { apiVersion: 'v1', kind: 'Endpoints', metadata, subsets });
  }
  const flags = [`--gimbal-kubecfg-file=${files.local}`, `--discover-kubecfg-file=${files.remote}`];
  const child = spawn(program, [...flags, '--backend-name=east', '--prometheus-listen-address=0', '--debug'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (log += text.toString()));
  const over = once(child, 'close');
  try {
    for (const deadline = performance.now() + LIMIT_MS; ; await sleep(200)) {
      if (performance.now() > deadline || child.exitCode !== null) throw new Error(`nothing was mirrored: ${log}`);
      const found: (readonly [Kind, KubeObject])[] = [];
      for (const kind of SHOWN) {
        const { items } = await here.list<KubeObject>(kind, { namespace: 'team' });
        found.push(...items.map((item) => [kind, item] as const));
      }
      const subsets = found.filter(([kind, object]) => kind === Endpoints && 'subsets' in object);
      if (found.length === 2 * Object.keys(SERVICES).length && subsets.length === found.length / 2) return found;
    }
  } finally {
    child.kill('SIGKILL');
    await over;
    for (const client of [here, there]) await client.close();
    for (const cluster of [local, remote]) await cluster.close();
    rmSync(folder, { recursive: true });
  }
}

test('Services of the original discoverer go on as ours, and their Endpoints give way to slices', {
  skip,
  timeout: 300_000,
}, async (t) => {
  const theirs = await mirroredByOriginal();
  const stage = await createDiscoverStage();
  try {
    const { client } = stage.local;
    for (const each of [client, stage.remote.client]) await namespace(each, 'team');
    const uids = new Map<string, string | undefined>();
    for (const [kind, { metadata, ...content }] of theirs) {
      const { name = '', labels, annotations } = metadata;
      const own = { namespace: 'team', name, ...(labels && { labels }), ...(annotations && { annotations }) };
      const created = await client.create(kind, { ...content, metadata: own });
      uids.set(`${kind.kind} ${name}`, created.metadata.uid);
    }
    for (const [name, addresses] of Object.entries(SERVICES))
      await remoteService(stage.remote.client, `team/${name}`, addresses, { labels: { app: name } });
    const { sent, stop } = stage.start();
    await stage.settle();
    const names = await discovered(client);
    assert.deepEqual(names, ['team/east-api', 'team/east-web']);
    for (const [kind, object] of theirs) {
      if (kind !== Service) continue;
      const { metadata } = await client.get(Service, { namespace: 'team', name: refOf(object).name });
      assert.equal(metadata.uid, uids.get(`Service ${metadata.name}`), `${metadata.name} is the same Service`);
    }
    for (const [name, addresses] of Object.entries(SERVICES))
      assert.deepEqual(await addressesOf(client, `team/east-${name}`), addresses);
    assert.deepEqual((await client.list(Endpoints, { namespace: 'team' })).items, []);
    t.diagnostic(`${theirs.length} objects of the original; writes: ${sent.writes.join(', ')}`);
    await stop();
    const again = stage.start();
    await stage.settle();
    assert.deepEqual(again.sent.writes, [], 'the next start writes nothing');
  } finally {
    await stage.end();
  }
});
