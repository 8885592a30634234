import { type FlagValues, flagDefaults } from '@capstan/reconcile/command-line';
import { FLAGS } from './commands/flags.ts';

/** What the operator is started with. */
export interface Settings {
  /** The image of gateways. */
  readonly image: string;
}

/** What the flags ask for. */
export function settingsOf(values: FlagValues<typeof FLAGS>): Settings {
  return { image: values.image };
}

export const DEFAULT_SETTINGS: Settings = settingsOf(flagDefaults(FLAGS));
