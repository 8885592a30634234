// Root causes of the rows as they are, computed once for each state of them: several answers need them, and their walk visits every
// object that is not healthy.
import { causesFromReads, type RuntimeCauses } from '@capstan/reconcile';
import type { Rows } from './rows.ts';
import type { ConsoleSource } from './source.ts';

export function createKnownCauses({ runtime }: Pick<ConsoleSource, 'runtime'>, rows: Rows): () => RuntimeCauses {
  let known: { readonly version: number; readonly wave: number; readonly causes: RuntimeCauses } | undefined;
  return () => {
    const { version } = rows;
    // A wave may change the reads without a change of any row.
    const { wave } = runtime.engine.stats();
    if (known?.version === version && known.wave === wave) return known.causes;
    const problems = rows.unready().map(({ world, kind, key, message, state }) => ({
      world,
      kind,
      key,
      message,
      state: state === 'progress' ? ('progress' as const) : ('broken' as const),
    }));
    known = { version, wave, causes: causesFromReads(runtime, problems) };
    return known.causes;
  };
}
