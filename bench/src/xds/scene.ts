// A server with the objects of each control plane, and the processes that are measured on it.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Address, openConnection, requestBytes } from '../apiserver/connection.ts';
import { createNamespace } from '../apiserver/objects.ts';
import { findPeer, peerNote } from '../apiserver/peer.ts';
import { processorMilliseconds } from '../apiserver/process-costs.ts';
import { type ServerUnderTest, startServer } from '../apiserver/server.ts';
import { inTempFolder } from '../apiserver/temp-folder.ts';
import {
  CONTOUR,
  type ControlPlane,
  expectedOf,
  type RunningControlPlane,
  SESAME,
  startControlPlane,
} from './control-planes.ts';
import {
  backendRequests,
  countValid,
  createKeyPairs,
  type KeyPair,
  proxiesIn,
  proxyRequests,
  writeAll,
} from './objects.ts';
import type { Expected } from './subscriptions.ts';

export interface Scene {
  readonly server: ServerUnderTest;
  readonly size: number;
  readonly planes: readonly ControlPlane[];
  readonly pairs: readonly KeyPair[];
  /** The resources of a client of the control plane, with the objects of the start. */
  expected(plane: ControlPlane): Expected;
  start: Start;
}

export interface SceneOptions {
  readonly size: number;
  readonly isBesideContour?: boolean;
  /** On a real kube-apiserver with etcd instead of the embedded one. */
  readonly isReal?: boolean;
  /** Further hosts that are not there yet, whose Secrets need certificates. */
  readonly spare?: number;
}

export type Start = (
  plane: ControlPlane,
  flags?: readonly string[],
  ports?: readonly number[],
) => Promise<RunningControlPlane>;

/** Hands over a filled server; everything is gone afterwards. */
export function onScene<T>(options: SceneOptions, work: (scene: Scene) => Promise<T>): Promise<T> {
  const { size, isBesideContour = false, isReal = false, spare = 0 } = options;
  const planes = isBesideContour ? [SESAME, CONTOUR] : [SESAME];
  return onServer({ isReal, isAlone: planes.length === 1 }, async (server, start) => {
    const pairs = await createKeyPairs(Math.ceil((size + spare) / 2));
    for (const plane of planes) await fill(server, plane, size, pairs);
    return work({ server, size, planes, pairs, expected: (plane) => expectedOf(plane, size, pairs), start });
  });
}

/** Hands over an empty server, and how control planes are started on it; all of them are gone afterwards. */
export function onServer<T>(
  { isReal = false, isAlone = true }: { isReal?: boolean; isAlone?: boolean },
  work: (server: ServerUnderTest, start: Start) => Promise<T>,
): Promise<T> {
  return inTempFolder(async (folder) => {
    const server = isReal
      ? await findPeer()?.()
      : await startServer({ program: 'server', folder, data: join(folder, 'data') });
    if (server === undefined) throw new Error(`there is no server${peerNote()}`);
    const running = new Set<RunningControlPlane>();
    try {
      return await work(server, async (plane, flags = [], ports) => {
        const started = await startControlPlane(plane, server.kubeconfig, { isAlone, flags, ...(ports && { ports }) });
        running.add(started);
        return started;
      });
    } finally {
      for (const each of running) await each.stop();
      await server.stop();
    }
  });
}

export async function fill(
  server: ServerUnderTest,
  plane: ControlPlane,
  size: number,
  pairs: readonly KeyPair[],
): Promise<void> {
  await createDefinitions(server, plane);
  await served(server.address, proxiesIn(plane));
  await addHosts(server, plane, 0, size, pairs);
}

/** More hosts, with all that belongs to them. */
export async function addHosts(
  { address }: ServerUnderTest,
  plane: ControlPlane,
  from: number,
  to: number,
  pairs: readonly KeyPair[],
): Promise<void> {
  await writeAll(address, backendRequests(plane, from, to, pairs));
  await writeAll(address, proxyRequests(plane, from, to));
}

/** The namespaces of a control plane and the kinds that it reads. */
export async function createDefinitions(
  { address }: ServerUnderTest,
  plane: ControlPlane,
  more: readonly object[] = [],
): Promise<void> {
  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  await writeAll(address, [plane.namespace, plane.ownNamespace].map(createNamespace));
  await writeAll(
    address,
    [...plane.definitions(), ...more].map((each) => requestBytes('POST', definitions, each)),
  );
}

/** A real server takes a moment to serve a kind. */
export async function served(address: Address, collection: string): Promise<void> {
  const deadline = performance.now() + SERVED_LIMIT_MS;
  for (;;) {
    try {
      await writeAll(address, [requestBytes('GET', `${collection}?limit=1`)]);
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await sleep(200);
    }
  }
}

const SERVED_LIMIT_MS = 60_000;

/** Resolves when the process has had next to nothing to do for a while. */
export async function quiet(pid: number, forMs: number, limitMs = 600_000): Promise<void> {
  const deadline = performance.now() + limitMs;
  const step = Math.max(forMs / 4, 50);
  for (let calm = 0; calm < forMs; ) {
    const before = processorMilliseconds([pid]) ?? 0;
    await sleep(step);
    if (performance.now() > deadline) throw new Error('a control plane did not come to rest in time');
    const used = (processorMilliseconds([pid]) ?? 0) - before;
    calm = used < step * IDLE_SHARE ? calm + step : 0;
  }
}

const IDLE_SHARE = 0.06;

export async function withConnection<T>(
  server: ServerUnderTest,
  work: (connection: Awaited<ReturnType<typeof openConnection>>) => Promise<T>,
): Promise<T> {
  const connection = await openConnection(server.address);
  try {
    return await work(connection);
  } finally {
    connection.close();
  }
}

/** Statuses are written before anything is measured: with a client rate that takes seconds also for Contour. */
export async function settleStatuses({
  server,
  planes,
  size,
  start,
}: Pick<Scene, 'server' | 'planes' | 'size' | 'start'>): Promise<void> {
  for (const plane of planes) {
    const flags = plane.name === 'contour' ? ['--kubernetes-client-qps=2000', '--kubernetes-client-burst=2000'] : [];
    const running = await start(plane, flags);
    while ((await withConnection(server, (connection) => countValid(connection, plane))) < size)
      await quiet(running.pid, 500);
    await running.stop();
  }
}
