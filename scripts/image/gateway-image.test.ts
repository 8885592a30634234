// A gateway as a node runs it: from the unpacked image, in the network namespace of its node, with no program of this machine. Its cluster
// and its broker are on a real control plane; the other end of its cable is a gateway of these sources.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Gateway } from '@capstan/submariner';
import {
  type ClusterSet,
  connectionsOf,
  createClusterSet,
  createUnderlay,
  type GatewayProcess,
  ping,
  skip as skipCables,
  type TestGateway,
  until,
} from '@capstan/submariner/real-cables';
import { findBinaries } from '@capstan/testing';
import { buildProgramPackage } from '../build/program-package.ts';
import { buildImages } from './build-images.ts';

const ROOT = new URL('../../', import.meta.url).pathname;
const NAMESPACE = 'submariner-operator';
const binaries = findBinaries();
const skip = 'missing' in binaries ? binaries.missing : skipCables;
/** A busy machine renews a short Lease too late. */
const LEASE = { LEADERSHIP_LEASEDURATION: '15', LEADERSHIP_RENEWDEADLINE: '10', LEADERSHIP_RETRYPERIOD: '2' };

describe('a gateway from its image on a real control plane', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'capstan-gateway-image-'));
  const roots = new Map<string, string>();
  let underlay: ReturnType<typeof createUnderlay> | undefined;
  let set: ClusterSet | undefined;
  let closeRelay: (() => Promise<void>) | undefined;

  before(async () => {
    const bundle = join(folder, 'bundle');
    await buildProgramPackage(ROOT, bundle);
    const images = { root: ROOT, bundle, folder: join(folder, 'images'), epoch: 0, report: () => undefined };
    const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';
    for (const { name, images: built } of await buildImages({ ...images, architectures: [architecture] })) {
      const root = join(folder, name);
      mkdirSync(root);
      for (const { tar } of built[0]?.layers ?? []) execFileSync('tar', ['-x', '-C', root], { input: tar });
      roots.set(name, root);
    }
    underlay = createUnderlay(['east', 'west']);
    set = await createClusterSet(
      { east: ['site=one'], west: ['site=two'] },
      { driver: 'ipsec', real: ['broker', 'east'] },
    );
    closeRelay = await relay(networkOf('east').namespace, new URL(set.brokerURL), folder);
  });
  after(async () => {
    await set?.close();
    await closeRelay?.();
    underlay?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const networkOf = (member: string): TestGateway => {
    const found = underlay?.gateways.find(({ id }) => id === member);
    assert.ok(found);
    return found;
  };
  const theSet = () => {
    assert.ok(set);
    return set;
  };
  const start = (image: string): Promise<GatewayProcess> =>
    theSet().gateway('east', networkOf('east'), {
      env: { ...LEASE, PATH: '/usr/sbin:/usr/bin:/sbin:/bin', TMPDIR: '/tmp' },
      command: inImage(roots.get(image) ?? '', networkOf('east').namespace, theSet().folder),
    });
  const statusOf = async () => {
    const { items } = await theSet().client('east').list(Gateway, { namespace: NAMESPACE });
    return items[0]?.status;
  };

  test('has every tool, and carries packets through IPsec and WireGuard', { timeout: 240_000 }, async () => {
    const east = await start('capstan-gateway');
    const west = await theSet().gateway('west', networkOf('west'), { env: LEASE });
    const detail = async () => [await statusOf(), east.log().slice(-2000), west.log().slice(-1000)];
    const connectedBy = (driver: string) =>
      until(
        `the pair is connected by ${driver}`,
        90_000,
        async () =>
          (await connectionsOf(theSet(), 'east')).some(
            ({ status, usingCableDriver }) => status === 'connected' && usingCableDriver === driver,
          ),
        detail,
      );
    await connectedBy('ipsec');
    const status = await statusOf();
    assert.deepEqual(
      status?.backends?.map(({ name, available, message }) => [name, available, message]),
      ['vxlan', 'wireguard', 'ipsec', 'vxlan+ipsec'].map((name) => [name, true, undefined]),
    );
    assert.equal(status?.statusFailure, '');
    assert.deepEqual(await ping(networkOf('west'), networkOf('east').address), { sent: 3, received: 3 });
    const added = await theSet().subctl(
      ...'cable-policy add --name all --cable-driver wireguard --context west'.split(' '),
      '--left-cluster-selector',
      'site=one',
      '--right-cluster-selector',
      'site=two',
    );
    assert.equal(added.code, 0, added.stderr);
    await connectedBy('wireguard');
    assert.deepEqual(await ping(networkOf('west'), networkOf('east').address), { sent: 3, received: 3 });
    await until(
      'a latency is known',
      30_000,
      async () => (await connectionsOf(theSet(), 'east')).every(({ latencyRTT }) => latencyRTT?.average !== undefined),
      detail,
    );
    await Promise.all([east.kill('SIGTERM'), west.kill('SIGTERM')]);
  });

  test('reports a missing tool on the Gateway, and stays', { timeout: 120_000 }, async () => {
    const gateway = await start('capstan');
    await until(
      'the missing program is reported',
      60_000,
      async () =>
        (await statusOf())?.statusFailure ===
        'the program ip is not installed in the gateway’s image; use the image capstan-gateway (capstan install --submariner.image=IMAGE), or install the program',
      async () => [await statusOf(), gateway.log().slice(-2000)],
    );
    const status = await statusOf();
    assert.equal(status?.haStatus, 'passive');
    assert.ok(status?.backends?.every(({ available }) => !available));
    await gateway.kill('SIGTERM');
    assert.equal(await statusOf(), undefined);
  });
});

/** As a container of a pod with hostNetwork: the root of the image, the network of the node, and the files of mounted Secrets. */
function inImage(root: string, namespace: string, files: string): readonly string[] {
  const script = [
    'mount --make-rprivate /',
    'mount --bind "$0" "$0"',
    'mount -t proc proc "$0/proc"',
    'mount --rbind /dev "$0/dev"',
    'mount -t sysfs sysfs "$0/sys"',
    'for place in run var/run tmp var/lib/submariner; do mkdir -p "$0/$place" && mount -t tmpfs tmpfs "$0/$place"; done',
    'mkdir -p "$0$1" && mount --bind "$1" "$0$1"',
    'exec chroot "$0" /usr/bin/submariner gateway',
  ].join(' && ');
  return ['nsenter', `--net=/run/netns/${namespace}`, 'unshare', '--mount', 'sh', '-c', script, root, files];
}

/** Lets processes of a network namespace reach a server on this machine's loopback, by a socket of the file system. */
async function relay(namespace: string, { hostname, port }: URL, folder: string): Promise<() => Promise<void>> {
  const path = join(folder, 'relay.sock');
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    near.pipe(far).pipe(near);
    near.on('error', () => far.destroy());
    far.on('error', () => near.destroy());
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const program = `
    const { connect, createServer } = require('node:net');
    const server = createServer((near) => {
      const far = connect(${JSON.stringify(path)});
      near.pipe(far).pipe(near);
      near.on('error', () => far.destroy());
      far.on('error', () => near.destroy());
    });
    server.listen(${port}, ${JSON.stringify(hostname)}, () => console.log('listening'));`;
  const inside = spawn('nsenter', [`--net=/run/netns/${namespace}`, process.execPath, '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise((resolve) => inside.stdout.once('data', resolve));
  return async () => {
    inside.kill('SIGKILL');
    await new Promise((resolve) => server.close(resolve));
  };
}
