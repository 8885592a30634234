// Captures that a project keeps as tests: small recordings of scenes and of fixed incidents. Each is replayed, and its plans are compared with a
// file of text beside it, so that a change of behaviour is a readable difference of plans.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { diff } from 'node:util';
import { type Clock, changesBetween, equal, isRecord, systemClock } from '@capstan/kube';
import { bytesOfHistory, type Operator, openRecording, replayHistory } from '@capstan/reconcile';
import { yamlDocuments } from '@capstan/reconcile/command-line';
import { createStage, type Stage, type StageOptions } from '../stage/stage.ts';
import { recordLives } from './record-lives.ts';

export interface KeptCaptures {
  /** The folder of the captures. */
  readonly folder: URL;
  /** The operators of this version. */
  operators(): readonly Operator[];
  /** By the name of the file: a scene to record where the file does not exist yet; absent for an incident that was captured elsewhere. */
  readonly captures: Readonly<Record<string, Scene | 'incident'>>;
}

export interface Scene extends Pick<StageOptions, 'given'> {
  /** Acts on a stage that has come to rest. It must not restart the program. */
  act(stage: Stage): Promise<void>;
}

const isAccepted = process.env['UPDATE_FIXTURES'] === '1';

/** Defines a test for each capture. With UPDATE_FIXTURES=1 scenes without a file are recorded, and present plans are accepted. */
export function testKeptCaptures({ folder, operators, captures }: KeptCaptures): void {
  for (const [name, scene] of Object.entries(captures))
    test(`the plans of the capture ${name} are as kept`, async () => {
      const file = fileURLToPath(new URL(`${name}.capture`, folder));
      const expected = fileURLToPath(new URL(`${name}.plans.yaml`, folder));
      if (isAccepted && scene !== 'incident' && !(await exists(file)))
        await writeFile(file, await record(scene, operators()));
      const plans = await plansOf(file, operators());
      if (isAccepted) await writeFile(expected, plans);
      const kept = await readFile(expected, 'utf8');
      const remedy = 'accept them with UPDATE_FIXTURES=1 (docs/testing.md)';
      if (plans !== kept)
        assert.fail(`the plans differ from ${basename(expected)}; ${remedy}\n${changedLines(kept, plans)}`);
    });
}

const CONTEXT = 3;

/** The lines that differ, each with the lines before it and the heading of its plan. */
function changedLines(kept: string, plans: string): string {
  const lines = diff(kept.split('\n'), plans.split('\n'));
  const isShown = (at: number) => lines.slice(at, at + CONTEXT + 1).some(([sign]) => sign !== 0);
  const shown = lines.flatMap(([sign, line], at) => {
    const isHeading = /^\d/.test(line) && lines.slice(at + 1).some(([other]) => other !== 0);
    if (!isShown(at) && !isHeading) return [];
    return [`${sign === 0 ? ' ' : sign < 0 ? '+' : '-'} ${line}`];
  });
  // A heading is of use only above a difference.
  return shown
    .filter((line, at) => !/^  \d/.test(line) || (shown[at + 1] !== undefined && !/^  \d/.test(shown[at + 1] ?? '')))
    .join('\n');
}

/** Returns the plans of a capture as text, in the order of its waves. Throws where a replay cannot have them all. */
export async function plansOf(file: string, operators: readonly Operator[]): Promise<string> {
  const recording = await openRecording(file);
  const names = new Set(operators.flatMap(({ name, reconcilers }) => reconcilers.map((one) => `${name}.${one.name}`)));
  const shownPlans: object[] = [];
  const last = new Map<string, unknown>();
  let first: number | undefined;
  const { unknownTables } = replayHistory(recording, {
    operators,
    compares: false,
    onResult({ wave, name, key, value }) {
      first ??= wave;
      if (!names.has(name)) return;
      const id = `${name} ${key}`;
      const plan = shownPlan(value);
      // A later plan of the same object is shown by its changes.
      const former = last.get(id);
      const isEdit = isPlan(former) && isPlan(plan);
      const shown = isEdit ? changesOf(former, plan) : isPlan(plan) ? plan : { 'waits for': plan };
      last.set(id, plan);
      if (Object.keys(shown).length > 0) shownPlans.push({ [`${wave - first} ${id}`]: shown });
    },
  });
  assert.deepEqual(unknownTables, [], 'the operators know every table of the capture');
  return `# The plans of ${basename(file)}: wave, reconciler, object.\n${await yamlDocuments(shownPlans)}`;
}

/** A plan that nothing is wanted by. */
const EMPTY = { outcome: 'desired', held: false, prune: true };

/** Leaves out the parts of a plan that are empty, and definitions of kinds. */
function shownPlan(value: unknown): unknown {
  const plan = JSON.parse(JSON.stringify(value, shown) ?? 'null') as unknown;
  return equal(plan, EMPTY) ? {} : plan;
}

/** A function that waits for an input has a list of them in the place of a plan. */
function isPlan(value: unknown): value is Readonly<Record<string, unknown>> {
  return isRecord(value) && !Array.isArray(value);
}

/** The values that differ, by their paths: `old → new`. */
function changesOf(before: unknown, after: unknown): Record<string, string> {
  return Object.fromEntries(
    changesBetween(before, after, MOST_CHANGES).map(({ path, before: old, after: next }) => [
      path,
      `${JSON.stringify(old) ?? 'nothing'} → ${JSON.stringify(next) ?? 'nothing'}`,
    ]),
  );
}

const MOST_CHANGES = 100;

function shown(name: string, value: unknown): unknown {
  if (name === 'kind' && isRecord(value)) return value['kind'];
  if (typeof value === 'function') return undefined;
  if (Array.isArray(value)) return value.length === 0 ? undefined : value;
  return isRecord(value) && Object.keys(value).length === 0 ? undefined : value;
}

async function record({ given, act }: Scene, operators: readonly Operator[]): Promise<Buffer> {
  const lives = recordLives('replaced');
  let clock: Clock = systemClock;
  // The clock of the stage comes with it. Digests are computed at the end, so that nothing waits on it.
  const record = lives.record({ clock: { ...systemClock, now: () => clock.now() }, operators });
  const stage = await createStage({ operators, ...(given && { given }), runtime: { record } });
  clock = stage.clock;
  try {
    await act(stage);
    await stage.settle();
  } finally {
    await stage.end();
  }
  const [life] = lives.histories();
  assert.ok(life);
  return bytesOfHistory(life);
}

async function exists(file: string): Promise<boolean> {
  return readFile(file).then(
    () => true,
    () => false,
  );
}
