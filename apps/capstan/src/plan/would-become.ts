// What an object would be after `kubectl apply`: the server is asked by a dry run, because only it knows its defaults and
// admission. Where it cannot be asked, the manifest is merged here, and the answer says so.
import {
  type ApiError,
  applyMergePatch,
  type Client,
  changesBetween,
  type DefinedKind,
  diff,
  isApiError,
  type Kind,
  type KubeObject,
  keyOf,
  refOf,
  type ValueChange,
} from '@capstan/kube';
import { CliErrors } from '../cli/errors.ts';
import type { Manifest } from './read-manifests.ts';

export interface GivenChange {
  readonly kind: Kind;
  readonly verb: 'create' | 'change' | 'delete' | 'none';
  /** `Kind namespace/name` */
  readonly object: string;
  readonly paths: readonly string[];
  /** The values at these paths; none for secrets and for objects that are created. */
  readonly changes: readonly ValueChange[];
  /** As it would be; undefined when it would be gone. */
  readonly after: KubeObject | undefined;
  readonly ref: { readonly namespace?: string; readonly name: string };
  /** Why the server was not asked. */
  readonly note?: string;
}

export const PLAN_MANAGER = 'capstan-plan';
const MAX_PATHS = 20;

/** What applying the manifest would make of the object. Throws when the server says that it would refuse it. */
export async function wouldBecome(
  client: Client,
  kind: Kind,
  manifest: Manifest,
  signal: AbortSignal,
): Promise<GivenChange> {
  const { object, place } = manifest;
  const ref = refOf(object);
  const name = `${kind.kind} ${keyOf(ref)}`;
  const before = await findLive(client, kind, ref, signal);
  const base = { kind, object: name, ref };
  try {
    const options = { fieldManager: PLAN_MANAGER, force: true, dryRun: true, signal };
    const after = await client.apply<KubeObject>(kind, object, options);
    return { ...base, ...changeOf(kind, before, after), after };
  } catch (error) {
    if (!isApiError(error)) throw error;
    if (!CANNOT_ASK.has(error.code)) throw CliErrors.Refused(place, name, error.serverMessage);
    const after = mergedHere(kind, before, object);
    return { ...base, ...changeOf(kind, before, after), after, note: noteOf(name, error) };
  }
}

/** What deleting the object would leave. */
export async function wouldBeDeleted(
  client: Client,
  kind: Kind,
  { object }: Manifest,
  signal: AbortSignal,
): Promise<GivenChange> {
  const ref = refOf(object);
  const before = await findLive(client, kind, ref, signal);
  const verb = before === undefined ? 'none' : 'delete';
  return { kind, object: `${kind.kind} ${keyOf(ref)}`, ref, verb, paths: [], changes: [], after: undefined };
}

/** Not permitted, no such kind or namespace, no apply for this kind: answers about the request, not about the object. */
const CANNOT_ASK: ReadonlySet<number> = new Set([401, 403, 404, 405, 415]);

async function findLive(client: Client, kind: Kind, ref: GivenChange['ref'], signal: AbortSignal) {
  try {
    return await client.find(kind, ref, { signal });
  } catch (error) {
    if (isApiError(error) && error.code === 403) return undefined;
    throw error;
  }
}

function mergedHere(kind: Kind, before: KubeObject | undefined, manifest: KubeObject): KubeObject {
  const merged = applyMergePatch(before ?? {}, manifest) as KubeObject;
  const complete = 'withDefaults' in kind ? (kind as DefinedKind).withDefaults(merged) : merged;
  const isSame = before !== undefined && diff(contentOf(before), contentOf(complete), 1).length === 0;
  const generation = (before?.metadata.generation ?? 0) + (isSame ? 0 : 1);
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

/** Without what the server keeps for itself, and without the status, which apply does not touch. */
function contentOf(object: KubeObject): unknown {
  const { metadata, status: _status, ...content } = object as KubeObject & { status?: unknown };
  const { labels, annotations, finalizers, ownerReferences } = metadata;
  return { ...content, metadata: { labels, annotations, finalizers, ownerReferences } };
}

function noteOf(object: string, error: ApiError): string {
  return `${object}: merged here, because the server could not be asked by a dry run (${error.serverMessage})`;
}
