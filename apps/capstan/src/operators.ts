import type { Operator } from '@capstan/reconcile';

/** Flags of one operator by name: `--crossplane.package-runtime=External` is {'package-runtime': 'External'}. */
export type FlagsOfOperator = Readonly<Record<string, string>>;

export interface BuiltInOperator {
  readonly name: string;
  /** Loads its module when it is used. Throws a UsageError for a flag that it does not have. */
  load(flags: FlagsOfOperator, env: Readonly<Record<string, string | undefined>>): Promise<Operator>;
}

/** The operators that come with Capstan; each is loaded when it is used. */
export const BUILT_IN_OPERATORS: readonly BuiltInOperator[] = [
  {
    name: 'kroxylicious',
    async load(flags) {
      const { createKroxylicious, settingsFromFlags } = await import('@capstan/kroxylicious');
      const settings = settingsFromFlags(flags);
      if (!('fault' in settings)) return createKroxylicious(settings);
      const { UsageErrors } = await import('./cli/errors.ts');
      const { flag, remedy } = settings.fault;
      if (remedy === undefined) throw UsageErrors.UnknownFlag(`--kroxylicious.${flag}`, 'run', undefined);
      throw UsageErrors.BadValue(`--kroxylicious.${flag}`, flags[flag] ?? '', remedy);
    },
  },
  {
    name: 'crossplane',
    async load(flags, env) {
      const { createCrossplane, settingsFromFlags } = await import('@capstan/crossplane');
      const settings = settingsFromFlags(flags, env);
      if (!('fault' in settings)) return createCrossplane(settings);
      const { UsageErrors } = await import('./cli/errors.ts');
      const { flag, remedy, variable } = settings.fault;
      if (remedy === undefined) throw UsageErrors.UnknownFlag(`--crossplane.${flag}`, 'run', undefined);
      if (variable !== undefined) throw UsageErrors.BadValue(variable, env[variable] ?? '', remedy);
      throw UsageErrors.BadValue(`--crossplane.${flag}`, flags[flag] ?? '', remedy);
    },
  },
  {
    name: 'gimbal',
    async load(flags) {
      const { createGimbal, settingsFromFlags } = await import('@capstan/gimbal');
      const settings = settingsFromFlags(flags);
      if (!('fault' in settings)) return createGimbal(settings);
      const { UsageErrors } = await import('./cli/errors.ts');
      const { flag, remedy } = settings.fault;
      if (remedy === undefined) throw UsageErrors.UnknownFlag(`--gimbal.${flag}`, 'run', undefined);
      throw UsageErrors.BadValue(`--gimbal.${flag}`, flags[flag] ?? '', remedy);
    },
  },
  {
    name: 'submariner',
    async load(flags) {
      const { createSubmariner, settingsFromFlags } = await import('@capstan/submariner');
      const settings = settingsFromFlags(flags);
      if (!('fault' in settings)) return createSubmariner(settings);
      const { UsageErrors } = await import('./cli/errors.ts');
      const { flag, remedy } = settings.fault;
      if (remedy === undefined) throw UsageErrors.UnknownFlag(`--submariner.${flag}`, 'run', undefined);
      throw UsageErrors.BadValue(`--submariner.${flag}`, flags[flag] ?? '', remedy);
    },
  },
];
