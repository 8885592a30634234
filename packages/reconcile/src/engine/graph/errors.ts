import { reasonOf } from '@capstan/kube/cluster';
import { asError } from '../../guard.ts';

/** The errors of the engine; every one of these is a bug in a derivation or in the engine's user. */
export const EngineErrors = {
  outsideRun: (name: string) =>
    new EngineError('ReadOutsideRun', `a read by ${name} was used after its run, in another run or in a projection`, {
      remedy: 'read only in the body of the computation, and only with the reader that it was given',
    }),
  cycle: (names: readonly string[]) =>
    new EngineError('DerivationCycle', `derivations read each other in a cycle: ${[...names, names[0]].join(' -> ')}`, {
      remedy: 'walk such data inside one derivation with a visited set, or declare onCycle',
    }),
  unsettled: (name: string, runs: number) =>
    new EngineError('NeverSettles', `${name} ran ${runs} times in one wave and still changes`, {
      remedy: 'its result must depend on its reads alone; results that are not plain data need equals',
    }),
  notComparable: (name: string, cause: unknown) =>
    new EngineError('NotComparable', `the results of ${name} cannot be compared: ${notComparable(cause)}`, {
      remedy: 'return plain data without cycles, and let equals return true or false',
    }),
  busy: (what: string) =>
    new EngineError('WaveRunning', `${what} while a wave is running`, { remedy: 'await the flush in progress first' }),
  forkStale: (created: number, now: number) =>
    new EngineError('ForkStale', `the preview was created at wave ${created}, the graph is at ${now}`, {
      remedy: 'create a new fork and evaluate it before the next flush',
    }),
  undefinedValue: (table: string, key: string) =>
    new EngineError('UndefinedValue', `${table}/${key} was put without a value`, { remedy: 'use delete or forget' }),
  indexExists: (table: string, name: string) =>
    new EngineError('IndexExists', `${table} has an index "${name}" already`, {
      remedy: 'share it, or choose another name',
    }),
};

function notComparable(cause: unknown): string {
  return asError(cause) instanceof RangeError ? 'one contains itself, or is nested too deeply' : reasonOf(cause);
}

export class EngineError extends Error {
  readonly code: string;
  readonly remedy: string;

  constructor(code: string, message: string, options: { remedy: string }) {
    super(`${message}; ${options.remedy}`);
    this.name = 'EngineError';
    this.code = code;
    this.remedy = options.remedy;
  }
}

/** Ends a run that read an unknown value. The engine recognises the run itself; catching this changes nothing. */
export class Suspended extends Error {
  override readonly name = 'Suspended';
  readonly waitingFor: readonly string[];

  constructor(waitingFor: readonly string[]) {
    // While caches fill, thousands of runs end so: where is not of interest, and finding it out would be most of the cost.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(`waits for ${waitingFor.join(', ')}`);
    Error.stackTraceLimit = stackTraceLimit;
    this.waitingFor = waitingFor;
  }
}
