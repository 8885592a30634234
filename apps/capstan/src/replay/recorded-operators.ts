// The operators of a recording, with the flags that they had.
import { namespacedPart, type Operator, type RecordedHistory } from '@capstan/reconcile';
import type { Io } from '../cli/io.ts';
import { requireOperators } from '../cli/load-operators.ts';
import type { OperatorArgs } from '../cli/operator-options.ts';

export async function recordedOperators(
  args: OperatorArgs,
  { operators, operatorFlags = {}, flags }: RecordedHistory['header'],
  io: Io,
): Promise<readonly Operator[]> {
  // With --operator FILE, the operators of these files, and of Capstan's own those that the recording has.
  const wanted = args.flags.operators ?? (args.flags.operator === undefined ? operators : undefined);
  const given = { ...operatorFlags, ...args.operatorFlags };
  const known = Object.fromEntries(Object.entries(given).filter(([name]) => wanted?.includes(name) ?? true));
  const found = await requireOperators(
    { ...args, operatorFlags: known, flags: { ...args.flags, operators: wanted } },
    io,
  );
  return flags.includes('--namespaced=true') ? found.map(namespacedPart) : found;
}
