// An exact child holds exactly the fields of the plan. A field that another client adds is removed once for each time that it is added.
// Three kinds of fields are reported instead: fields that were there before the child was kept exact (an upgrade removes nothing), fields
// that a manager sets again and again, and fields that the server does not release.
import { isRecord, type KubeObject } from '@capstan/kube/cluster';
import { EXACT_ANNOTATION, REMOVALS_ANNOTATION } from '../marks.ts';
import { type ForeignField, foreignFields, withoutForeign } from './foreign-fields.ts';

export interface Exactness {
  readonly removed: readonly ForeignField[];
  readonly reported: readonly ForeignField[];
}

/** So many removals within RECENT_MS are a fight: the fields of that manager stay until the plan of the child changes. */
export const MAX_REMOVALS = 3;
export const RECENT_MS = 3_600_000;

/** Returns the foreign fields of an exact child, by the decision about them. */
export function exactnessOf(object: KubeObject, yields: readonly string[]): Exactness | undefined {
  const foreign = foreignFields(object, yields);
  if (foreign.length === 0) return undefined;
  const tolerated = toleratedBy(object);
  const removals = removalsOf(object);
  const isReported = ({ path, manager }: ForeignField) =>
    tolerated === undefined || tolerated.includes(path) || (removals[manager]?.count ?? 0) >= MAX_REMOVALS;
  return { removed: foreign.filter((field) => !isReported(field)), reported: foreign.filter(isReported) };
}

/** The mark of an exact child: the paths of foreign fields that were there when it was first kept exact. */
export function exactMark(observed: KubeObject | undefined, yields: readonly string[]): string {
  const tolerated = observed === undefined ? [] : toleratedBy(observed);
  if (observed === undefined || tolerated?.length === 0) return '[]';
  const present = foreignFields(observed, yields).map(({ path }) => path);
  return JSON.stringify(tolerated === undefined ? present : present.filter((path) => tolerated.includes(path)));
}

/** Undefined for a child that was never kept exact. */
function toleratedBy({ metadata }: KubeObject): readonly string[] | undefined {
  const parsed = parsedMark(metadata.annotations?.[EXACT_ANNOTATION]);
  return Array.isArray(parsed) ? parsed.map(String) : undefined;
}

interface Removal {
  readonly count: number;
  readonly last: number;
}

type Removals = Readonly<Record<string, Removal>>;

function removalsOf({ metadata }: KubeObject): Removals {
  const parsed = parsedMark(metadata.annotations?.[REMOVALS_ANNOTATION]);
  if (!isRecord(parsed)) return {};
  const entries = Object.entries(parsed).flatMap(([manager, entry]) => {
    if (!isRecord(entry)) return [];
    const { count, last } = entry;
    return typeof count === 'number' && typeof last === 'number' ? [[manager, { count, last }] as const] : [];
  });
  return Object.fromEntries(entries);
}

/** An annotation that another client has damaged counts as absent. */
function parsedMark(text: string | undefined): unknown {
  try {
    return text ? (JSON.parse(text) as unknown) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the object as it should be after the removal of its foreign fields, with the count of removals; undefined if there are none. */
export function purged(object: KubeObject, yields: readonly string[], now: number): KubeObject | undefined {
  const { removed = [] } = exactnessOf(object, yields) ?? {};
  if (removed.length === 0) return undefined;
  const countAfter = ({ count, last }: Removal) => (now - last < RECENT_MS ? count + 1 : 1);
  return counted(withoutForeign(object, removed), removed, now, countAfter);
}

/** Returns the object with a note that the server refuses to remove its foreign fields. */
export function unremovable(object: KubeObject, yields: readonly string[], now: number): KubeObject {
  const { removed = [] } = exactnessOf(object, yields) ?? {};
  return counted(object, removed, now, () => MAX_REMOVALS);
}

function counted(
  object: KubeObject,
  fields: readonly ForeignField[],
  now: number,
  countAfter: (before: Removal) => number,
): KubeObject {
  const before = removalsOf(object);
  const managers = [...new Set(fields.map(({ manager }) => manager))];
  const counts = managers.map((manager) => {
    const count = countAfter(before[manager] ?? { count: 0, last: 0 });
    return [manager, { count, last: now }] as const;
  });
  const removals = JSON.stringify({ ...before, ...Object.fromEntries(counts) });
  const annotations = { ...object.metadata.annotations, [REMOVALS_ANNOTATION]: removals };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

/** `spec.ports[port=8443,protocol=TCP] (kubectl-edit)` */
export function describeForeign(fields: readonly ForeignField[]): string {
  const named = fields
    .slice(0, SHOWN)
    .map(({ path, manager }) => `${path} (set by ${manager || 'an unnamed manager'})`);
  const more = fields.length > SHOWN ? ` and ${fields.length - SHOWN} more` : '';
  return `${named.join(', ')}${more}`;
}

const SHOWN = 5;
