// Which Sesames run in a cluster, or would after a change: for `capstan plan`. A SesameConfiguration is one that runs where its operator
// created it, or where a Sesame reports that it uses it; a Sesame without one runs with defaults.
import { type Client, childNameWithin, Deployment, type KubeObject, kindId, Lease } from '@capstan/kube';
import type { Instances, InstancesContext } from '@capstan/reconcile';
import { FEATURES, type FlagValue, parseServeFlags } from '../configuration/index.ts';
import { INSTANCE_LABEL, instanceOf } from '../configuration/instance-record.ts';
import { names, OWNER_LABEL } from '../deployment/instance.ts';
import { servedGatewayKinds } from '../gateway/api/served-kinds.ts';
import { MAX_DEPLOYMENT_NAME } from '../gateway/provisioning/provision-gateway.ts';
import { type ContourLease, contourLease } from '../kinds/contour.ts';
import { DEFAULT_NAMESPACE, GROUP } from '../kinds/group.ts';
import { SesameConfiguration, SesameDeployment } from '../kinds/index.ts';
import { plannedInstance } from './planned-instance.ts';

export async function findInstances(context: InstancesContext): Promise<Instances> {
  const found = await candidates(context);
  const notes: string[] = [];
  if (found.length === 0) {
    if (!context.given.some(({ kind }) => kind.group === GROUP)) return { operators: [], notes };
    notes.push('no Sesame runs in this cluster: shown is what one with default settings would do');
    found.push({ namespace: DEFAULT_NAMESPACE, name: 'sesame', isManaged: false });
  }
  const gatewayKinds = await servedGatewayKinds(context.client, context.signal);
  const taken = new Set<string>();
  const operators = await Promise.all(
    found.map(async ({ namespace, name, isManaged }) => {
      const start = await startOf({ namespace, name }, context);
      const who = `Sesame ${namespace}/${name}`;
      notes.push(...start.notes.map((note) => `${who} ${note}`));
      const { watchNamespaces } = start;
      if (watchNamespaces && !context.given.some((given) => isWatched(given, watchNamespaces))) return [];
      const choice = { namespace, name, flags: start.flags, watchNamespaces, invalidPolicy: start.invalidPolicy };
      return [
        plannedInstance({
          name: operatorName(namespace, name, taken),
          choice,
          isManaged,
          gatewayKinds,
          contour: start.contour,
        }),
      ];
    }),
  );
  return { operators: operators.flat(), notes };
}

interface Candidate {
  readonly namespace: string;
  /** The name of its SesameConfiguration. */
  readonly name: string;
  readonly isManaged: boolean;
}

async function candidates({ client, clock, signal, given }: InstancesContext): Promise<Candidate[]> {
  const [configurations, deployments, leases] = await Promise.all([
    listed(client, SesameConfiguration, signal),
    listed(client, SesameDeployment, signal),
    listed(client, Lease, signal, `${INSTANCE_LABEL}=true`),
  ]);
  const found = new Map<string, Candidate>();
  const add = (namespace: string, name: string, isManaged: boolean) => {
    const key = `${namespace}/${name}`;
    if (!found.has(key)) found.set(key, { namespace, name, isManaged });
  };
  const ofDeployment = ({ metadata }: KubeObject) =>
    add(metadata.namespace ?? '', names.configuration({ name: metadata.name ?? '', namespace: '' }), true);
  for (const deployment of deployments) ofDeployment(deployment);
  for (const { kind, after } of given) {
    if (!after) continue;
    const { namespace = '', name = '' } = after.metadata;
    if (kindId(kind) === kindId(SesameDeployment)) ofDeployment(after);
    // Whether it is one of ours follows from its class, and then its SesameDeployment is created.
    if (kindId(kind) === 'Gateway.gateway.networking.k8s.io')
      add(namespace, names.configuration({ name: childNameWithin(MAX_DEPLOYMENT_NAME, name), namespace }), true);
    if (kindId(kind) === kindId(SesameConfiguration)) add(namespace, name, isManaged(after));
  }
  const live = leases.flatMap((lease) => {
    const instance = instanceOf(lease);
    return instance && instance.expiresAt > clock.now()
      ? [{ namespace: lease.metadata.namespace ?? '', name: instance.record.configuration }]
      : [];
  });
  for (const { metadata, ...configuration } of configurations) {
    const { namespace = '', name = '' } = metadata;
    const isOwned = isManaged({ metadata, ...configuration });
    const isUsed = live.some((each) => each.namespace === namespace && each.name === name);
    // One that no Sesame uses is a draft, unless no Sesame reports anything.
    if (isOwned || isUsed || live.length === 0) add(namespace, name, isOwned);
  }
  for (const { namespace, name } of live) add(namespace, name, false);
  return [...found.values()].toSorted((left, right) =>
    `${left.namespace}/${left.name}` < `${right.namespace}/${right.name}` ? -1 : 1,
  );
}

function isManaged({ metadata }: KubeObject): boolean {
  return metadata.labels?.[OWNER_LABEL] !== undefined;
}

/** None where the kind is not installed or may not be listed. */
async function listed<T extends KubeObject>(
  client: Client,
  kind: Parameters<typeof client.list<T>>[0],
  signal: AbortSignal,
  labelSelector?: string,
): Promise<readonly T[]> {
  try {
    return (await client.list(kind, { signal, ...(labelSelector && { labelSelector }) })).items;
  } catch {
    signal.throwIfAborted();
    return [];
  }
}

interface Start {
  readonly flags: ReadonlyMap<string, FlagValue>;
  readonly watchNamespaces: readonly string[] | undefined;
  readonly invalidPolicy: 'stop' | 'keep-last-good';
  readonly contour?: ContourLease | undefined;
  readonly notes: readonly string[];
}

/** Returns the flags of its start, from the Deployment that runs it. */
async function startOf(id: { namespace: string; name: string }, { client, signal }: InstancesContext): Promise<Start> {
  const deployments = await listedIn(client, id.namespace, signal);
  for (const { spec } of deployments)
    for (const { command = [], args = [] } of spec?.template?.spec?.containers ?? []) {
      const line = [...command, ...args];
      const at = line.indexOf('serve');
      if (at < 0 || !line.slice(0, at).every((word) => /(?:^|\/)(?:sesame|capstan|node)$/.test(word))) continue;
      const { fields, start } = parseServeFlags(line.slice(at + 1));
      if ((start.get('sesame-config') ?? 'sesame') !== id.name) continue;
      const disabled = FEATURES.filter((feature) => listOf(start.get('disable-feature')).includes(feature));
      const watched = listOf(start.get('watch-namespaces'));
      return {
        flags: fields,
        watchNamespaces: watched.length > 0 ? watched : undefined,
        invalidPolicy: start.get('invalid-config-policy') === 'keep-last-good' ? 'keep-last-good' : 'stop',
        contour: start.get('contour-compat') === 'true' ? contourLease(start.get('contour-lease')) : undefined,
        notes: [
          ...(start.has('config-path') ? ['reads its configuration from a file, which is not part of the plan'] : []),
          ...(disabled.length > 0 ? [`does not serve ${disabled.join(', ')}; the plan shows it as if it did`] : []),
          ...(watched.length > 0 ? [`watches ${watched.join(', ')} only; the plan shows it as if it watched all`] : []),
        ],
      };
    }
  return { flags: new Map(), watchNamespaces: undefined, invalidPolicy: 'stop', notes: [] };
}

async function listedIn(client: Client, namespace: string, signal: AbortSignal): Promise<readonly Deployment[]> {
  try {
    return (await client.list(Deployment, { namespace, signal })).items;
  } catch {
    signal.throwIfAborted();
    return [];
  }
}

function listOf(text: string | undefined): string[] {
  return (text ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

function isWatched({ kind, after }: InstancesContext['given'][number], watched: readonly string[]): boolean {
  return kind.scope === 'Cluster' || after === undefined || watched.includes(after.metadata.namespace ?? '');
}

/** Operators have names of letters, digits and dashes. */
function operatorName(namespace: string, name: string, taken: Set<string>): string {
  const words = `sesame-${namespace}-${name}`.replace(/[^a-z0-9]+/g, '-').replace(/-$/, '');
  let unique = words;
  for (let next = 2; taken.has(unique); next++) unique = `${words}-${next}`;
  taken.add(unique);
  return unique;
}
