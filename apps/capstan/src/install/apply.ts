// Applies an installation and waits until its operators are ready: definitions first, because operators of a new version expect
// them, then all operators. When one does not become ready, every one that is not ready gets its former Deployment back.
import {
  type Client,
  type Clock,
  ClusterRole,
  ClusterRoleBinding,
  Deployment,
  type Discovery,
  discover,
  isForbidden,
  isNotFound,
  type Kind,
  type KubeObject,
  Namespace,
  Pod,
  podProblem,
  refOf,
  rolloutProgress,
  sleep,
} from '@capstan/kube';
import { boundsOf, ensureCrds, isBoundBinding, POLICY_MINOR, SYSTEM_NAMESPACE } from '@capstan/reconcile';
import { CliErrors } from '../cli/errors.ts';
import { asCreatedByInstall, isCreatedByInstall } from './installation.ts';
import {
  type Installation,
  installationObjects,
  isDefinition,
  isPolicy,
  MANAGED_BY,
  ONE_PROGRAM,
  objectKey,
  operatorsOf,
} from './manifests.ts';

export interface ApplyInstallationOptions {
  client: Client;
  clock: Clock;
  installation: Installation;
  timeoutMs: number;
  /** A line for people. */
  report(line: string): void;
  signal: AbortSignal;
}

export const FIELD_MANAGER = 'capstan-install';
const POLL_MS = 500;
/** Selects the objects of an installation by `capstan install`. */
const MANAGED = Object.entries(MANAGED_BY)
  .map(([key, value]) => `${key}=${value}`)
  .join(',');

export async function applyInstallation(options: ApplyInstallationOptions): Promise<void> {
  const { client, clock, installation, report, signal } = options;
  const { foundations, workloads } = installationObjects(installation);
  await refuseOldServer(client, signal);
  await refuseSecondInstallation(client, installation, signal);
  await refuseHalfAProgram(client, installation, signal);
  const isNamespaced = installation.isNamespaced === true;
  if (!isNamespaced) await refuseMissingBound(client, installation, signal);
  const kinds = await discover(client, { signal });
  const isServed = (one: KubeObject) => !isPolicy(one) || kinds.kindOf(one.apiVersion, one.kind) !== undefined;
  for (const one of foundations.filter(isServed)) await applied(one.kind === Namespace.kind ? await marked(one) : one);
  if (!foundations.every(isServed))
    report(
      `the cluster has no admission policies (Kubernetes 1.${POLICY_MINOR} has them): the operators' accounts may change Secrets of others`,
    );
  const definitions = foundations.filter(isDefinition).length;
  report(isNamespaced ? 'the permissions are in place' : `${definitions} definitions and the permissions are in place`);
  // An account of one namespace may not read definitions; the kinds were found by discovery.
  if (!isNamespaced)
    await ensureCrds({ client, clock, operators: installation.operators, install: false, wait: true, signal });
  const deadline = clock.now() + options.timeoutMs;
  const before = new Map<string, Deployment | undefined>();
  for (const [operator, objects] of workloads) {
    const { namespace } = installation;
    before.set(operator, await client.find(Deployment, { namespace, name: `capstan-${operator}` }, { signal }));
    for (const one of objects) await applied(one);
  }
  for (const operator of workloads.keys()) {
    const problem = await untilReady(operator, deadline, options);
    if (problem !== undefined) {
      await restore([...before.values()].filter((one) => one !== undefined));
      throw CliErrors.NotReady(operator, problem, before.get(operator) !== undefined);
    }
    report(`${operator} is ready`);
  }
  await removeOtherForm();
  await removeOtherBounds(client, installation, signal);

  /**
   * The same operators in the other form: each on its own, or all in one program. It is removed when this one is ready and waits for
   * the Leases. Its permissions differ by their bindings and accounts.
   */
  async function removeOtherForm(): Promise<void> {
    const other = installationObjects({ ...installation, isOneProgram: !installation.isOneProgram });
    const own = new Set([...foundations, ...[...workloads.values()].flat()].map(objectKey));
    const left = [...[...other.workloads.values()].flat(), ...other.foundations].filter(
      (one) => !own.has(objectKey(one)) && kinds.kindOf(one.apiVersion, one.kind) !== undefined,
    );
    let removed = 0;
    for (const one of left)
      await client.delete(kindOf(kinds, one), refOf(one), { propagationPolicy: 'Foreground', signal }).then(
        () => removed++,
        (error: unknown) => {
          if (!isNotFound(error)) throw error;
        },
      );
    // A Deployment is there until its last pod has ended: until then, the former program may hold a Lease.
    const ending = left.filter(({ kind }) => kind === Deployment.kind);
    for (const one of ending)
      await untilGone({ client, clock, kind: Deployment, object: one, timeoutMs: deadline - clock.now(), signal });
    if (removed > 0) report(installation.isOneProgram ? 'their Deployments are removed' : 'the one for all is removed');
  }

  /** Restores the former pods. Definitions are not reverted: a newer one accepts all objects of an older one. */
  async function restore(deployments: readonly Deployment[]): Promise<void> {
    for (const { apiVersion, kind, metadata, spec } of deployments) {
      const ref = refOf({ apiVersion, kind, metadata });
      if (rolloutProgress(await client.get(Deployment, ref, { signal })).isComplete) continue;
      const body = { apiVersion, kind, metadata: { ...ref, labels: metadata.labels }, spec } as Deployment;
      await client.apply(Deployment, body, { fieldManager: FIELD_MANAGER, force: true, signal });
    }
  }

  async function marked(namespace: KubeObject): Promise<KubeObject> {
    const existing = await client.find(Namespace, refOf(namespace), { signal });
    return existing === undefined || isCreatedByInstall(existing) ? asCreatedByInstall(namespace) : namespace;
  }

  async function applied(one: KubeObject): Promise<void> {
    try {
      await client.apply(kindOf(kinds, one), one, { fieldManager: FIELD_MANAGER, force: true, signal });
    } catch (error) {
      if (isTerminating(error)) throw CliErrors.NamespaceGoing(one.metadata.namespace ?? '');
      if (isForbidden(error)) throw CliErrors.InstallForbidden(nameOf(one), error.message);
      throw error;
    }
  }
}

/** Bindings to bounds that were chosen before: with one, an account would hold more than the present bound. */
export async function otherBounds(
  client: Client,
  installation: Installation,
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  if (installation.isNamespaced === true) return [];
  const own = new Set(installationObjects(installation).foundations.map(objectKey));
  const { items } = await client.list(ClusterRoleBinding, { labelSelector: MANAGED, signal });
  return items.filter(
    (one) =>
      !own.has(objectKey(one)) &&
      installation.operators.some(
        ({ name }) => isBoundBinding(one, `capstan-${name}`) || isBoundBinding(one, `capstan-${ONE_PROGRAM}-${name}`),
      ),
  );
}

async function removeOtherBounds(client: Client, installation: Installation, signal: AbortSignal): Promise<void> {
  for (const one of await otherBounds(client, installation, signal))
    await client.delete(ClusterRoleBinding, refOf(one), { signal }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
}

/** The Deployment of several operators is written with all that it runs, or not at all: an operator would stop unnoticed. */
export async function refuseHalfAProgram(
  client: Client,
  { namespace, operators }: Installation,
  signal: AbortSignal,
): Promise<void> {
  const program = await client.find(Deployment, { namespace, name: `capstan-${ONE_PROGRAM}` }, { signal });
  const named = new Set(operators.map(({ name }) => name));
  const others = program === undefined ? [] : operatorsOf(program).filter((name) => !named.has(name));
  if (others.length > 0) throw CliErrors.SharedProgram(others, namespace);
}

/** Without the role, the operator could grant nothing, and each package would report it. */
async function refuseMissingBound(client: Client, { operators }: Installation, signal: AbortSignal): Promise<void> {
  for (const { role, roles = [] } of operators.flatMap((operator) => boundsOf(operator)))
    if (roles.length === 0 && (await client.find(ClusterRole, { name: role }, { signal })) === undefined)
      throw CliErrors.NoMaxRole(role);
}

/** Two sets of operators would share one Lease: the second would never do anything. */
async function refuseSecondInstallation(
  client: Client,
  { namespace, isNamespaced = false }: Installation,
  signal: AbortSignal,
): Promise<void> {
  // Its Leases are in its own namespace, and others are not its to look into.
  if (isNamespaced) return;
  for await (const { items } of client.pages(Deployment, { labelSelector: MANAGED, signal })) {
    const other = items.find((one) => one.metadata.namespace !== namespace);
    if (other !== undefined) throw CliErrors.InstalledElsewhere(other.metadata.namespace ?? '');
  }
  for (const name of new Set([SYSTEM_NAMESPACE, namespace])) {
    const existing = await client.find(Namespace, { name }, { signal });
    if (existing?.metadata.deletionTimestamp !== undefined) throw CliErrors.NamespaceGoing(name);
  }
}

/** The oldest minor version of Kubernetes 1 that is supported. */
export const OLDEST_MINOR = 28;

/** A server that does not show its version is taken for one that is new enough. */
async function refuseOldServer(client: Client, signal: AbortSignal): Promise<void> {
  const { body } = await client.request({ method: 'GET', path: '/version', signal });
  const { gitVersion = '' } = (body ?? {}) as { gitVersion?: string };
  const minor = /^v1\.(\d+)/.exec(gitVersion)?.[1];
  if (minor !== undefined && Number(minor) < OLDEST_MINOR)
    throw CliErrors.ServerTooOld(gitVersion, `1.${OLDEST_MINOR}`);
}

interface UntilGoneOptions {
  client: Client;
  clock: Clock;
  kind: Kind;
  object: KubeObject;
  timeoutMs: number;
  signal: AbortSignal;
}

/** Throws when the object is still there at the end of the time. */
export async function untilGone({ client, clock, kind, object, timeoutMs, signal }: UntilGoneOptions): Promise<void> {
  const deadline = clock.now() + timeoutMs;
  while ((await client.find(kind, refOf(object), { signal })) !== undefined) {
    if (clock.now() >= deadline) throw CliErrors.NotGone(nameOf(object));
    await sleep(clock, POLL_MS, signal);
  }
}

/** Undefined when it is ready; else why it is not, at the deadline. */
async function untilReady(
  operator: string,
  deadline: number,
  { client, clock, installation: { namespace }, report, signal }: ApplyInstallationOptions,
): Promise<string | undefined> {
  const ref = { namespace, name: `capstan-${operator}` };
  let reported = '';
  for (;;) {
    const deployment = await client.get(Deployment, ref, { signal });
    const { isComplete, available, wanted, problem } = rolloutProgress(deployment);
    if (isComplete) return undefined;
    // Report both, the pod first: the controller's message may be about pods of the earlier version.
    const causes = [await podProblemOf(client, ref, signal), problem?.message].filter((cause) => cause !== undefined);
    const line = [`${operator}: ${available} of ${wanted} ready`, ...causes].join('; ');
    if (line !== reported) report(line);
    reported = line;
    if (clock.now() >= deadline) return causes.join('; ') || `${available} of ${wanted} replicas are ready`;
    await sleep(clock, POLL_MS, signal);
  }
}

async function podProblemOf(
  client: Client,
  { namespace, name }: { namespace: string; name: string },
  signal: AbortSignal,
): Promise<string | undefined> {
  const { items } = await client.list(Pod, { namespace, labelSelector: `app.kubernetes.io/name=${name}`, signal });
  // The newest pod holds a rollout up. A pod of the earlier version may have had problems of its own.
  const newestFirst = items.toSorted((a, b) => createdAt(b).localeCompare(createdAt(a)));
  return newestFirst.map((pod) => podProblem(pod)?.message).find((message) => message !== undefined);
}

const createdAt = ({ metadata }: Pod) => metadata.creationTimestamp ?? '';

export function kindOf(served: Discovery, { apiVersion, kind }: KubeObject): Kind {
  const found = served.kindOf(apiVersion, kind);
  if (found === undefined) throw CliErrors.KindNotServed(apiVersion, kind);
  return found;
}

export function nameOf({ kind, metadata: { namespace, name } }: KubeObject): string {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}

/** The server refuses that as forbidden, which is not a question of rights. */
function isTerminating(error: unknown): boolean {
  return !isNotFound(error) && /being terminated/.test(String(error));
}
