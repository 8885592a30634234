// Predicts an object after the user's tool has written the manifest: the server is asked by a dry run of the tool's own
// request, because only it knows its defaults and admission. Where it cannot be asked, the manifest is merged here, and the
// answer reports it.
import {
  type ApiError,
  changesBetween,
  type DefinedKind,
  diff,
  isApiError,
  type Kind,
  type KubeObject,
  keyOf,
  refOf,
  type UnknownObject,
  type ValueChange,
} from '@capstan/kube';
import { CliErrors } from '../cli/errors.ts';
import type { Manifest } from './read-manifests.ts';
import {
  assumedTool,
  describeTool,
  type HelmRelease,
  LAST_APPLIED,
  type Tool,
  type ToolChoice,
} from './tool/assumed-tool.ts';
import { carryOut, type DryRuns, dryRun, isSame, mergedLocally } from './tool/dry-run.ts';

export interface GivenChange {
  readonly kind: Kind;
  readonly verb: 'create' | 'change' | 'delete' | 'none';
  /** `Kind namespace/name` */
  readonly object: string;
  /** The command that is assumed to carry the change out. */
  readonly tool: string;
  readonly paths: readonly string[];
  /** The values at these paths; none for secrets and for objects that are created. */
  readonly changes: readonly ValueChange[];
  /** As it would be; undefined when it would be gone. */
  readonly after: KubeObject | undefined;
  readonly ref: { readonly namespace?: string; readonly name: string };
  /** The release of Helm that the object belongs to, when Helm is assumed to write it. */
  readonly release?: HelmRelease;
  /** The assumptions about it. */
  readonly notes: readonly string[];
  /** Makes the change, if the object is still as it was; absent where only the tool itself can make it. */
  make?(): Promise<void>;
}

/** How the changes are made: the flags of the user, and the way to the server. */
export interface Predicting extends DryRuns {
  readonly choice: ToolChoice;
}

const MAX_PATHS = 20;

/**
 * Returns the object after the user's tool has run. Throws when the server would refuse it, also because its namespace neither exists nor
 * is among those that the manifests create.
 */
export async function wouldBecome(
  predicting: Predicting,
  kind: Kind,
  manifest: Manifest,
  created: ReadonlySet<string> = new Set(),
): Promise<GivenChange> {
  const { object, place } = manifest;
  const ref = refOf(object);
  const name = `${kind.kind} ${keyOf(ref)}`;
  const live = await findLive(predicting, kind, ref, name);
  checkCluster(manifest, name, live);
  const tool = assumedTool(live, predicting.choice);
  const wanted = { kind, tool, manifest: object, live };
  const release = tool.name === 'helm' ? tool.release : undefined;
  const base = { kind, object: name, ref, tool: describeTool(tool), ...(release && { release }) };
  const notes = await unreadRelease(predicting, tool, name);
  try {
    const after = await dryRun(wanted, predicting);
    const make = tool.name === 'helm' ? {} : { make: () => carryOut(wanted, predicting) };
    return { ...base, ...changeOf(kind, live, after), after, notes, ...make };
  } catch (error) {
    if (!isApiError(error)) throw error;
    const isAbsent = tool.name === 'replace' && live === undefined;
    if (isAbsent || !CANNOT_ASK.has(error.code)) throw refusedBy(tool, place, name, error);
    const { namespace } = ref;
    if (namespace !== undefined && !created.has(namespace) && isWithoutNamespace(error, namespace))
      throw CliErrors.NoNamespace(place, name, namespace);
    const after = completed(kind, live, await mergedLocally(wanted, predicting));
    return { ...base, ...changeOf(kind, live, after), after, notes: [...notes, noteOf(name, error)] };
  }
}

/** Returns the object after its deletion. */
export async function wouldBeDeleted(predicting: Predicting, kind: Kind, manifest: Manifest): Promise<GivenChange> {
  const ref = refOf(manifest.object);
  const name = `${kind.kind} ${keyOf(ref)}`;
  const live = await findLive(predicting, kind, ref, name);
  checkCluster(manifest, name, live);
  const verb = live === undefined ? 'none' : 'delete';
  const { uid, resourceVersion } = live?.metadata ?? {};
  const preconditions = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) };
  const options = { preconditions, propagationPolicy: 'Background', signal: predicting.signal } as const;
  return {
    kind,
    object: name,
    tool: 'kubectl delete',
    ref,
    verb,
    paths: [],
    changes: [],
    after: undefined,
    notes: [],
    async make() {
      await predicting.client.delete(kind, ref, options);
    },
  };
}

/** An object of a release that the manifests leave out. */
export interface LeftOut {
  readonly release: HelmRelease;
  readonly object: UnknownObject;
}

/** Returns the objects of the deployed releases that the manifests do not have: an upgrade deletes them. */
export async function leftOutOfReleases(
  { releases }: Predicting,
  given: readonly GivenChange[],
  manifests: readonly Manifest[],
): Promise<LeftOut[]> {
  const named = new Map(
    given.flatMap(({ release }) => (release ? [[`${release.namespace}/${release.name}`, release] as const] : [])),
  );
  const left: LeftOut[] = [];
  for (const release of named.values()) {
    const objects = (await releases.objectsOf(release)) ?? [];
    const gone = objects.filter((object) => !manifests.some((one) => isSame(object, one.object, release)));
    left.push(...gone.map((object) => ({ release, object })));
  }
  return left;
}

/** Returns the deletion of an object by Helm; undefined when the object is kept, or is gone already. */
export async function wouldBeDropped(
  predicting: Predicting,
  kind: Kind,
  { release, object }: LeftOut,
): Promise<GivenChange | undefined> {
  const namespace = object.metadata.namespace ?? release.namespace;
  const ref = { name: object.metadata.name ?? '', ...(kind.scope !== 'Cluster' && { namespace }) };
  const name = `${kind.kind} ${keyOf(ref)}`;
  const live = await findLive(predicting, kind, ref, name);
  if (live === undefined || live.metadata.annotations?.['helm.sh/resource-policy'] === 'keep') return undefined;
  const tool = describeTool({ name: 'helm', release });
  return { kind, object: name, tool, ref, verb: 'delete', paths: [], changes: [], after: undefined, notes: [] };
}

/** A manifest that was read from a cluster names that very object: nothing is claimed about another one of the same name. */
function checkCluster({ place, object }: Manifest, name: string, live: KubeObject | undefined): void {
  const { uid } = object.metadata;
  if (uid === undefined || uid === live?.metadata.uid) return;
  throw CliErrors.OtherCluster(place, name, live === undefined ? 'does not exist' : `is ${live.metadata.uid}`);
}

/** Not permitted, no such kind or namespace, no apply for this kind: answers about the request, not about the object. */
const CANNOT_ASK: ReadonlySet<number> = new Set([401, 403, 404, 405, 415]);

function isWithoutNamespace({ code, details }: ApiError, namespace: string): boolean {
  return code === 404 && details.kind === 'namespaces' && details.name === namespace;
}

async function findLive({ client, signal }: Predicting, kind: Kind, ref: GivenChange['ref'], name: string) {
  try {
    return await client.find<KubeObject>(kind, ref, { signal });
  } catch (error) {
    if (isApiError(error) && error.code === 403) throw CliErrors.NotVisible(name, error.serverMessage);
    throw error;
  }
}

function refusedBy(tool: Tool, place: string, name: string, error: ApiError): Error {
  if (tool.name === 'server-side-apply' && error.code === 409)
    return CliErrors.Conflicting(describeTool(tool), name, place, error.serverMessage);
  return CliErrors.Refused(place, name, error.serverMessage);
}

/** Without the manifest of the last release, fields that it had are not known. */
async function unreadRelease({ releases }: Predicting, tool: Tool, name: string): Promise<string[]> {
  if (tool.name !== 'helm' || tool.release === undefined) return [];
  if ((await releases.objectsOf(tool.release)) !== undefined) return [];
  return [
    `${name}: the Helm release ${tool.release.name} cannot be read: fields that it had and the manifest does not have stay here`,
  ];
}

function completed(kind: Kind, live: KubeObject | undefined, merged: KubeObject): KubeObject {
  const complete = 'withDefaults' in kind ? (kind as DefinedKind).withDefaults(merged) : merged;
  const isSame = live !== undefined && diff(contentOf(live), contentOf(complete), 1).length === 0;
  const generation = (live?.metadata.generation ?? 0) + (isSame ? 0 : 1);
  // Reconcilers know an object by its uid and see a change by its generation.
  return { ...complete, metadata: { uid: 'given-to-plan', ...complete.metadata, generation } };
}

function changeOf(
  kind: Kind,
  before: KubeObject | undefined,
  after: KubeObject,
): Pick<GivenChange, 'verb' | 'paths' | 'changes'> {
  if (before === undefined) return { verb: 'create', paths: [], changes: [] };
  const found = changesBetween(contentOf(before), contentOf(after), MAX_PATHS);
  const changes = kind.sensitive ? [] : found;
  return { verb: found.length === 0 ? 'none' : 'change', paths: changes.map(({ path }) => path), changes };
}

/** Removes the bookkeeping of the server and kubectl, and the status, which no tool touches. */
function contentOf(object: KubeObject): unknown {
  const { metadata, status: _status, ...content } = object as KubeObject & { status?: unknown };
  const { labels, annotations, finalizers, ownerReferences } = metadata;
  const { [LAST_APPLIED]: _applied, ...others } = annotations ?? {};
  const shown = Object.keys(others).length === 0 ? undefined : others;
  return { ...content, metadata: { labels, annotations: shown, finalizers, ownerReferences } };
}

function noteOf(object: string, error: ApiError): string {
  return `${object}: merged here, because the server could not be asked by a dry run (${error.serverMessage})`;
}
