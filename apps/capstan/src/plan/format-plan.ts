import type { PreviewDelivery, PreviewResult, PreviewWrite } from '@capstan/reconcile';
import { count } from '@capstan/reconcile/command-line';
import type { GivenChange } from './would-become.ts';

export interface PlanReport extends PreviewResult {
  /** What the manifests themselves change. */
  readonly given: readonly Pick<GivenChange, 'verb' | 'object' | 'paths'>[];
  /** What had to be assumed. */
  readonly notes: readonly string[];
}

/** The plan as people read it: what is given, what follows level by level, what is not known, and the sum. */
export function formatPlan({ given, writes, deliveries, unknowns, notes }: PlanReport): string {
  const lines = ['Given:', ...given.flatMap((change) => entry(GIVEN_VERBS[change.verb], change))];
  const last = Math.max(0, ...writes.map(({ level }) => level));
  for (let level = 1; level <= last; level++) {
    const here = writes.filter((write) => write.level === level);
    if (here.length === 0) continue;
    lines.push('', level === 1 ? 'Then:' : `After that (level ${level}):`, ...here.flatMap(writeLines));
  }
  if (deliveries.length > 0) lines.push('', 'Delivered outside the cluster:', ...deliveryLines(deliveries));
  if (unknowns.length > 0) lines.push('', 'Not known:', ...unknowns.map((unknown) => `  ? ${unknown}`));
  if (notes.length > 0) lines.push('', 'Note:', ...notes.map((note) => `  ${note}`));
  lines.push('', `${summary(writes, deliveries)} Nothing has been written.`);
  return `${lines.join('\n')}\n`;
}

const GIVEN_VERBS = { create: '+ create', change: '~ change', delete: '- delete', none: '= leave' } as const;

function writeLines(write: PreviewWrite): string[] {
  const by = write.by === 'garbage collection' ? `with ${write.for}` : `by ${write.by} for ${write.for}`;
  const [first = '', ...paths] = entry(verbOf(write), write);
  const disturbs = write.disturbs === undefined ? '' : ` (${write.disturbs})`;
  return [`${first}${disturbs}  ${by}`, ...paths];
}

/** Each that disturbs, and the others in one line: a change of one object can move hundreds of keys. */
function deliveryLines(deliveries: readonly PreviewDelivery[]): string[] {
  const shown = deliveries.filter(({ disturbs }, at) => disturbs !== undefined || at < MAX_DELIVERIES);
  const left = deliveries.length - shown.length;
  return [
    ...shown.map(
      ({ by, key, change, disturbs }) =>
        `  ${DELIVERY_VERBS[change]} ${key}${disturbs === undefined ? '' : ` (${disturbs})`}  by ${by}`,
    ),
    ...(left === 0 ? [] : [`  … and ${count(left, 'more that disturbs nothing', 'more that disturb nothing')}`]),
  ];
}

const MAX_DELIVERIES = 20;
const DELIVERY_VERBS = { added: '+ add', changed: '~ change', removed: '- remove' } as const;

function entry(verb: string, { object, paths }: { object: string; paths: readonly string[] }): string[] {
  // What reconcilers remember follows from the rest, and says nothing to people.
  const told = paths.filter((path) => !path.startsWith('status.memory'));
  return [`  ${verb} ${object}`, ...told.map((path) => `      ${path}`)];
}

function verbOf(write: PreviewWrite): string {
  if (write.verb === 'apply' || write.verb === 'share') return isCreation(write) ? '+ create' : '~ change';
  return VERBS[write.verb];
}

const VERBS = {
  create: '+ create',
  mint: '+ make',
  hold: '~ hold',
  withdraw: '~ withdraw from',
  patch: '~ patch',
  delete: '- delete',
  status: '~ status of',
  finalizer: '~ finalizer of',
} as const;

function isCreation({ creates }: PreviewWrite): boolean {
  return creates === true;
}

/** "2 created, 1 changed (rolls pods), 3 statuses." */
export function summary(writes: readonly PreviewWrite[], deliveries: readonly PreviewDelivery[] = []): string {
  const objects = writes.filter(({ verb }) => verb !== 'status' && verb !== 'finalizer');
  const created = objects.filter(isCreation);
  const deleted = objects.filter(({ verb }) => verb === 'delete');
  const changed = objects.filter((write) => !isCreation(write) && write.verb !== 'delete');
  const statuses = writes.filter(({ verb }) => verb === 'status');
  const parts = [
    ...part(created, 'created'),
    ...part(changed, 'changed'),
    ...part(deleted, 'deleted'),
    ...(statuses.length > 0 ? [count(statuses.length, 'status', 'statuses')] : []),
    ...delivered(deliveries),
  ];
  return parts.length === 0 ? 'Nothing follows from it.' : `${parts.join(', ')}.`;
}

function delivered(deliveries: readonly PreviewDelivery[]): string[] {
  if (deliveries.length === 0) return [];
  const disturbances = [...new Set(deliveries.flatMap(({ disturbs }) => disturbs ?? []))];
  return [`${deliveries.length} delivered${disturbances.length === 0 ? '' : ` (${disturbances.join(', ')})`}`];
}

function part(writes: readonly PreviewWrite[], word: string): string[] {
  if (writes.length === 0) return [];
  const disturbances = [...new Set(writes.flatMap(({ disturbs }) => disturbs ?? []))];
  return [`${writes.length} ${word}${disturbances.length === 0 ? '' : ` (${disturbances.join(', ')})`}`];
}
