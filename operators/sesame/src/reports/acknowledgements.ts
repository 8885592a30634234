// The Envoys of a Sesame with the acknowledgements and rejections of each, from the debug servers of its pods. They are reached through the
// API server with the rights of the user.
import { isForbidden, Pod, reasonOf } from '@capstan/kube';
import type { Acknowledgement, ReportContext } from '@capstan/reconcile';
import type { ResourceType } from '../envoy/index.ts';
import { SesameConfiguration } from '../kinds/index.ts';
import type { NodeReport } from '../xds/index.ts';

export interface Acknowledgements {
  readonly envoys?: readonly AcknowledgingEnvoy[];
  readonly envoysUnknown?: string;
}

interface AcknowledgingEnvoy {
  readonly node: string;
  /** The version of Envoy; empty if it is not known. */
  readonly version: string;
  readonly protocol: string;
  readonly rejections: NodeReport['rejections'];
  readonly types: readonly {
    readonly type: string;
    readonly resources: number;
    readonly sent: string;
    readonly acknowledged: string;
    readonly rejected?: { readonly version: string; readonly message: string };
  }[];
}

const DEFAULT_PORT = 6060;
const MAX_PODS = 10;
const SERVE = /(?:^|\/)serve$/;

export async function readAcknowledgements(
  instance: string,
  { client, signal }: Pick<ReportContext, 'client' | 'signal'>,
): Promise<Acknowledgements> {
  const slash = instance.indexOf('/');
  const [namespace, name] = [instance.slice(0, slash), instance.slice(slash + 1)];
  try {
    const configuration = await client.find(SesameConfiguration, { namespace, name }, { signal });
    const port = configuration?.spec?.debug?.port ?? DEFAULT_PORT;
    const { items } = await client.list(Pod, { namespace, signal });
    const pods = items.filter((pod) => servesAs(pod, name)).slice(0, MAX_PODS);
    if (pods.length === 0) return { envoysUnknown: `no pod of Sesame ${instance} runs` };
    const answers = await Promise.all(
      pods.map(async ({ metadata }) => {
        const path = `/api/v1/namespaces/${namespace}/pods/${metadata.name ?? ''}:${port}/proxy/debug/xds`;
        const { body } = await client.request({ method: 'GET', path, signal });
        return envoysIn(body);
      }),
    );
    return { envoys: answers.flat() };
  } catch (error) {
    signal.throwIfAborted();
    const right = isForbidden(error) ? '; the right to get pods/proxy is missing' : '';
    return {
      envoysUnknown: `the debug server of Sesame ${instance} cannot be read (${reasonOf(error)})${right}; it may listen on loopback only`,
    };
  }
}

/**
 * The deliveries of an object: rejected where an Envoy refuses a resource that comes from it, acknowledged where every Envoy has accepted
 * the last version of each type that it was sent.
 */
export async function acknowledgementsOf(
  instance: string,
  { object, keys }: { readonly object: string; readonly keys: readonly string[] },
  context: Pick<ReportContext, 'client' | 'signal'>,
): Promise<ReadonlyMap<string, Acknowledgement>> {
  const { envoys, envoysUnknown } = await readAcknowledgements(instance, context);
  const answer: Acknowledgement =
    envoys === undefined ? { state: 'not-known', message: envoysUnknown ?? '' } : acknowledgementIn(envoys, object);
  return new Map(keys.map((key) => [key, answer]));
}

function acknowledgementIn(envoys: readonly AcknowledgingEnvoy[], object: string): Acknowledgement {
  if (envoys.length === 0) return { state: 'waiting', message: 'no Envoy is connected' };
  const refusal = envoys
    .flatMap(({ node, rejections }) => rejections.map((one) => ({ node, ...one })))
    .find(({ origins }) => origins.includes(object));
  if (refusal !== undefined)
    return { state: 'rejected', message: `${refusal.node} refuses ${refusal.key}: ${refusal.message}` };
  const late = envoys.filter(({ types }) => types.some(({ sent, acknowledged }) => sent !== acknowledged));
  const all = envoys.length === 1 ? '1 Envoy' : `${envoys.length} Envoys`;
  if (late.length > 0)
    return { state: 'waiting', message: `${late.length} of ${all} have not answered yet: ${late[0]?.node ?? ''}` };
  return { state: 'acknowledged', message: `by ${all}` };
}

/** Whether a pod runs `sesame serve` with this configuration. */
function servesAs({ spec, status, metadata }: Pod, configuration: string): boolean {
  if (status?.phase !== 'Running' || metadata.deletionTimestamp !== undefined) return false;
  return (
    spec?.containers.some(({ command = [], args = [] }) => {
      const words = [...command, ...args];
      const named = words.flatMap((word, at) => {
        const [, value] = /^--[sS]esame-config(?:-name)?(?:=(.*))?$/.exec(word) ?? [];
        return value !== undefined ? [value] : /^--[sS]esame-config(?:-name)?$/.test(word) ? [words[at + 1] ?? ''] : [];
      });
      return words.some((word) => SERVE.test(word)) && (named[0] ?? 'sesame') === configuration;
    }) ?? false
  );
}

type Counts = Readonly<Partial<Record<ResourceType, number>>>;

function envoysIn(body: unknown): AcknowledgingEnvoy[] {
  const { clients, resources } = (typeof body === 'string' ? JSON.parse(body) : (body ?? {})) as {
    clients?: readonly NodeReport[];
    resources?: Counts;
  };
  return (clients ?? []).map((client) => envoyOf(client, resources ?? {}));
}

const TYPES: Readonly<Partial<Record<ResourceType, string>>> = {
  lds: 'listeners',
  rds: 'routes',
  vhds: 'virtual hosts',
  cds: 'clusters',
  eds: 'endpoints',
  sds: 'secrets',
  rtds: 'runtime',
};

function envoyOf({ node, sent, acknowledged, rejections }: NodeReport, counts: Counts): AcknowledgingEnvoy {
  const refused = Map.groupBy(rejections, ({ key }) => typeOf(key));
  const types = [...new Set([...Object.keys(sent), ...Object.keys(acknowledged), ...refused.keys()])] as ResourceType[];
  return {
    node,
    version: '',
    protocol: 'xDS',
    rejections,
    types: types.toSorted().map((type) => {
      const [rejected] = refused.get(type) ?? [];
      return {
        type: TYPES[type] ?? type,
        resources: counts[type] ?? 0,
        sent: sent[type] ?? '',
        acknowledged: acknowledged[type] ?? '',
        ...(rejected && { rejected: { version: rejected.version, message: rejected.message } }),
      };
    }),
  };
}

/** Keys of resources begin with their type. */
function typeOf(key: string): string {
  return /^[a-z]+/.exec(key)?.[0] ?? '';
}
