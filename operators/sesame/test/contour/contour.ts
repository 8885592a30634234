// The real Contour on an embedded API server: objects in, statuses and resources of xDS out.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startCluster, writeKubeconfig } from '@capstan/apiserver';
import {
  type Client,
  CustomResourceDefinition,
  createClient,
  externalKind,
  Ingress,
  isApiError,
  type Kind,
  type KubeObject,
  Namespace,
  Secret,
  Service,
  silentLogger,
  systemClock,
} from '@capstan/kube';
import { freePorts } from '@capstan/testing';
import { connectXds, type ReceivedResource, type XdsClient } from '../../src/xds/xds-client.ts';
import { realFolder } from '../real/envoy.ts';

const LIMIT_MS = 120_000;
const POLL_MS = 200;

/** Why the comparison is left out, in one line; false when Contour is there. */
export function missingContour(): string | false {
  return existsSync(contourBinary())
    ? false
    : 'Contour is not there: npm run setup:real -- contour builds it, and the comparison with it runs';
}

export const contourBinary = () => join(realFolder(), 'contour', 'contour');

export function contoursDefinitions(): CustomResourceDefinition[] {
  return JSON.parse(readFileSync(join(realFolder(), 'contour', 'crds.json'), 'utf8')) as CustomResourceDefinition[];
}

/** By the short name of their type, then by name. */
export type Resources = ReadonlyMap<string, ReadonlyMap<string, ReceivedResource>>;

export interface Answer {
  readonly resources: Resources;
  /** The objects as the server has them, with the statuses of Contour. */
  readonly objects: readonly KubeObject[];
  /** Messages of the server about objects that its definitions refuse, by `KIND NAMESPACE/NAME`. */
  readonly refused: ReadonlyMap<string, string>;
}

const contours = (kind: string, plural: string, version = 'v1'): Kind =>
  externalKind({ group: 'projectcontour.io', version, kind, plural, scope: 'Namespaced' });
export const KINDS: readonly Kind[] = [
  Service,
  Secret,
  Ingress,
  contours('TLSCertificateDelegation', 'tlscertificatedelegations'),
  contours('ExtensionService', 'extensionservices', 'v1alpha1'),
  contours('HTTPProxy', 'httpproxies'),
];
const REPORTED = new Set(['HTTPProxy', 'ExtensionService']);

/** All objects are there before Contour starts, so that its first graph has them all. */
export async function askContour(objects: readonly KubeObject[], file = ''): Promise<Answer> {
  const folder = mkdtempSync(join(tmpdir(), 'sesame-contour-'));
  const cluster = await startCluster({ clock: systemClock, random: Math.random, port: 0 });
  let child: ChildProcess | undefined;
  try {
    const server = cluster.clusters[0]?.server;
    if (!server) throw new Error('the cluster has no server');
    const transport = server.transport();
    const client = createClient({ transport, clock: systemClock, random: Math.random, logger: silentLogger });
    for (const definition of contoursDefinitions()) await client.create(CustomResourceDefinition, definition);
    for (const name of ['projectcontour', ...new Set(objects.flatMap(({ metadata }) => metadata.namespace ?? []))])
      if (name !== 'default')
        await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    const refused = await createAll(client, objects);
    const kubeconfig = join(folder, 'kubeconfig');
    await writeKubeconfig(kubeconfig, cluster.kubeconfig);
    const [xds = 0, health = 0, debug = 0, http = 0] = await freePorts(4);
    const configuration = join(folder, 'contour.yaml');
    writeFileSync(configuration, file);
    child = start(kubeconfig, file === '' ? undefined : configuration, { xds, health, debug, http });
    const reported = await reportedBy(client, child);
    return { resources: await received(xds), objects: reported, refused };
  } finally {
    if (child && child.exitCode === null) {
      const over = once(child, 'close');
      child.kill('SIGKILL');
      await over;
    }
    await cluster.close();
    rmSync(folder, { recursive: true });
  }
}

function start(
  kubeconfig: string,
  configuration: string | undefined,
  ports: Readonly<Record<string, number>>,
): ChildProcess {
  const flags = { xds: 'xds', health: 'health', debug: 'debug-http', http: 'http' };
  return spawn(
    contourBinary(),
    [
      'serve',
      `--kubeconfig=${kubeconfig}`,
      ...(configuration === undefined ? [] : [`--config-path=${configuration}`]),
      '--insecure',
      '--leader-election-resource-namespace=projectcontour',
      ...Object.entries(flags).flatMap(([key, flag]) => [
        `--${flag}-address=127.0.0.1`,
        `--${flag}-port=${ports[key]}`,
      ]),
    ],
    { stdio: 'ignore' },
  );
}

async function createAll(client: Client, objects: readonly KubeObject[]): Promise<Map<string, string>> {
  const refused = new Map<string, string>();
  for (const object of objects) {
    try {
      await client.create(kindOf(object), object);
    } catch (error) {
      if (!isApiError(error) || error.code !== 422) throw error;
      refused.set(nameOf(object), error.message);
    }
  }
  return refused;
}

export function kindOf({ kind }: KubeObject): Kind {
  const found = KINDS.find((each) => each.kind === kind);
  if (!found) throw new Error(`Contour reads no ${kind}`);
  return found;
}

export function nameOf({ kind, metadata }: KubeObject): string {
  return `${kind} ${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
}

/** Waits until every HTTPProxy and ExtensionService has its status, and none changes any more. */
async function reportedBy(client: Client, child: ChildProcess): Promise<KubeObject[]> {
  const deadline = performance.now() + LIMIT_MS;
  for (let before = ''; ; await sleep(POLL_MS)) {
    if (child.exitCode !== null) throw new Error(`Contour ended with code ${child.exitCode}`);
    if (performance.now() > deadline) throw new Error('Contour did not write all statuses in time');
    const all: KubeObject[] = [];
    for (const kind of KINDS) {
      const { items } = await client.list(kind);
      all.push(...items.map((item) => ({ ...item, apiVersion: kind.apiVersion, kind: kind.kind })));
    }
    const statuses = all.filter(({ kind }) => REPORTED.has(kind)).map(statusIn);
    const now = JSON.stringify(statuses);
    if (statuses.every((each) => each.conditions !== undefined) && now === before) return all;
    before = now;
  }
}

interface Status {
  readonly currentStatus?: string;
  readonly conditions?: readonly {
    readonly type: string;
    readonly status: string;
    readonly errors?: readonly { readonly type: string; readonly reason: string }[];
    readonly warnings?: readonly { readonly type: string; readonly reason: string }[];
  }[];
}

export function statusIn(object: KubeObject): Status {
  return (object as { readonly status?: Status }).status ?? {};
}

async function received(port: number): Promise<Resources> {
  const client = connectXds({ host: '127.0.0.1', port, nodeId: 'differential' });
  try {
    const found = new Map<string, ReadonlyMap<string, ReceivedResource>>();
    for (const type of ['lds', 'rds', 'cds'] as const) found.set(type, await all(client, type));
    return found;
  } finally {
    await client.close();
  }
}

/** A request without names is answered with all resources of the type. */
async function all(client: XdsClient, type: 'lds' | 'rds' | 'cds'): Promise<ReadonlyMap<string, ReceivedResource>> {
  const stream = client.open({ type, isDelta: false });
  stream.request({});
  const { resources } = await stream.next();
  stream.close();
  return new Map(resources.entries());
}
