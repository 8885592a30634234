import { type FlagValues, flagDefaults } from '@capstan/reconcile/command-line';
import { FLAGS } from './commands/flags.ts';
import type { Verify } from './credentials/verifier.ts';
import { createVerify } from './credentials/verify.ts';

/** The settings that the operator is started with. */
export interface Settings {
  /** The image of the discoverers; it has the program `gimbal`. */
  readonly image: string;
  /** Whether discoverers write Endpoints beside slices, for the one that does not read slices. */
  readonly writeEndpoints: boolean;
  /** How credentials are tried out. */
  readonly verify: Verify;
}

/** Returns the settings that the flags ask for. */
export function settingsOf(values: FlagValues<typeof FLAGS>): Pick<Settings, 'image' | 'writeEndpoints'> {
  return { image: values.image, writeEndpoints: values['write-endpoints'] };
}

export function defaultSettings(): Settings {
  return { ...settingsOf(flagDefaults(FLAGS)), verify: createVerify() };
}
