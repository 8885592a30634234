import { parseDuration } from '@capstan/kube';
import { type FlagValues, flagDefaults } from '@capstan/reconcile/command-line';
import { FLAGS } from './commands/flags.ts';
import type { KafkaProxySpec } from './kinds/index.ts';

/** What the operator is started with. */
export interface Settings {
  /** The proxy's image. */
  readonly image: string;
  /** A rollout waits until its inputs have not changed for so long. */
  readonly quietMs: number;
  /** What host names of Services end in. */
  readonly clusterDomain: string;
}

/** The quiet period of a proxy: its own, or the operator's. */
export function quietMsOf(spec: KafkaProxySpec | undefined, { quietMs }: Pick<Settings, 'quietMs'>): number {
  return spec?.rollout?.quietPeriod === undefined ? quietMs : parseDuration(spec.rollout.quietPeriod);
}

/** What the flags ask for. */
export function settingsOf(values: FlagValues<typeof FLAGS>): Settings {
  return { image: values.image, quietMs: values['quiet-period'], clusterDomain: values['cluster-domain'] };
}

export const DEFAULT_SETTINGS: Settings = settingsOf(flagDefaults(FLAGS));
