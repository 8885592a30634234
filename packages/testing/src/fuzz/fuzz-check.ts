// One input: the parser must answer with a value or a refusal, in bounded time, and leave the prototypes of the language alone.
import { DEFAULT_MAX_MS, type FuzzTarget } from './fuzz-target.ts';

export interface Checked {
  readonly isRefused: boolean;
  /** Milliseconds of the processor. */
  readonly ms: number;
  /** A sentence about the defect; undefined: none. */
  readonly problem?: string;
}

/** Hands the input to the parser, and a second time when the first took too long: compilation and collections count once. */
export async function checkInput(target: FuzzTarget, input: Buffer): Promise<Checked> {
  const first = await checkedOnce(target, input);
  const { maxMs = DEFAULT_MAX_MS } = target;
  if (first.problem !== undefined || first.ms <= maxMs) return first;
  const again = await checkedOnce(target, input);
  const ms = Math.min(first.ms, again.ms);
  if (again.problem !== undefined || ms <= maxMs) return again;
  return { ...again, problem: `${input.length} bytes take ${Math.round(ms)} ms, more than ${maxMs} ms` };
}

/** Milliseconds of the processor that this thread takes for the input: the least of some attempts. */
export async function timeOf(target: FuzzTarget, input: Buffer, attempts: number): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const { ms } = await checkedOnce(target, input);
    least = Math.min(least, ms);
  }
  return least;
}

async function checkedOnce(target: FuzzTarget, input: Buffer): Promise<Checked> {
  let error: unknown;
  let isRefused = false;
  // The parser may keep or change its bytes.
  const given = Buffer.from(input);
  const began = processorMs();
  try {
    const answer = target.read(given);
    if (answer instanceof Promise) await answer;
  } catch (thrown) {
    isRefused = true;
    error = thrown;
  }
  const ms = processorMs() - began;
  const problem = pollution() ?? (isRefused ? defectIn(target, error) : undefined);
  return { isRefused, ms, ...(problem !== undefined && { problem }) };
}

function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Such an error is a defect even where a parser turns every error into a refusal. */
const EXHAUSTED = /Maximum call stack|Invalid (array|string) length|allocation failed|out of memory/i;

function defectIn(target: FuzzTarget, error: unknown): string | undefined {
  const isExhausted = error instanceof RangeError && EXHAUSTED.test(error.message);
  if (!isExhausted && target.isRefusal(error)) return undefined;
  return error instanceof Error ? (error.stack ?? String(error)) : `it threw ${String(error)}`;
}

const PROTOTYPES: readonly object[] = [
  Object.prototype,
  Array.prototype,
  Function.prototype,
  String.prototype,
  Number.prototype,
  Map.prototype,
  Buffer.prototype,
  Uint8Array.prototype,
];
const KEYS = PROTOTYPES.map((prototype) => Reflect.ownKeys(prototype).length);

/** Returns the prototype that has got another number of properties, and removes the new ones, so that the next input starts afresh. */
function pollution(): string | undefined {
  for (const [index, prototype] of PROTOTYPES.entries()) {
    const keys = Reflect.ownKeys(prototype);
    if (keys.length === KEYS[index]) continue;
    const added = keys.slice(KEYS[index]);
    for (const key of added) Reflect.deleteProperty(prototype, key);
    return `${prototype.constructor.name}.prototype was changed: ${added.map(String).join(', ')}`;
  }
  return undefined;
}
