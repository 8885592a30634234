// Two clusters of `capstan up --cables real`: their gateways are pods of DaemonSets, with real cables between namespaces.
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { type Client, connect, createClient, DaemonSet, Pod } from '@capstan/kube';
import { startClusterProcess } from '@capstan/testing/tutorial';
import { createHost } from '../../src/host/index.ts';
import { type Connection, MEMBER_NAMESPACE, Submariner } from '../../src/kinds/index.ts';
import type { Sender } from '../cables/capture.ts';
import { realPrograms } from '../cables/underlay.ts';
import { until } from '../until.ts';

export interface LocalSet {
  /** The connections that the gateway of a member reports. */
  connections(member: Member): Promise<readonly Connection[]>;
  /** The names of the namespaces that were created for it. */
  readonly namespaces: readonly string[];
  /** Sends packets from within the pod network of a member. */
  sender(member: Member): Sender;
  /** An address in the pod network of a member that answers. */
  address(member: Member): string;
  /** Changes the pods of the gateways of a member, and waits until the DaemonSet has replaced them. */
  roll(member: Member): Promise<void>;
  /** Ends it; namespaces go with it. */
  close(): Promise<void>;
}

const MEMBERS = ['east', 'west'] as const;
export type Member = (typeof MEMBERS)[number];

const ROOT = resolve(import.meta.dirname, '../../../..');
const LIMIT_MS = 150_000;
const program = (file: string) => ['--disable-warning=ExperimentalWarning', join(ROOT, 'apps/capstan/src', file)];

/** The network namespaces of this machine. */
export function networkNamespaces(): string[] {
  const { stdout } = spawnSync('ip', ['netns', 'list'], { encoding: 'utf8' });
  return stdout.split('\n').flatMap((line) => line.split(' ')[0] || []);
}

/** Starts the clusters, and resolves when packets pass between them. */
export async function openLocalSet(driver: string): Promise<LocalSet> {
  const folder = mkdtempSync(join(tmpdir(), 'submariner-up-'));
  const before = networkNamespaces();
  const kubeconfig = join(folder, 'kubeconfig');
  const up = ['up', '--operators', 'submariner', '--clusters', 'broker,east,west', '--cables', 'real'];
  const places = ['--data', join(folder, 'data'), '--kubeconfig-out', kubeconfig, '--listen', '127.0.0.1:0'];
  const clients = new Map<Member, Client>();
  let stop: (() => Promise<unknown>) | undefined;
  const close = async () => {
    for (const client of clients.values()) await client.close();
    clients.clear();
    await stop?.();
    rmSync(folder, { recursive: true, force: true });
  };
  const subctl = async (...args: string[]) => {
    const env = { ...process.env, KUBECONFIG: kubeconfig };
    const command = [...program('programs/subctl.ts'), ...args];
    return (await promisify(execFile)(process.execPath, command, { env })).stdout;
  };
  const connections = async (member: Member) => {
    const text = await subctl('show', 'connections', '--context', member, '-o', 'json').catch(() => '[]');
    return JSON.parse(text) as Connection[];
  };
  const connected = (member: Member) =>
    until(
      `packets pass from ${member}`,
      LIMIT_MS,
      async () =>
        (await connections(member)).some(
          ({ status, latencyRTT }) => status === 'connected' && latencyRTT?.average !== undefined,
        ),
      () => connections(member),
    );
  const address = (member: Member) => `10.${11 + MEMBERS.indexOf(member)}.0.1`;
  try {
    stop = await startClusterProcess(process.execPath, [...program('main.ts'), ...up, ...places], { cwd: ROOT });
    const info = join(folder, 'broker-info.subm');
    await subctl('deploy-broker', '--context', 'broker', '--cable-driver', driver, '--broker-info', info);
    for (const member of MEMBERS) {
      await subctl('join', info, '--context', member, '--clustercidr', address(member).replace(/1$/, '0/16'));
      clients.set(member, createClient({ transport: await connect({ kubeconfig, context: member, env: {} }) }));
    }
    for (const member of MEMBERS) await connected(member);
    const namespaces = networkNamespaces().filter((name) => !before.includes(name));
    return {
      connections,
      namespaces,
      sender(member) {
        const namespace = namespaces.find((name) => name.endsWith(`-${member}`)) ?? '';
        return {
          local: { sourceIP: address(member) },
          host: () => createHost({ namespace, runDir: join(folder, 'sender'), programs: realPrograms }),
        };
      },
      address,
      roll: (member) => roll(clients.get(member), () => connected(member)),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

const GATEWAYS = { namespace: MEMBER_NAMESPACE, name: 'submariner-gateway' };

async function roll(client: Client | undefined, connected: () => Promise<unknown>): Promise<void> {
  if (client === undefined) throw new TypeError('there is no such member');
  const pods = async () => {
    const { items } = await client.list(Pod, { namespace: MEMBER_NAMESPACE, labelSelector: 'app=submariner-gateway' });
    return items.map(({ metadata }) => metadata.uid);
  };
  const [old, { metadata }] = [await pods(), await client.get(DaemonSet, GATEWAYS)];
  const submariner = { namespace: MEMBER_NAMESPACE, name: 'submariner' };
  const { spec } = await client.get(Submariner, submariner);
  // A setting that only the environment of the pods depends on.
  await client.patch(Submariner, submariner, 'merge', { spec: { debug: spec.debug !== true } });
  await until('the DaemonSet has replaced its pods', LIMIT_MS, async () => {
    const { status } = await client.get(DaemonSet, GATEWAYS);
    const now = await pods();
    return (
      (status?.observedGeneration ?? 0) > (metadata.generation ?? 0) &&
      status?.updatedNumberScheduled === 1 &&
      status.numberReady === 1 &&
      now.length === 1 &&
      !old.includes(now[0])
    );
  });
  await connected();
}
