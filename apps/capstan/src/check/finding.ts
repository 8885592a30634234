// A finding of a check: one line for people, one object for programs.
import { isForbidden, reasonOf } from '@capstan/kube';

export const STATES = ['ok', 'warning', 'problem', 'unknown'] as const;

export interface Finding {
  /** The name of the check: `connection`, `definitions`, … */
  readonly check: string;
  readonly state: (typeof STATES)[number];
  readonly message: string;
  /** The remedy; absent where nothing is to be done. */
  readonly remedy?: string;
}

export const ok = (check: string, message: string): Finding => ({ check, state: 'ok', message });
export const warning = (check: string, message: string, remedy: string): Finding => ({
  check,
  state: 'warning',
  message,
  remedy,
});
export const problem = (check: string, message: string, remedy: string): Finding => ({
  check,
  state: 'problem',
  message,
  remedy,
});

/** Runs one check. A refused request gives the state `unknown`, any other failure gives `problem`. Never throws. */
export async function findings(check: string, find: () => Promise<readonly Finding[]>): Promise<readonly Finding[]> {
  try {
    return await find();
  } catch (error) {
    const message = reasonOf(error);
    if (isForbidden(error))
      return [
        { check, state: 'unknown', message, remedy: 'ask for the right, or let an administrator run capstan check' },
      ];
    return [problem(check, message, 'run capstan check again when this is resolved')];
  }
}

/** The first few by name, and how many more. */
export function some(names: readonly string[], most = 3): string {
  const left = names.length - most;
  return left <= 0 ? names.join(', ') : `${names.slice(0, most).join(', ')} and ${left} more`;
}
