// Random edits of one cluster: each is foretold, made and compared.
import { type DefinedKind, type Kind, type KubeObject, keyOf, type ObjectRef, refOf } from '@capstan/kube';
import { PAUSED_ANNOTATION, type PreviewChange } from '@capstan/reconcile';
import { createRandom } from '../../random.ts';
import type { Stage } from '../stage.ts';
import { compareWithPreview, idOf } from './foretold.ts';

/** One edit: an object as it is to be, or the name of one that goes. */
export type RandomEdit =
  | { readonly kind: Kind; readonly object: KubeObject }
  | { readonly kind: Kind; readonly gone: ObjectRef };

export interface ForetoldEdits {
  readonly stage: Stage;
  /** How many changes are compared. Those that the server refuses and deletions of absent objects do not count. */
  readonly edits: number;
  /** The next edit; one that changes nothing is compared as well. */
  next(): RandomEdit;
  /** With a seed, some objects are paused for one edit, and some changes are several edits, or are made while the program is stopped. */
  readonly variety?: number | undefined;
  /** Prints a line at the end: how many edits and writes were compared, and how many differences were excused for which reason. */
  report(line: string): void;
}

export interface ForetoldTotal {
  readonly unknown: number;
  readonly writes: number;
}

const OPTIONS = { fieldManager: 'kubectl', force: true };
/** More attempts than that for each change that is compared: the edits are refused. */
const MAX_ATTEMPTS = 4;

/** Foretells, makes and compares one change after the other; throws at the first difference that was not listed as not known. */
export async function assertForetold({ stage, edits, next, variety, report }: ForetoldEdits): Promise<ForetoldTotal> {
  const { client } = stage;
  const random = variety === undefined ? undefined : createRandom(variety);
  const total = { unknown: 0, writes: 0 };
  const counts = { compared: 0, refused: 0, paused: 0, together: 0, stopped: 0 };
  const excuses = new Map<string, number>();
  const story: string[] = [];

  /** The change of an edit; undefined where there is none: the object is absent, or the server refuses it. */
  async function changeOf(edit: RandomEdit): Promise<PreviewChange | undefined> {
    const { kind } = edit;
    if ('gone' in edit) return (await client.find<KubeObject>(kind, edit.gone)) && { kind, ref: edit.gone, gone: true };
    try {
      return { kind, object: viewed(kind, await client.apply(kind, edit.object, { ...OPTIONS, dryRun: true })) };
    } catch {
      return undefined;
    }
  }

  for (let attempt = 0; counts.compared < edits; attempt++) {
    if (attempt >= edits * MAX_ATTEMPTS) throw new Error(`${attempt} edits, and ${counts.compared} of them are valid`);
    const size = random?.chance(0.1) ? random.integer(2, 3) : 1;
    const isStopped = size > 1 || (random?.chance(0.08) ?? false);
    const isPaused = random?.chance(0.08) ?? false;
    const changes = new Map<string, { edit: RandomEdit; change: PreviewChange }>();
    for (let count = 0; count < size; count++) {
      const edit = isPaused ? paused(next()) : next();
      const id = `${edit.kind.kind} ${keyOf('gone' in edit ? edit.gone : refOf(edit.object))}`;
      const change = changes.has(id) ? undefined : await changeOf(edit);
      if (change === undefined) continue;
      changes.set(id, { edit, change });
      story.push(
        `${isStopped ? 'stopped: ' : ''}${'gone' in edit ? `delete ${id}` : `apply ${JSON.stringify(edit.object)}`}`,
      );
    }
    if (changes.size === 0) {
      counts.refused++;
      continue;
    }
    const all = [...changes.values()];
    const write = async () => {
      for (const { edit } of all)
        await ('gone' in edit ? client.delete(edit.kind, edit.gone) : client.apply(edit.kind, edit.object, OPTIONS));
    };
    const { differences, unknown, predicted, excused } = await compareWithPreview({
      stage,
      changes: all.map(({ change }) => change),
      make: isStopped ? () => stage.restart({ meanwhile: write }) : write,
    });
    counts.compared++;
    if (isPaused) counts.paused++;
    if (all.length > 1) counts.together++;
    if (isStopped) counts.stopped++;
    for (const [excuse, some] of Object.entries(excused)) excuses.set(excuse, (excuses.get(excuse) ?? 0) + some);
    total.unknown += unknown.length;
    total.writes += predicted.writes.length + predicted.later.length;
    if (differences.length > 0) {
      const unknowns = predicted.unknowns.map((one) => `not known: ${one}`);
      const foretold = predicted.writes.map((one) => `foretold: ${idOf(one)} by ${one.by}: ${one.paths.join(', ')}`);
      const later = predicted.later.map((one) => `later: ${idOf(one)}, once ${one.until}`);
      throw new Error(
        [`change ${counts.compared}`, ...story.slice(-4), ...differences, ...unknowns, ...foretold, ...later].join(
          '\n  ',
        ),
      );
    }
  }
  const { compared, refused, ...kinds } = counts;
  const shown = Object.entries(kinds).map(([name, some]) => `${some} ${name}`);
  const reasons = [...excuses].map(([excuse, some]) => `${some} (${excuse})`);
  report(
    `foretold: ${compared} changes compared (${shown.join(', ')}; ${refused} refused or of absent objects besides), ${total.writes} writes; excused ${reasons.join(', ') || 'none'}`,
  );
  return total;
}

/** The next edit of the same object, which has no such annotation, lets it go on. */
function paused(edit: RandomEdit): RandomEdit {
  if ('gone' in edit) return edit;
  const { metadata } = edit.object;
  const annotations = { ...metadata.annotations, [PAUSED_ANNOTATION]: 'true' };
  return { ...edit, object: { ...edit.object, metadata: { ...metadata, annotations } } };
}

/** As reconcilers see objects of the kind. */
function viewed(kind: Kind, object: KubeObject): KubeObject {
  return 'viewOf' in kind ? (kind as DefinedKind).viewOf(object) : object;
}
