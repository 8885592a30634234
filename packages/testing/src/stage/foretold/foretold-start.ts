// A start over objects of another program: the writes that are due are previewed by a runtime that only reads; then the program starts, and
// each of its writes is compared with the preview.
import { type Client, silentLogger, systemClock } from '@capstan/kube';
import { createRuntime, type DigestKey, type Operator, type PreviewResult, previewStanding } from '@capstan/reconcile';
import { createRandom } from '../../random.ts';
import type { Stage } from '../stage.ts';
import { type Comparison, compareWithPreview } from './foretold.ts';

export interface ForetoldStart {
  readonly stage: Stage;
  readonly operators: readonly Operator[];
  /** The namespace of the operators, if they use one. */
  readonly namespace?: string;
  readonly digestKey?: DigestKey;
  /** Creates the objects of the other program while none of ours runs. */
  given(client: Client): Promise<void>;
}

/** Stops the program, creates the objects, previews the writes of the next start, starts it and compares. */
export async function compareStart({ stage, given, ...options }: ForetoldStart): Promise<Comparison> {
  await stage.program.stop();
  await given(stage.client);
  const predicted = await predictStart(stage, options);
  return compareWithPreview({ stage, changes: [], predicted, make: () => stage.restart() });
}

async function predictStart(
  { client, clock }: Stage,
  { operators, namespace, digestKey }: Omit<ForetoldStart, 'stage' | 'given'>,
): Promise<PreviewResult> {
  const runtime = createRuntime({
    operators,
    clock,
    random: createRandom(1),
    logger: silentLogger,
    leadership: () => ({ holds: false, run: () => Promise.resolve(), onChange: () => () => {} }),
    whole: true,
    facts: 'readOnly',
  });
  runtime.setDigestKey(digestKey ?? { id: 'test', bytes: new Uint8Array(32) });
  runtime.addWorld({ name: '', client, ...(namespace !== undefined && { namespace }) });
  try {
    for (await runtime.settle(); !runtime.isSynced || runtime.suspended > 0; await runtime.settle()) {
      if (runtime.isSynced && runtime.isIdle && !(await moves(runtime))) break;
      await systemClock.yield();
    }
    return await previewStanding(runtime, { clock: systemClock, signal: new AbortController().signal });
  } finally {
    await runtime.run(AbortSignal.abort());
  }
}

const ATTEMPTS = 200;

/** Waits for objects that are fetched once they are referred to; false when nothing more arrives. */
async function moves({ engine }: ReturnType<typeof createRuntime>): Promise<boolean> {
  const { runs } = engine.stats();
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    await systemClock.yield();
    if (engine.stats().runs !== runs) return true;
  }
  return false;
}
