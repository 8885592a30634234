// A running operator on a cluster full of objects, and the edits whose consequences are counted and timed.
import { ConfigMap, defineKind, type KindOf, object, optional, Secret, string } from '@capstan/kube';
import { type Operator, operator, plan, reading, reconciler } from '@capstan/reconcile';
import { stopwatch } from '../measure/stopwatch.ts';
import { runOperator } from '../running-operator.ts';
import { type Cluster, createCluster } from './cluster.ts';
import { until } from './until.ts';
import { watchedTransport } from './watched-transport.ts';
import { NAMESPACES, nameOf, namespaceOf, type References, WebProxy, webProxy } from './web-proxy.ts';

export interface WakeUpStage {
  /** Edits one object; resolves when everything that follows has come to rest. */
  edit(index: number, value: number): Promise<{ latency: number; runs: number }>;
  /** How many reconciles a write ran. */
  count(write: () => Promise<unknown>): Promise<number>;
  readonly sharedWrites: readonly SharedWrite[];
  stop(): Promise<void>;
}

/** A write to something that several objects read, or none. */
export interface SharedWrite {
  readonly what: string;
  readonly expected: number;
  write(index: number): Promise<unknown>;
}

/** `readers` of the objects read one ConfigMap, as many one Secret, and as many one object of another kind. */
export async function startWakeUpStage(objects: number, readers: number): Promise<WakeUpStage> {
  const probe: Probe = { runs: 0, target: '', sinceDelivery: undefined, latency: Number.NaN };
  const wakeUpOperator = operatorWith(probe);
  const cluster = await createCluster(wakeUpOperator.kinds);
  await fillCluster(cluster, objects, readers);
  let seen = 0;
  const transport = watchedTransport(cluster.server.transport(), ({ kind, metadata }) => {
    seen = Math.max(seen, Number(metadata.resourceVersion));
    if (kind === WebProxy.kind && metadata.name === probe.target) probe.sinceDelivery ??= stopwatch();
  });
  const { runtime, isAtRest, stop } = runOperator(wakeUpOperator, transport);
  const isSettled = () => isAtRest() && seen === cluster.server.revision;
  // Something is written last that is watched, so that the watches can be seen to have caught up.
  await until(() => runtime.isSynced);
  await cluster.client.create(WebProxy, webProxy(objects));
  await until(isSettled);

  const count = async (write: () => Promise<unknown>) => {
    probe.runs = 0;
    await write();
    await until(isSettled);
    return probe.runs;
  };
  return {
    count,
    async edit(index, value) {
      const ref = { namespace: namespaceOf(index), name: nameOf(index) };
      probe.target = ref.name;
      probe.sinceDelivery = undefined;
      probe.latency = Number.NaN;
      const patch = [{ op: 'replace', path: '/spec/routes/0/retries', value: 1000 + value }];
      const runs = await count(() => cluster.client.patch(WebProxy, ref, 'json', patch));
      return { latency: probe.latency, runs };
    },
    sharedWrites: sharedWrites(cluster, readers),
    async stop() {
      await stop();
      await cluster.close();
    },
  };
}

const Region = defineKind({
  group: 'bench.capstan.dev',
  version: 'v1',
  kind: 'Region',
  scope: 'Cluster',
  spec: object({ zone: string(), contact: optional(string()) }),
  status: object({ note: optional(string()) }),
});
type Region = KindOf<typeof Region>;

/** The counts of reconciles and deliveries. */
interface Probe {
  runs: number;
  /** The name of the edited object. */
  target: string;
  /** From the first event of the edited object on. */
  sinceDelivery: (() => number) | undefined;
  latency: number;
}

const settingsOf = (settings: ConfigMap) => settings.data;
const credentialsOf = (credentials: Secret) => credentials.data;
const zoneOf = (region: Region) => region.spec.zone;

function operatorWith(probe: Probe): Operator {
  const webProxies = reconciler<WebProxy>({
    name: 'web-proxy',
    resource: WebProxy,
    reads: [reading(ConfigMap, 'referenced'), reading(Secret, 'referenced'), reading(Region, 'everywhere')],
    reconcile({ object: proxy, read, digest }) {
      if (probe.runs++ === 0) probe.latency = probe.sinceDelivery?.() ?? Number.NaN;
      const { namespace = '' } = proxy.metadata;
      const { settings, credentials, region, routes, host } = proxy.spec;
      const used = [
        settings === undefined ? '' : read.get(ConfigMap, { namespace, name: settings }, settingsOf),
        credentials === undefined ? '' : read.get(Secret, { namespace, name: credentials }, credentialsOf),
        region === undefined ? '' : read.get(Region, { name: region }, zoneOf),
      ];
      return plan({ status: { address: host, summary: digest(routes, used) } });
    },
  });
  return operator({ name: 'bench', kinds: [WebProxy, Region], reconcilers: [webProxies] });
}

const SETTINGS = { namespace: namespaceOf(0), name: 'settings' };
const CREDENTIALS = { namespace: namespaceOf(1), name: 'credentials' };
const REGION = { name: 'north' };

async function fillCluster({ client }: Cluster, objects: number, readers: number): Promise<void> {
  await client.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: SETTINGS, data: { level: '0' } });
  await client.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata: CREDENTIALS, data: { key: base64('0') } });
  const { apiVersion, kind } = Region;
  await client.create(Region, { apiVersion, kind, metadata: REGION, spec: { zone: '0' } });
  for (let index = 0; index < objects; index++)
    await client.create(WebProxy, webProxy(index, references(index, readers)));
}

/** Namespaces repeat every NAMESPACES objects: the first `readers` of the first three refer to something. */
function references(index: number, readers: number): References {
  if (index >= readers * NAMESPACES) return {};
  const which = index % NAMESPACES;
  if (which === 0) return { settings: SETTINGS.name };
  if (which === 1) return { credentials: CREDENTIALS.name };
  return which === 2 ? { region: REGION.name } : {};
}

function sharedWrites({ client }: Cluster, readers: number): SharedWrite[] {
  const proxy = { namespace: namespaceOf(0), name: nameOf(0) };
  return [
    {
      what: `a ConfigMap that ${readers} read`,
      expected: readers,
      write: (index) => client.patch(ConfigMap, SETTINGS, 'merge', { data: { level: String(index + 1) } }),
    },
    {
      what: `a Secret that ${readers} read`,
      expected: readers,
      write: (index) => client.patch(Secret, CREDENTIALS, 'merge', { data: { key: base64(String(index + 1)) } }),
    },
    {
      what: `an object of another kind that ${readers} read`,
      expected: readers,
      write: (index) => client.patch(Region, REGION, 'merge', { spec: { zone: String(index + 1) } }),
    },
    {
      what: `a field of it that nothing reads`,
      expected: 0,
      write: (index) => client.patch(Region, REGION, 'merge', { spec: { contact: String(index + 1) } }),
    },
    {
      what: 'a label of a ConfigMap whose data is read',
      expected: 0,
      write: (index) =>
        client.patch(ConfigMap, SETTINGS, 'merge', { metadata: { labels: { touched: String(index + 1) } } }),
    },
    {
      what: `a status write to an object`,
      expected: 0,
      write: (index) => {
        const status = { conditions: [{ ...FOREIGN_CONDITION, message: String(index + 1) }] };
        return client.patch(WebProxy, proxy, 'merge', { status }, { subresource: 'status' });
      },
    },
  ];
}

/** Another client's: the operator has no conditions. */
const FOREIGN_CONDITION = {
  type: 'Seen',
  status: 'True',
  reason: 'Seen',
  lastTransitionTime: '2026-01-01T00:00:00Z',
};

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
