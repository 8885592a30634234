import type { ValueChange } from '@capstan/kube/cluster';
import type { PreviewDelivery, PreviewResult, PreviewWrite } from '@capstan/reconcile';
import { count } from '@capstan/reconcile/command-line';
import type { Colours } from '../text/colours.ts';
import type { PlanOutcome } from './apply/follow.ts';
import { showValue } from './show-value.ts';
import type { GivenChange } from './would-become.ts';

export interface PlanReport extends Omit<PreviewResult, 'bodies' | 'statuses'> {
  /** The changes by the manifests themselves. */
  readonly given: readonly Pick<GivenChange, 'verb' | 'object' | 'tool' | 'paths' | 'changes'>[];
  /** The writes of operators that the server would refuse. */
  readonly refusals: readonly string[];
  /** The assumptions of the plan. */
  readonly notes: readonly string[];
  /** With --apply: the observed changes, compared with the plan. */
  readonly outcome?: PlanOutcome;
}

export interface FormatPlanOptions {
  colours: Colours;
  /** Values are not shortened. */
  isWide: boolean;
  /** Status fields too; they come last. */
  showStatus: boolean;
  /** The plan is applied afterwards; false by default. */
  isApplied?: boolean;
}

/** The plan for people: the given changes, the effects object by object, the unknowns, and the sum. */
export function formatPlan(report: PlanReport, options: FormatPlanOptions): string {
  const lines = planLines(report, options);
  const written = options.isApplied ? 'Applying it …' : 'Nothing has been written.';
  const [writes, later] = [report.writes.filter(isLasting), report.later.filter(isLasting)];
  lines.push('', `${summary({ ...report, writes, later }, options.showStatus)} ${written}`);
  return `${lines.join('\n')}\n`;
}

/** The plan without its sum. */
export function planLines(report: PlanReport, options: FormatPlanOptions): string[] {
  const given = report.given.flatMap((change) => givenLines(change, options));
  return [options.colours.bold('Given:'), ...given, ...effectLines(report, options)];
}

/** The effects object by object, the unknowns and the notes, each section with an empty line before it. */
export function effectLines(
  report: Omit<PlanReport, 'given' | 'outcome' | 'levels' | 'mayFollow' | 'undecided'>,
  options: FormatPlanOptions,
): string[] {
  const { deliveries, problems, unknowns, refusals, notes } = report;
  const [writes, later] = [report.writes.filter(isLasting), report.later.filter(isLasting)];
  const { bold, red, yellow } = options.colours;
  const lines: string[] = [];
  const foreign = foreignObjects(report);
  if (foreign.length > 0)
    lines.push('', bold('Objects of others that would be touched:'), ...foreign.map((one) => `  ${bold(one)}`));
  const { objects, statuses } = grouped(writes);
  if (objects.length > 0) lines.push('', bold('Then:'), ...objects.flatMap((one) => writeLines(one, options)));
  const after = [
    ...laterLines(later, options),
    ...report.due.map(
      ({ object, at }) =>
        `  … ${object} is evaluated again at ${at}, which is after the ten minutes that a plan covers`,
    ),
  ];
  if (after.length > 0) lines.push('', bold('Later:'), ...after);
  if (deliveries.length > 0)
    lines.push('', bold('Delivered outside the cluster:'), ...deliveryLines(deliveries, options));
  if (problems.length > 0)
    lines.push(
      '',
      yellow(bold('Reported on objects:')),
      ...problems.map(({ object, message }) => `  ! ${object}: ${message}`),
    );
  if (options.showStatus && statuses.length > 0)
    lines.push('', bold('Statuses:'), ...statuses.flatMap((one) => writeLines(one, options)));
  if (refusals.length > 0)
    lines.push('', red(bold('The server would refuse:')), ...refusals.map((refusal) => `  ! ${refusal}`));
  if (unknowns.length > 0) lines.push('', yellow(bold('Not known:')), ...unknowns.map((unknown) => `  ? ${unknown}`));
  if (notes.length > 0) lines.push('', bold('Note:'), ...notes.map((note) => `  ${note}`));
  return lines;
}

/** The outcome of an applied plan, as text. */
export function formatOutcome(
  { asPredicted, differences, notKnown }: PlanOutcome,
  { bold, red, yellow }: Colours,
): string {
  const lines = asPredicted
    ? [bold('As predicted.')]
    : [red(bold('Not as predicted:')), ...differences.map((one) => `  ! ${one}`)];
  if (notKnown.length > 0)
    lines.push(yellow('Of objects that the plan lists as not known:'), ...notKnown.map((one) => `  ? ${one}`));
  return `${lines.join('\n')}\n`;
}

/** A status that ends as it began is not worth a line. */
export function isLasting({ passing }: PreviewWrite): boolean {
  return passing !== true;
}

const GIVEN_VERBS = { create: '+ create', change: '~ change', delete: '- delete', none: '= leave' } as const;

/** Objects that were there before and that no operator has written to so far. */
function foreignObjects({ writes, later }: Pick<PlanReport, 'writes' | 'later'>): string[] {
  const found = [...writes, ...later].filter(({ foreign }) => foreign === true);
  return [...new Set(found.map((write) => `${verbOf(write)} ${write.object}  by ${write.by} for ${write.for}`))];
}

/** Each object once under the event that it waits for; statuses follow from the rest. */
function laterLines(later: PlanReport['later'], options: FormatPlanOptions): string[] {
  const byUntil = Map.groupBy(later, ({ until }) => until);
  return [...byUntil].flatMap(([until, writes]) => {
    const { objects, statuses } = grouped(writes);
    const shown = options.showStatus ? [...objects, ...statuses] : objects;
    return shown.flatMap((one) => writeLines({ ...one, object: `${one.object}, once ${until}` }, options));
  });
}

function givenLines(change: PlanReport['given'][number], options: FormatPlanOptions): string[] {
  const [first = '', ...values] = entry(GIVEN_VERBS[change.verb], change, options);
  return [`${first}  ${options.colours.dim(`by ${change.tool}`)}`, ...values];
}

interface ObjectWrites {
  readonly verb: string;
  readonly object: string;
  /** `by X for Y`, each once. */
  readonly origins: readonly string[];
  readonly disturbs: readonly string[];
  readonly changes: readonly ValueChange[];
}

/** One entry for each object, in the order of its first write; writes to statuses are apart. */
function grouped(writes: readonly PreviewWrite[]): { objects: ObjectWrites[]; statuses: ObjectWrites[] } {
  const byObject = new Map<string, PreviewWrite[]>();
  for (const write of writes) {
    const key = JSON.stringify([write.verb === 'status', write.object]);
    byObject.set(key, [...(byObject.get(key) ?? []), write]);
  }
  const all = [...byObject.values()].map((same) => ({ isStatus: same[0]?.verb === 'status', one: merged(same) }));
  return {
    objects: all.filter(({ isStatus }) => !isStatus).map(({ one }) => one),
    statuses: all.filter(({ isStatus }) => isStatus).map(({ one }) => one),
  };
}

function merged(writes: readonly PreviewWrite[]): ObjectWrites {
  const changes = new Map<string, ValueChange>();
  for (const change of writes.flatMap((write) => write.changes)) {
    // For a value that changes twice, show the first and the last value.
    changes.set(change.path, { ...change, before: changes.get(change.path)?.before ?? change.before });
  }
  const first = writes.find(isCreation) ?? writes.find(({ verb }) => verb === 'delete') ?? writes[0];
  return {
    verb: first === undefined ? '' : verbOf(first),
    object: first?.object ?? '',
    origins: [...new Set(writes.map(originOf))],
    disturbs: [...new Set(writes.flatMap(({ disturbs }) => disturbs ?? []))],
    changes: [...changes.values()],
  };
}

function originOf({ by, for: owner }: PreviewWrite): string {
  return by === 'garbage collection' ? `with ${owner}` : `by ${by} for ${owner}`;
}

function writeLines({ verb, object, origins, disturbs, changes }: ObjectWrites, options: FormatPlanOptions): string[] {
  const { yellow, dim } = options.colours;
  const [first = '', ...values] = entry(verb, { object, changes }, options);
  const disturbance = disturbs.length === 0 ? '' : yellow(` (${disturbs.join(', ')})`);
  return [`${first}${disturbance}  ${dim(origins.join('; '))}`, ...values];
}

function entry(
  verb: string,
  { object, changes }: { object: string; changes: readonly ValueChange[] },
  { colours, isWide }: FormatPlanOptions,
): string[] {
  const paint = { '+': colours.green, '-': colours.red, '~': colours.yellow }[verb[0] ?? ''] ?? ((text) => text);
  // The memory of reconcilers follows from the rest.
  const shown = changes.filter(({ path }) => !path.startsWith('status.memory'));
  return [`  ${paint(verb)} ${object}`, ...shown.map((change) => `      ${valueLine(change, isWide)}`)];
}

/** `path: old → new`; a value that is added or removed has one side. */
export function valueLine({ path, before, after }: ValueChange, isWide: boolean): string {
  const [old, next] = [before, after].map((value) => showValue(value, isWide));
  if (before === undefined) return `${path}: + ${next}`;
  if (after === undefined) return `${path}: - ${old}`;
  return `${path}: ${old} → ${next}`;
}

/** Each that disturbs, and the others in one line: a change of one object can move hundreds of keys. */
function deliveryLines(deliveries: readonly PreviewDelivery[], options: FormatPlanOptions): string[] {
  const { yellow, dim } = options.colours;
  const shown = deliveries.filter(({ disturbs }, at) => disturbs !== undefined || at < MAX_DELIVERIES);
  const left = deliveries.length - shown.length;
  return [
    ...shown.flatMap(({ by, key, change, changes = [], disturbs }) => {
      const [first = '', ...values] = entry(DELIVERY_VERBS[change], { object: key, changes }, options);
      return [`${first}${disturbs === undefined ? '' : yellow(` (${disturbs})`)}  ${dim(`by ${by}`)}`, ...values];
    }),
    ...(left === 0 ? [] : [`  … and ${count(left, 'more that disturbs nothing', 'more that disturb nothing')}`]),
  ];
}

const MAX_DELIVERIES = 20;
const DELIVERY_VERBS = { added: '+ add', changed: '~ change', removed: '- remove' } as const;

function verbOf(write: PreviewWrite): string {
  if (write.verb === 'apply' || write.verb === 'share') return isCreation(write) ? '+ create' : '~ change';
  return VERBS[write.verb];
}

const VERBS = {
  create: '+ create',
  merge: '~ change',
  mint: '+ create',
  hold: '~ hold',
  purge: '~ remove fields of others from',
  withdraw: '~ withdraw from',
  patch: '~ patch',
  delete: '- delete',
  status: '~ status of',
  finalizer: '~ finalizer of',
} as const;

function isCreation({ creates }: PreviewWrite): boolean {
  return creates === true;
}

/** "2 created, 1 changed (rolls pods), 3 statuses." Each object counts once. */
export function summary(
  {
    writes,
    later,
    deliveries,
    refusals,
    unknowns,
  }: Pick<PlanReport, 'writes' | 'later' | 'deliveries' | 'refusals' | 'unknowns'>,
  showStatus: boolean,
): string {
  const objects = writes.filter(({ verb }) => verb !== 'status' && verb !== 'finalizer');
  const created = objects.filter(isCreation);
  const deleted = objects.filter(({ verb }) => verb === 'delete');
  const counted = new Set([...created, ...deleted].map(({ object }) => object));
  const changed = objects.filter(({ object }) => !counted.has(object));
  const statuses = new Set(writes.filter(({ verb }) => verb === 'status').map(({ object }) => object)).size;
  const parts = [
    ...part(created, 'created'),
    ...part(changed, 'changed'),
    ...part(deleted, 'deleted'),
    ...(statuses > 0 ? [`${count(statuses, 'status', 'statuses')}${showStatus ? '' : ' (see --show-status)'}`] : []),
    ...delivered(deliveries),
    ...laterPart(later),
    ...(refusals.length > 0 ? [`${refusals.length} refused`] : []),
  ];
  if (parts.length > 0) return `${parts.join(', ')}.`;
  return unknowns.length === 0 ? 'Nothing follows from it.' : 'What follows from it is not known.';
}

function laterPart(later: PlanReport['later']): string[] {
  const objects = later.filter(({ verb }) => verb !== 'status' && verb !== 'finalizer');
  const disturbances = [...new Set(objects.flatMap(({ disturbs }) => disturbs ?? []))];
  const count = new Set(objects.map(({ object }) => object)).size;
  return count === 0 ? [] : [`${count} later${disturbances.length === 0 ? '' : ` (${disturbances.join(', ')})`}`];
}

function delivered(deliveries: readonly PreviewDelivery[]): string[] {
  if (deliveries.length === 0) return [];
  const disturbances = [...new Set(deliveries.flatMap(({ disturbs }) => disturbs ?? []))];
  return [`${deliveries.length} delivered${disturbances.length === 0 ? '' : ` (${disturbances.join(', ')})`}`];
}

function part(writes: readonly PreviewWrite[], word: string): string[] {
  const objects = new Set(writes.map(({ object }) => object));
  if (objects.size === 0) return [];
  const disturbances = [...new Set(writes.flatMap(({ disturbs }) => disturbs ?? []))];
  return [`${objects.size} ${word}${disturbances.length === 0 ? '' : ` (${disturbances.join(', ')})`}`];
}
