// Removes an installation. Objects of the operators' kinds may hold finalizers that only a running operator releases, and stand for
// infrastructure in use: they are deleted first, while the operators run, or released and kept. The operators' own objects go after the
// operators have stopped, because these would recreate them; then permissions and definitions; namespaces are last.
import {
  type Client,
  type Clock,
  ClusterRoleBinding,
  Deployment,
  discover,
  isNotFound,
  type Kind,
  type KubeObject,
  kindId,
  Lease,
  Namespace,
  type ObjectRef,
  refOf,
  Secret,
  sleep,
} from '@capstan/kube';
import { digestKeyName, finalizerOf, leaseName, type Operator, SYSTEM_NAMESPACE } from '@capstan/reconcile';
import { CliErrors } from '../cli/errors.ts';
import { kindOf, otherBounds, refuseHalfAProgram, untilGone } from './apply.ts';
import { isCreatedByInstall, ONE_PROGRAM } from './installation.ts';
import { type Installation, installationObjects, isDefinition, objectKey } from './manifests.ts';
import { contentOf, type Found, isNamespace, isOwnObject, objectsOf, ownObjects, shownRef } from './own-objects.ts';

export interface RemoveInstallationOptions {
  client: Client;
  clock: Clock;
  installation: Installation;
  /** The fate of objects of the operators' kinds; undefined: there must be none. */
  objects: 'delete' | 'keep' | undefined;
  timeoutMs: number;
  report(line: string): void;
  signal: AbortSignal;
}

const POLL_MS = 300;

export async function removeInstallation(options: RemoveInstallationOptions): Promise<void> {
  const { client, installation, objects, signal } = options;
  const { operators } = installation;
  await refuseHalfAProgram(client, installation, signal);
  const left = await usersObjects(client, operators, signal, placeOf(installation));
  if (left.length > 0 && objects === undefined) throw CliErrors.ObjectsLeft(counted(left));
  if (objects === 'delete') await deleteObjects(left, options);
  await stopOperators(options);
  if (objects === 'keep') {
    for (const one of await objectsOf(client, operators, signal, placeOf(installation)))
      await release(client, one, finalizersOf(operators), signal);
  } else await removeOwnObjects(options);
  await removeFoundations(options);
  if (objects !== 'keep') await removeNamespaces(options);
}

/** Returns a line for each object that an uninstallation removes, in its order. */
export async function removedObjects(
  options: Omit<RemoveInstallationOptions, 'report' | 'timeoutMs'>,
): Promise<string[]> {
  const { client, installation, objects, signal } = options;
  const { operators } = installation;
  const served = await discover(client, { signal });
  const users = await usersObjects(client, operators, signal, placeOf(installation));
  if (users.length > 0 && objects === undefined) throw CliErrors.ObjectsLeft(counted(users));
  const own = objects === 'keep' ? [] : await ownObjects(client, operators, signal, placeOf(installation));
  const lines = [...(objects === 'delete' ? users : []), ...own].map(shownRef);
  for (const one of [...removable(installation, objects), ...systemObjects(installation, objects)]) {
    const kind = served.kindOf(one.apiVersion, one.kind);
    if (kind !== undefined && (await client.find(kind, refOf(one), { signal })) !== undefined)
      lines.push(shownRef({ kind, object: one }));
  }
  for (const one of await otherBounds(client, installation, signal))
    lines.push(shownRef({ kind: ClusterRoleBinding, object: one }));
  if (objects !== 'keep')
    for (const name of await createdNamespaces(client, installation, signal))
      lines.push(`Namespace ${name}, if nothing else is in it`);
  return lines;
}

async function stopOperators(options: RemoveInstallationOptions): Promise<void> {
  const { client, installation, report, signal } = options;
  const { namespace, operators } = installation;
  for (const program of programsOf(installation)) {
    const ref = { namespace, name: `capstan-${program}` };
    await remove(client, Deployment, ref, signal);
    const object = { apiVersion: Deployment.apiVersion, kind: Deployment.kind, metadata: ref };
    await untilGone({ ...options, kind: Deployment, object });
  }
  report(`the operators ${operators.map(({ name }) => name).join(', ')} are stopped`);
}

/** The operators are stopped: they neither create these objects again nor release them. */
async function removeOwnObjects(options: RemoveInstallationOptions): Promise<void> {
  const { client, installation, report, signal } = options;
  const { operators } = installation;
  const own = await ownObjects(client, operators, signal, placeOf(installation));
  const removed: Found[] = [];
  for (const one of own) {
    const { kind, object } = one;
    if (isNamespace(one) && !(await isEmptied(options, object.metadata.name ?? ''))) continue;
    await release(client, one, allFinalizersOf(operators), signal);
    await remove(client, kind, refOf(object), signal);
    await untilGone({ ...options, kind, object });
    removed.push(one);
  }
  if (removed.length > 0) report(`deleted what the operators had made for themselves: ${counted(removed)}`);
}

async function removeFoundations({
  client,
  installation,
  objects,
  report,
  signal,
}: RemoveInstallationOptions): Promise<void> {
  const served = await discover(client, { signal });
  for (const one of removable(installation, objects))
    if (served.kindOf(one.apiVersion, one.kind) !== undefined)
      await remove(client, kindOf(served, one), refOf(one), signal);
  for (const one of systemObjects(installation, objects)) await remove(client, kindOf(served, one), refOf(one), signal);
  for (const one of await otherBounds(client, installation, signal))
    await remove(client, ClusterRoleBinding, refOf(one), signal);
  report(
    `everything else of the installation is removed${objects === 'keep' ? ', except definitions and objects' : ''}`,
  );
}

/** Those that the installation created, and that hold nothing of others. */
async function removeNamespaces(options: RemoveInstallationOptions): Promise<void> {
  const { client, installation, signal } = options;
  for (const name of await createdNamespaces(client, installation, signal))
    if (await isEmptied(options, name)) await remove(client, Namespace, { name }, signal);
}

async function isEmptied({ client, report, signal }: RemoveInstallationOptions, namespace: string): Promise<boolean> {
  const { kinds } = await discover(client, { signal });
  const content = await contentOf(client, kinds, namespace, signal);
  if (content.length === 0) return true;
  report(`the namespace ${namespace} stays, because it holds ${shortened(content)}`);
  return false;
}

const SHOWN = 5;

async function createdNamespaces(client: Client, installation: Installation, signal: AbortSignal): Promise<string[]> {
  const names: string[] = [];
  const { foundations } = installationObjects(installation);
  for (const { metadata } of foundations.filter(({ kind }) => kind === Namespace.kind)) {
    const { name = '' } = metadata;
    const found = await client.find(Namespace, { name }, { signal });
    if (found !== undefined && isCreatedByInstall(found)) names.push(name);
  }
  return names;
}

/** In either form: each on its own, or all in one program. */
function forms(installation: Installation) {
  return [false, true].map((isOneProgram) => installationObjects({ ...installation, isOneProgram }));
}

function programsOf(installation: Installation): string[] {
  return [...new Set(forms(installation).flatMap(({ workloads }) => [...workloads.keys()]))];
}

/** Workloads and foundations; definitions stay where objects are kept, and namespaces are looked into first. */
function removable(installation: Installation, objects: RemoveInstallationOptions['objects']): KubeObject[] {
  const all = forms(installation);
  const workloads = all.flatMap((form) => [...form.workloads.values()].flat());
  const foundations = all.flatMap((form) => form.foundations).toReversed();
  const byKey = new Map([...workloads, ...foundations].map((one) => [objectKey(one), one]));
  return [...byKey.values()].filter((one) => one.kind !== Namespace.kind && !(isDefinition(one) && objects === 'keep'));
}

/** Leases, and the keys of digests: with objects that are kept, a key stays too, or the next installation would roll their pods. */
function systemObjects(installation: Installation, objects: RemoveInstallationOptions['objects']): KubeObject[] {
  const { operators } = installation;
  const namespace = placeOf(installation) ?? SYSTEM_NAMESPACE;
  const named = (kind: Kind, name: string): KubeObject => ({
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: { namespace, name },
  });
  return operators.flatMap(({ name }) => [
    named(Lease, leaseName(name)),
    ...(objects === 'keep' ? [] : [named(Secret, digestKeyName(name))]),
  ]);
}

async function remove(client: Client, kind: Kind, ref: ObjectRef, signal: AbortSignal): Promise<void> {
  try {
    await client.delete(kind, ref, { propagationPolicy: 'Foreground', signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** The namespace of an installation in one; undefined: all namespaces are looked into. */
function placeOf({ isNamespaced = false, namespace }: Installation): string | undefined {
  return isNamespaced ? namespace : undefined;
}

async function usersObjects(
  client: Client,
  operators: readonly Operator[],
  signal: AbortSignal,
  within: string | undefined,
): Promise<Found[]> {
  const found = await objectsOf(client, operators, signal, within);
  return found.filter(({ object }) => !isOwnObject(object, operators));
}

/** Objects that others own go with them. */
async function deleteObjects(left: readonly Found[], options: RemoveInstallationOptions): Promise<void> {
  const { client, clock, installation, timeoutMs, report, signal } = options;
  const roots = left.filter(({ object }) => (object.metadata.ownerReferences ?? []).length === 0);
  for (const { kind, object } of roots)
    await client.delete(kind, refOf(object), { signal }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
  const deadline = clock.now() + timeoutMs;
  const finalizers = allFinalizersOf(await stoppedOperators(options));
  const released = new Set<string>();
  for (;;) {
    // The garbage collector removes owned objects, and their operator may have to release them first.
    const still = (await objectsOf(client, installation.operators, signal, placeOf(installation))).filter(
      ({ object }) =>
        !isOwnObject(object, installation.operators) || (object.metadata.ownerReferences ?? []).length > 0,
    );
    if (still.length === 0) break;
    for (const one of still.filter(({ object }) => object.metadata.deletionTimestamp !== undefined))
      if (await release(client, one, finalizers, signal)) released.add(shownRef(one));
    if (clock.now() >= deadline) throw CliErrors.NotGone(counted(still));
    await sleep(clock, POLL_MS, signal);
  }
  report(`deleted ${counted(left)}`);
  if (released.size > 0)
    report(
      `${released.size} of them were released here, because their operator does not run: what they stand for outside of this cluster may be left (${shortened([...released])})`,
    );
}

/** Returns the operators that no Deployment runs any more, as after an attempt that was interrupted: they release nothing. */
async function stoppedOperators({ client, installation, signal }: RemoveInstallationOptions): Promise<Operator[]> {
  const { namespace, operators } = installation;
  const isThere = async (program: string) =>
    (await client.find(Deployment, { namespace, name: `capstan-${program}` }, { signal })) !== undefined;
  if (await isThere(ONE_PROGRAM)) return [];
  const stopped: Operator[] = [];
  for (const operator of operators) if (!(await isThere(operator.name))) stopped.push(operator);
  return stopped;
}

function shortened(names: readonly string[]): string {
  return names.length > SHOWN
    ? [...names.slice(0, SHOWN), `${names.length - SHOWN} more`].join(', ')
    : names.join(', ');
}

function finalizersOf(operators: readonly Operator[]): ReadonlySet<string> {
  return new Set(operators.flatMap(({ reconcilers }) => reconcilers.map(finalizerOf)));
}

/** Those of the operators' other programs too, which go with the objects. */
function allFinalizersOf(operators: readonly Operator[]): ReadonlySet<string> {
  return new Set([...finalizersOf(operators), ...operators.flatMap(({ alsoHolds = [] }) => alsoHolds)]);
}

/** Removes these finalizers, because nothing else would; true when there was one. */
async function release(
  client: Client,
  { kind, object }: Found,
  own: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<boolean> {
  const finalizers = object.metadata.finalizers ?? [];
  const kept = finalizers.filter((name) => !own.has(name));
  if (kept.length === finalizers.length) return false;
  const { resourceVersion } = object.metadata;
  const metadata = { finalizers: kept, ...(resourceVersion !== undefined && { resourceVersion }) };
  await client.patch(kind, refOf(object), 'merge', { metadata }, { fieldManager: 'capstan-install', signal });
  return true;
}

function counted(left: readonly Found[]): string {
  const counts = new Map<string, number>();
  for (const { kind } of left) counts.set(kindId(kind), (counts.get(kindId(kind)) ?? 0) + 1);
  return [...counts].map(([kind, count]) => `${count} ${kind}`).join(', ');
}
