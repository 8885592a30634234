/** One change of the host as data, so that it can be tested, shown and repeated. */
export type Step =
  | {
      readonly tool: 'ip' | 'bridge';
      readonly args: readonly string[];
      /** An object to remove may be gone already, and an object to add may exist already: not an error. */
      readonly lenient?: boolean;
    }
  | { readonly tool: 'sysctl'; readonly key: readonly string[]; readonly value: string };

export function ip(...args: readonly string[]): Step {
  return { tool: 'ip', args };
}

export function bridge(...args: readonly string[]): Step {
  return { tool: 'bridge', args };
}

/** The same step, where it does not matter whether it changes anything. */
export function lenient(step: Step): Step {
  return step.tool === 'sysctl' ? step : { ...step, lenient: true };
}

/** A setting of the kernel, by the parts of its name: interfaces may have dots in theirs. */
export function sysctl(key: readonly string[], value: string): Step {
  return { tool: 'sysctl', key, value };
}

/** For people and errors: `ip link add …`. */
export function formatStep(step: Step): string {
  return step.tool === 'sysctl' ? `sysctl ${step.key.join('.')}=${step.value}` : `${step.tool} ${step.args.join(' ')}`;
}
