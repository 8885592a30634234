// Checks a cluster before and after an installation, and finds present and imminent problems for Capstan. It writes nothing.
import {
  type Client,
  CustomResourceDefinition,
  Deployment,
  discover,
  type KubeObject,
  keyOfObject,
  kindId,
  reasonOf,
  rolloutProgress,
} from '@capstan/kube';
import { finalizerOf, type Operator } from '@capstan/reconcile';

import { OLDEST_MINOR } from '../install/apply.ts';
import { operatorsOf } from '../install/manifests.ts';
import { leaderOf } from '../status/leader-of.ts';
import { VERSION } from '../version.ts';
import { certificates } from './certificates.ts';
import { type Finding, findings, ok, problem, some, warning } from './finding.ts';
import { rights } from './rights.ts';
import { webhooks } from './webhooks.ts';

export interface CheckOptions {
  client: Client;
  operators: readonly Operator[];
  /** Where an installation is, or would be. */
  namespace: string;
  now: number;
  signal: AbortSignal;
}

export interface CheckReport {
  /** True if there is no problem. Unknown results do not count. */
  readonly passed: boolean;
  readonly findings: readonly Finding[];
}

export async function runChecks(options: CheckOptions): Promise<CheckReport> {
  const reached = await connection(options);
  if (reached.some(({ state }) => state === 'problem')) return { passed: false, findings: reached };
  const installed = await installedIn(options);
  const running = runningOperators(options.operators, installed);
  const checks: Readonly<Record<string, () => Promise<readonly Finding[]>>> = {
    definitions: () => definitions(options, installed),
    installation: () => installation(options, installed, running),
    skew: () => Promise.resolve(skew(installed)),
    leases: () => leases(options, running),
    rights: () => rights({ ...options, running }),
    certificates: () => certificates(options),
    finalizers: () => finalizers(options),
    webhooks: () => webhooks(options),
  };
  const found = await Promise.all(Object.entries(checks).map(([name, find]) => findings(name, find)));
  const all = [...reached, ...found.flat()];
  return { passed: all.every(({ state }) => state !== 'problem'), findings: all };
}

async function connection({ client, signal }: CheckOptions): Promise<readonly Finding[]> {
  try {
    const { body } = await client.request({ method: 'GET', path: '/version', signal });
    const { gitVersion = '' } = (body ?? {}) as { gitVersion?: string };
    const minor = /^v1\.(\d+)/.exec(gitVersion)?.[1];
    const reached = ok('connection', `the API server answers: Kubernetes ${gitVersion || 'of an unknown version'}`);
    if (minor !== undefined && Number(minor) < OLDEST_MINOR)
      return [
        reached,
        problem('versions', `Kubernetes ${gitVersion} is older than 1.${OLDEST_MINOR}`, 'upgrade the cluster'),
      ];
    return [reached, ok('versions', `Capstan ${VERSION} works with Kubernetes 1.${OLDEST_MINOR} and newer`)];
  } catch (error) {
    return [problem('connection', reasonOf(error), 'check the kubeconfig: --context and --kubeconfig choose another')];
  }
}

async function definitions(
  { client, operators, signal }: CheckOptions,
  installed: readonly Deployment[],
): Promise<readonly Finding[]> {
  const kinds = operators.flatMap((operator) => operator.kinds);
  const served = await discover(client, { signal });
  const missing = kinds.filter(({ apiVersion, kind }) => served.kindOf(apiVersion, kind) === undefined);
  // Before an installation nothing is wrong with a cluster that lacks all of them.
  if (installed.length === 0 && missing.length === kinds.length && kinds.length > 0)
    return [
      warning('definitions', `none of the ${kinds.length} kinds is installed yet`, 'capstan install applies them'),
    ];
  const remedy = 'capstan install applies them; without it: capstan crds | kubectl apply --server-side -f -';
  const others: string[] = [];
  for (const kind of kinds.filter((one) => !missing.includes(one)))
    if (await differs(client, kind, signal)) others.push(kindId(kind));
  return [
    ...(missing.length > 0
      ? [problem('definitions', `the cluster does not serve ${some(missing.map(kindId))}`, remedy)]
      : []),
    ...(others.length > 0
      ? [
          warning(
            'definitions',
            `the definitions of ${some(others)} are those of another version`,
            'run capstan upgrade',
          ),
        ]
      : []),
    ...(missing.length === 0 && others.length === 0 ? [ok('definitions', `all ${kinds.length} kinds are served`)] : []),
  ];
}

/** True when the schema lacks a field that this version has. Other differences come from servers, which add defaults. */
async function differs(client: Client, kind: Operator['kinds'][number], signal: AbortSignal): Promise<boolean> {
  const own = kind.crd() as CustomResourceDefinition;
  const { name = '' } = own.metadata;
  const live = await client.find(CustomResourceDefinition, { name }, { signal });
  return live !== undefined && !covers(schemaOf(live, kind.version), schemaOf(own, kind.version));
}

function schemaOf({ spec }: CustomResourceDefinition, version: string): unknown {
  return spec.versions.find(({ name }) => name === version)?.schema?.openAPIV3Schema;
}

interface PartOfSchema {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly items?: unknown;
  readonly additionalProperties?: unknown;
}

function covers(live: unknown, own: unknown): boolean {
  if (typeof own !== 'object' || own === null) return true;
  if (typeof live !== 'object' || live === null) return false;
  const [there, here] = [live as PartOfSchema, own as PartOfSchema];
  return (
    Object.entries(here.properties ?? {}).every(([name, part]) => covers(there.properties?.[name], part)) &&
    (here.items === undefined || covers(there.items, here.items)) &&
    (here.additionalProperties === undefined || covers(there.additionalProperties, here.additionalProperties))
  );
}

/** The Deployments of an installation, by `capstan install`, Helm or kustomize. */
async function installedIn({ client, namespace, signal }: CheckOptions): Promise<readonly Deployment[]> {
  const selector = 'app.kubernetes.io/part-of=capstan';
  try {
    return (await client.list(Deployment, { namespace, labelSelector: selector, signal })).items;
  } catch {
    // The check of rights reports it.
    return [];
  }
}

function runningOperators(operators: readonly Operator[], installed: readonly Deployment[]): readonly Operator[] {
  const names = new Set(installed.flatMap(operatorsOf));
  return operators.filter(({ name }) => names.has(name));
}

async function installation(
  { client, operators, now, signal }: CheckOptions,
  installed: readonly Deployment[],
  running: readonly Operator[],
): Promise<readonly Finding[]> {
  if (installed.length === 0) {
    const leaders = await Promise.all(operators.map((operator) => leaderOf(client, operator, now, signal)));
    const led = leaders.filter(({ holder }) => holder !== undefined);
    const message = `no Deployments are in this namespace; started otherwise (capstan up, capstan run): ${some(led.map(({ operator, holder }) => `${operator} (${holder})`))}`;
    if (led.length > 0) return [ok('installation', message)];
    return [
      warning(
        'installation',
        'no operator is installed in this namespace',
        'capstan install; -n names another namespace',
      ),
    ];
  }
  const waiting = installed.flatMap((deployment) => {
    const { isComplete, available, wanted, problem: reported } = rolloutProgress(deployment);
    const what = `${deployment.metadata.name}: ${available} of ${wanted} pods are ready`;
    return isComplete ? [] : [reported === undefined ? what : `${what}, ${reported.message}`];
  });
  const names = running.map(({ name }) => name).join(', ');
  return waiting.length === 0
    ? [ok('installation', `${names} ${running.length === 1 ? 'is' : 'are'} installed and ready`)]
    : waiting.map((message) =>
        problem('installation', message, 'kubectl describe pod and kubectl logs show why; capstan upgrade repairs it'),
      );
}

function skew(installed: readonly Deployment[]): readonly Finding[] {
  const label = 'app.kubernetes.io/version';
  const others = installed.filter(({ metadata }) => (metadata.labels?.[label] ?? VERSION) !== VERSION);
  if (others.length === 0) return installed.length === 0 ? [] : [ok('skew', `everything is of version ${VERSION}`)];
  const shown = others.map(({ metadata }) => `${metadata.name} (${metadata.labels?.[label]})`);
  return [warning('skew', `of another version than this program (${VERSION}): ${some(shown)}`, 'run capstan upgrade')];
}

async function leases(
  { client, now, signal }: CheckOptions,
  running: readonly Operator[],
): Promise<readonly Finding[]> {
  const leaders = await Promise.all(running.map((operator) => leaderOf(client, operator, now, signal)));
  const found = leaders.flatMap(({ operator, holder, isKnown, summary }): Finding[] => {
    if (holder !== undefined) return [];
    if (!isKnown) return [{ check: 'leases', state: 'unknown', message: `${operator}: ${summary}` }];
    return [
      problem(
        'leases',
        `no instance writes for ${operator}: ${summary}`,
        'look at its pods: kubectl logs, kubectl describe',
      ),
    ];
  });
  return found.length > 0 || running.length === 0
    ? found
    : [ok('leases', 'every operator has an instance that writes')];
}

/** A finalizer is released within seconds, unless something is in the way. */
const STUCK_MS = 5 * 60_000;

async function finalizers({ client, operators, now, signal }: CheckOptions): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  const served = new Set((await discover(client, { signal })).kinds.map(kindId));
  for (const operator of operators) {
    const own = new Set(operator.reconcilers.map(finalizerOf));
    for (const kind of operator.kinds.filter((one) => served.has(kindId(one))))
      for await (const object of objectsOf(client, kind, signal)) {
        const { deletionTimestamp, finalizers: held = [] } = object.metadata;
        if (deletionTimestamp === undefined || now - Date.parse(deletionTimestamp) < STUCK_MS) continue;
        const names = held.filter((name) => own.has(name));
        const who = names.length > 0 ? `${operator.name} (${names.join(', ')})` : held.join(', ') || 'its own deletion';
        found.push(
          problem(
            'finalizers',
            `${kindId(kind)} ${keyOfObject(object)} is being deleted since ${deletionTimestamp} and waits for ${who}`,
            'capstan status shows its conditions; the operator must run to release it',
          ),
        );
      }
  }
  return found.length > 0 ? found : [ok('finalizers', 'no object waits to be deleted')];
}

async function* objectsOf(
  client: Client,
  kind: Operator['kinds'][number],
  signal: AbortSignal,
): AsyncGenerator<KubeObject> {
  for await (const { items } of client.pages(kind, { signal })) yield* items;
}
