// The requests of each tool, sent as dry runs: only the server knows its defaults and admission.
import {
  applyMergePatch,
  type Client,
  canonicalJson,
  type Kind,
  type KubeObject,
  refOf,
  type UnknownObject,
} from '@capstan/kube';
import { type HelmRelease, LAST_APPLIED, type Tool } from './assumed-tool.ts';
import type { HelmReleases } from './helm-releases.ts';
import { isEqual, isMap, type Json, threeWayMergePatch, twoWayMergePatch } from './merge-patch.ts';
import { withoutMigratedFields } from './migrated-fields.ts';
import type { MergeSchemas } from './strategic-patch.ts';

export interface DryRuns {
  readonly client: Client;
  readonly signal: AbortSignal;
  readonly schemas: MergeSchemas;
  readonly releases: HelmReleases;
}

export interface Wanted {
  readonly kind: Kind;
  readonly tool: Tool;
  readonly manifest: UnknownObject;
  readonly live: KubeObject | undefined;
}

/** Returns the object as the tool would leave it. Throws the server's refusal. */
export function dryRun(wanted: Wanted, runs: DryRuns): Promise<KubeObject> {
  return send(wanted, runs, true);
}

/** Sends the requests of the tool. The server refuses them with Conflict when the object is not as it was in the dry run. */
export async function carryOut(wanted: Wanted, runs: DryRuns): Promise<void> {
  await send(wanted, runs, false);
}

async function send(wanted: Wanted, runs: DryRuns, isDryRun: boolean): Promise<KubeObject> {
  const { kind, tool, live } = wanted;
  const { client, signal } = runs;
  const seen = isDryRun ? undefined : live?.metadata.resourceVersion;
  const asSeen = <T extends { metadata?: object }>(body: T): T =>
    seen === undefined ? body : { ...body, metadata: { ...body.metadata, resourceVersion: seen } };
  const { manifest } = wanted;
  const manager = 'manager' in tool ? tool.manager : 'helm';
  // kubectl refuses fields that are not known; Helm sends no wish, and the server drops them.
  const strict = tool.name === 'helm' ? {} : ({ fieldValidation: 'Strict' } as const);
  const options = { fieldManager: manager, dryRun: isDryRun, signal, ...strict };
  if (tool.name === 'server-side-apply') {
    const applied = await client.apply<KubeObject>(kind, asSeen(manifest), { ...options, force: tool.force });
    const left = withoutMigratedFields(applied);
    if (live === undefined || left === applied) return applied;
    const patch = twoWayMergePatch(contentOf(live), contentOf(left));
    const migrated = await client.patch<KubeObject>(kind, refOf(live), 'merge', patch, options);
    return withGeneration(migrated, applied);
  }
  if (tool.name === 'replace') {
    const resourceVersion = seen ?? manifest.metadata.resourceVersion ?? live?.metadata.resourceVersion;
    const metadata = { ...manifest.metadata, ...(resourceVersion !== undefined && { resourceVersion }) };
    return client.update<KubeObject>(kind, { ...manifest, metadata }, options);
  }
  const modified = modifiedBy(tool, manifest);
  if (live === undefined) return client.create<KubeObject>(kind, withoutNulls(modified), options);
  const { type, patch } = await patchOf(wanted, modified, runs);
  if (Object.keys(patch).length === 0) return live;
  return client.patch<KubeObject>(kind, refOf(live), type, asSeen(patch), options);
}

/** Two writes that both change more than metadata count twice. */
function withGeneration(migrated: KubeObject, applied: KubeObject): KubeObject {
  const { generation } = applied.metadata;
  const specOf = ({ metadata: _metadata, ...content }: Json) => content;
  if (generation === undefined || isEqual(specOf(contentOf(migrated)), specOf(contentOf(applied)))) return migrated;
  return { ...migrated, metadata: { ...migrated.metadata, generation: generation + 1 } };
}

/** Returns the merge that the tool would send, as far as it can be made without the server: lists are replaced. */
export async function mergedLocally(wanted: Wanted, runs: DryRuns): Promise<KubeObject> {
  const { tool, manifest, live } = wanted;
  if (tool.name === 'replace' || live === undefined) {
    const { uid, creationTimestamp, generation, resourceVersion } = live?.metadata ?? {};
    const own = { uid, creationTimestamp, generation, resourceVersion };
    const known = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined));
    return { ...manifest, metadata: { ...manifest.metadata, ...known } };
  }
  const original = tool.name === 'server-side-apply' ? {} : ((await originalOf(wanted, runs)) ?? {});
  const modified = tool.name === 'server-side-apply' ? manifest : modifiedBy(tool, manifest);
  return applyMergePatch(live, threeWayMergePatch(original, json(modified), json(live))) as KubeObject;
}

async function patchOf(
  wanted: Wanted,
  modified: UnknownObject,
  runs: DryRuns,
): Promise<{ type: 'strategic' | 'merge'; patch: Json }> {
  const { kind, tool, live } = wanted;
  const original = (await originalOf(wanted, runs)) ?? {};
  const current = json(live);
  const schema = runs.schemas.of(kind);
  if (schema !== undefined)
    return { type: 'strategic', patch: runs.schemas.threeWayPatch(schema, original, json(modified), current) };
  const isHelm = tool.name === 'helm';
  return {
    type: 'merge',
    patch: isHelm ? twoWayMergePatch(original, json(modified)) : threeWayMergePatch(original, json(modified), current),
  };
}

/** The manifest that the tool wrote last: from the annotation of kubectl, or from the deployed release of Helm. */
async function originalOf({ kind, tool, manifest, live }: Wanted, { releases }: DryRuns): Promise<Json | undefined> {
  if (tool.name === 'helm') {
    if (tool.release === undefined) return undefined;
    const objects = (await releases.objectsOf(tool.release)) ?? [];
    const found = objects.find((object) => isSame(object, manifest, tool.release));
    return found === undefined ? undefined : json(inNamespaceOf(found, manifest, kind));
  }
  return lastAppliedOf(live);
}

export function isSame(one: UnknownObject, other: UnknownObject, release: HelmRelease | undefined): boolean {
  const [group, otherGroup] = [one, other].map(({ apiVersion }) => apiVersion.split('/').slice(0, -1).join('/'));
  if (group !== otherGroup || one.kind !== other.kind || one.metadata.name !== other.metadata.name) return false;
  const { namespace } = other.metadata;
  return namespace === undefined || (one.metadata.namespace ?? release?.namespace) === namespace;
}

function inNamespaceOf(found: UnknownObject, { metadata }: UnknownObject, { scope }: Kind): UnknownObject {
  if (scope === 'Cluster' || metadata.namespace === undefined) return found;
  return { ...found, metadata: { ...found.metadata, namespace: metadata.namespace } };
}

function lastAppliedOf(live: KubeObject | undefined): Json | undefined {
  try {
    const value: unknown = JSON.parse(live?.metadata.annotations?.[LAST_APPLIED] ?? 'null');
    return isMap(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The manifest with the tool's additions. */
function modifiedBy(tool: Tool, manifest: UnknownObject): UnknownObject {
  const { metadata } = manifest;
  if (tool.name === 'helm') {
    if (tool.release === undefined) return manifest;
    const { name, namespace } = tool.release;
    const labels = { ...metadata.labels, 'app.kubernetes.io/managed-by': 'Helm' };
    const marks = { 'meta.helm.sh/release-name': name, 'meta.helm.sh/release-namespace': namespace };
    return { ...manifest, metadata: { ...metadata, labels, annotations: { ...metadata.annotations, ...marks } } };
  }
  const { [LAST_APPLIED]: _old, ...annotations } = metadata.annotations ?? {};
  const text = `${canonicalJson({ ...manifest, metadata: { ...metadata, annotations } })}\n`;
  return { ...manifest, metadata: { ...metadata, annotations: { ...annotations, [LAST_APPLIED]: text } } };
}

function withoutNulls<T>(value: T): T {
  if (Array.isArray(value)) return value.map(withoutNulls) as T;
  if (!isMap(value)) return value;
  const kept = Object.entries(value).filter(([, one]) => one !== null);
  return Object.fromEntries(kept.map(([key, one]) => [key, withoutNulls(one)])) as T;
}

/** Removes the fields that only the server writes. */
function contentOf(object: KubeObject): Json {
  const { metadata, status: _status, ...content } = object as KubeObject & { status?: unknown };
  const { labels, annotations, finalizers, ownerReferences } = metadata;
  const { name, namespace } = metadata;
  return json({ ...content, metadata: { name, namespace, labels, annotations, finalizers, ownerReferences } });
}

/** As JSON has it: without undefined values. */
function json(value: unknown): Json {
  return JSON.parse(JSON.stringify(value)) as Json;
}
