// Removes an installation. Objects of the operators' kinds may hold finalizers that only a running operator releases, and
// stand for infrastructure in use: they are deleted first, while the operators run, or released and kept.
import {
  type Client,
  type Clock,
  Deployment,
  discover,
  isNotFound,
  type Kind,
  type KubeObject,
  kindId,
  Lease,
  refOf,
  Secret,
  sleep,
} from '@capstan/kube';
import { digestKeyName, finalizerOf, leaseName, type Operator, SYSTEM_NAMESPACE } from '@capstan/reconcile';
import { CliErrors } from '../cli/errors.ts';
import { kindOf, refuseHalfAProgram, untilGone } from './apply.ts';
import { type Installation, installationObjects, isDefinition } from './manifests.ts';

export interface RemoveInstallationOptions {
  client: Client;
  clock: Clock;
  installation: Installation;
  /** What becomes of objects of the operators' kinds; undefined: there must be none. */
  objects: 'delete' | 'keep' | undefined;
  timeoutMs: number;
  report(line: string): void;
  signal: AbortSignal;
}

const POLL_MS = 300;

export async function removeInstallation(options: RemoveInstallationOptions): Promise<void> {
  const { client, installation, objects, report, signal } = options;
  const { operators, namespace } = installation;
  await refuseHalfAProgram(client, installation, signal);
  const left = await objectsOf(client, operators, signal);
  if (left.length > 0 && objects === undefined) throw CliErrors.ObjectsLeft(counted(left));
  if (objects === 'delete') await deleteObjects(left, options);
  // In either form: each on its own, or all in one program.
  const forms = [false, true].map((isOneProgram) => installationObjects({ ...installation, isOneProgram }));
  const foundations = forms.flatMap((form) => form.foundations);
  const workloads = new Map(forms.flatMap((form) => [...form.workloads]));
  const names = [...workloads.keys()];
  for (const operator of names) {
    const ref = { namespace, name: `capstan-${operator}` };
    await remove(Deployment, ref);
    const object = { apiVersion: Deployment.apiVersion, kind: Deployment.kind, metadata: ref };
    await untilGone({ ...options, kind: Deployment, object });
  }
  report(`the operators ${operators.map(({ name }) => name).join(', ')} are stopped`);
  if (objects === 'keep') for (const one of left) await release(client, one, finalizersOf(operators), signal);
  const served = await discover(client, { signal });
  // Definitions go with their last object, and stay where objects are kept.
  const others = [...[...workloads.values()].flat(), ...foundations.toReversed()];
  for (const one of others) {
    const isKept = one.kind === 'Namespace' || (isDefinition(one) && objects === 'keep');
    if (!isKept && served.kindOf(one.apiVersion, one.kind) !== undefined) await remove(kindOf(served, one), refOf(one));
  }
  for (const name of names) {
    await remove(Lease, { namespace: SYSTEM_NAMESPACE, name: leaseName(name) });
    // Digests on objects that are kept were computed with it: without it the next installation would roll pods.
    if (objects !== 'keep') await remove(Secret, { namespace: SYSTEM_NAMESPACE, name: digestKeyName(name) });
  }
  report(
    `everything else of the installation is removed${objects === 'keep' ? ', except definitions and objects' : ''}`,
  );

  async function remove(kind: Kind, ref: { namespace?: string; name: string }): Promise<void> {
    try {
      await client.delete(kind, ref, { propagationPolicy: 'Foreground', signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

interface Left {
  readonly kind: Kind;
  readonly object: KubeObject;
}

async function objectsOf(client: Client, operators: readonly Operator[], signal: AbortSignal): Promise<Left[]> {
  const found: Left[] = [];
  for (const kind of operators.flatMap(({ kinds }) => kinds)) {
    try {
      for await (const { items } of client.pages(kind, { signal }))
        found.push(...items.map((object) => ({ kind, object })));
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
  return found;
}

/** Objects that others own go with them. */
async function deleteObjects(left: readonly Left[], options: RemoveInstallationOptions): Promise<void> {
  const { client, clock, installation, timeoutMs, report, signal } = options;
  const roots = left.filter(({ object }) => (object.metadata.ownerReferences ?? []).length === 0);
  for (const { kind, object } of roots)
    await client.delete(kind, refOf(object), { signal }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
  const deadline = clock.now() + timeoutMs;
  for (;;) {
    const still = await objectsOf(client, installation.operators, signal);
    if (still.length === 0) break;
    if (clock.now() >= deadline) throw CliErrors.NotGone(counted(still));
    await sleep(clock, POLL_MS, signal);
  }
  report(`deleted ${counted(left)}`);
}

function finalizersOf(operators: readonly Operator[]): ReadonlySet<string> {
  return new Set(operators.flatMap(({ reconcilers }) => reconcilers.map(finalizerOf)));
}

/** Without its operator nothing would release it. */
async function release(
  client: Client,
  { kind, object }: Left,
  own: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<void> {
  const finalizers = object.metadata.finalizers ?? [];
  const kept = finalizers.filter((name) => !own.has(name));
  if (kept.length === finalizers.length) return;
  const { resourceVersion } = object.metadata;
  const metadata = { finalizers: kept, ...(resourceVersion !== undefined && { resourceVersion }) };
  await client.patch(kind, refOf(object), 'merge', { metadata }, { fieldManager: 'capstan-install', signal });
}

function counted(left: readonly Left[]): string {
  const counts = new Map<string, number>();
  for (const { kind } of left) counts.set(kindId(kind), (counts.get(kindId(kind)) ?? 0) + 1);
  return [...counts].map(([kind, count]) => `${count} ${kind}`).join(', ');
}
