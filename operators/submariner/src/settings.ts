import { type FlagValues, flagDefaults } from '@capstan/reconcile/command-line';
import { FLAGS } from './commands/flags.ts';

/** The settings of the operator. */
export interface Settings {
  /** The image of gateways. */
  readonly image: string;
}

/** Returns the settings that the flags ask for. */
export function settingsOf(values: FlagValues<typeof FLAGS>): Settings {
  return { image: values.image };
}

export const DEFAULT_SETTINGS: Settings = settingsOf(flagDefaults(FLAGS));
