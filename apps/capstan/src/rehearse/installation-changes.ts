// The objects of an installation as an upgrade would leave them: compared with the cluster by reading alone, so that read rights suffice.
import {
  type Client,
  CustomResourceDefinition,
  changesBetween,
  type Discovery,
  isApiError,
  isForbidden,
  type Kind,
  type KubeObject,
  Namespace,
  refOf,
  type ValueChange,
} from '@capstan/kube';
import { virtuallyApplied } from '@capstan/reconcile';
import { FIELD_MANAGER, nameOf } from '../install/apply.ts';
import { asCreatedByInstall, isCreatedByInstall } from '../install/installation.ts';

export interface ObjectChange {
  /** `Kind namespace/name` */
  readonly object: string;
  readonly verb: 'create' | 'change';
  readonly changes: readonly ValueChange[];
  /** The rights of a role that come and go, as `list secrets in kroxylicious.io`. */
  readonly rights?: { readonly added: readonly string[]; readonly removed: readonly string[] };
  readonly disturbs?: string;
}

export interface InstallationChanges {
  readonly changes: readonly ObjectChange[];
  /** The definitions that differ, as they are and as they would be. */
  readonly definitions: readonly { readonly live: CustomResourceDefinition; readonly next: CustomResourceDefinition }[];
  /** The objects that the user may not read. */
  readonly unread: readonly string[];
}

const AT_A_TIME = 8;
const MAX_CHANGES = 20;
const IN_HELM = { 'app.kubernetes.io/managed-by': 'Helm' };

export async function installationChanges(
  objects: readonly KubeObject[],
  { client, served, signal }: { client: Client; served: Discovery; signal: AbortSignal },
): Promise<InstallationChanges> {
  const changes = new Map<KubeObject, ObjectChange>();
  const definitions: InstallationChanges['definitions'][number][] = [];
  const unread: string[] = [];
  const pending = [...objects].toReversed();
  const work = async () => {
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      const kind = served.kindOf(next.apiVersion, next.kind);
      if (kind === undefined) {
        unread.push(`${nameOf(next)}: the cluster does not serve ${next.apiVersion} ${next.kind}`);
        continue;
      }
      try {
        const live = await client.find<KubeObject>(kind, refOf(next), { signal });
        const after = live === undefined ? undefined : await applied(live, next, { client, kind, signal });
        const change = changeOf(live, next, after);
        if (change !== undefined) changes.set(next, change);
        if (change !== undefined && live !== undefined && next.kind === CustomResourceDefinition.kind)
          definitions.push({ live: live as CustomResourceDefinition, next: next as CustomResourceDefinition });
      } catch (error) {
        if (!isForbidden(error)) throw error;
        unread.push(`${nameOf(next)}: you may not read it`);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  return { changes: objects.flatMap((one) => changes.get(one) ?? []), definitions, unread: unread.toSorted() };
}

/** Returns an object after the upgrade. Where it seems to differ, the server is asked by a dry run, if the user may: it knows its defaults. */
async function applied(
  live: KubeObject,
  wanted: KubeObject,
  { client, kind, signal }: { client: Client; kind: Kind; signal: AbortSignal },
): Promise<KubeObject> {
  const isHelm = live.metadata.labels?.['app.kubernetes.io/managed-by'] === 'Helm';
  const next = withMarks(live, isHelm ? labelled(wanted, IN_HELM) : wanted);
  const expected = virtuallyApplied(live, next, FIELD_MANAGER);
  if (changesBetween(contentOf(live), contentOf(expected), 1).length === 0) return expected;
  try {
    return await client.apply<KubeObject>(kind, next, {
      fieldManager: FIELD_MANAGER,
      force: true,
      dryRun: true,
      signal,
    });
  } catch (error) {
    if (!isApiError(error) || error.code >= 500) throw error;
    return expected;
  }
}

/** The change that an upgrade makes; undefined where the object is as it would be. */
function changeOf(
  live: KubeObject | undefined,
  wanted: KubeObject,
  after: KubeObject | undefined,
): ObjectChange | undefined {
  const object = nameOf(wanted);
  if (live === undefined || after === undefined)
    return { object, verb: 'create', changes: [], ...rightsOf(undefined, wanted) };
  const changes = changesBetween(contentOf(live), contentOf(after), MAX_CHANGES).filter(isOfContent);
  if (changes.length === 0) return undefined;
  const isRolled = wanted.kind === 'Deployment' && changes.some(({ path }) => path.startsWith('spec.template'));
  return { object, verb: 'change', changes, ...rightsOf(live, after), ...(isRolled && { disturbs: 'rolls pods' }) };
}

/** The server drops empty maps, and fills in fields of list items: without a dry run these look like changes. */
function isOfContent({ path, before, after }: ValueChange): boolean {
  if (before === undefined) return typeof after !== 'object' || after === null || Object.keys(after).length > 0;
  return after !== undefined || !path.includes('[');
}

function labelled(one: KubeObject, labels: Readonly<Record<string, string>>): KubeObject {
  return { ...one, metadata: { ...one.metadata, labels: { ...one.metadata.labels, ...labels } } };
}

/** A namespace of the installation keeps the mark that `capstan install` set. */
function withMarks(live: KubeObject, next: KubeObject): KubeObject {
  return next.kind === Namespace.kind && isCreatedByInstall(live) ? asCreatedByInstall(next) : next;
}

function contentOf(object: KubeObject): unknown {
  const { metadata, status: _status, ...content } = object as KubeObject & { status?: unknown };
  const { labels, annotations } = metadata;
  return { ...content, metadata: { labels, annotations } };
}

interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly verbs: readonly string[];
}

function rightsOf(before: KubeObject | undefined, after: KubeObject): Pick<ObjectChange, 'rights'> {
  if (after.kind !== 'ClusterRole' && after.kind !== 'Role') return {};
  const [old, now] = [before, after].map((role) => new Set((rulesOf(role) ?? []).flatMap(rightsIn)));
  const lines = (some: Iterable<string>, others: ReadonlySet<string> | undefined) =>
    shownRights([...some].filter((right) => others?.has(right) !== true));
  return { rights: { added: lines(now ?? [], old), removed: lines(old ?? [], now) } };
}

function rulesOf(role: KubeObject | undefined): readonly Rule[] | undefined {
  return (role as { rules?: readonly Rule[] } | undefined)?.rules;
}

/** Returns each single right as `place\u0000verb`. */
function rightsIn({
  apiGroups = [''],
  resources = [],
  resourceNames = [],
  nonResourceURLs = [],
  verbs,
}: Rule): string[] {
  const named = resourceNames.length === 0 ? [''] : resourceNames.map((name) => ` ${name}`);
  const places = [
    ...apiGroups.flatMap((group) =>
      resources.flatMap((resource) => named.map((name) => `${resource}${group === '' ? '' : `.${group}`}${name}`)),
    ),
    ...nonResourceURLs,
  ];
  return places.flatMap((place) => verbs.map((verb) => `${place}\u0000${verb}`));
}

/** One line for each place: `get, list secrets`. */
function shownRights(rights: readonly string[]): string[] {
  const byPlace = Map.groupBy(rights, (right) => right.split('\u0000')[0] ?? '');
  return [...byPlace].map(([place, all]) => `${all.map((right) => right.split('\u0000')[1]).join(', ')} ${place}`);
}
