import { parseDuration } from '@capstan/kube';
import { type FlagValues, flagDefaults } from '@capstan/reconcile/command-line';
import { FLAGS } from './commands/flags.ts';
import type { KafkaProxySpec } from './kinds/index.ts';

/** The settings of the operator, from its flags. */
export interface Settings {
  /** The image of the proxy. */
  readonly image: string;
  /** A rollout waits until its inputs have not changed for this long. */
  readonly quietMs: number;
  /** The suffix of the host names of Services. */
  readonly clusterDomain: string;
  /** Whether the operator runs the webhook that injects sidecars. */
  readonly sidecarWebhook: boolean;
  /** The image of the webhook, which contains the program `kroxylicious`. */
  readonly webhookImage: string;
  readonly webhookNamespace: string;
  readonly webhookReplicas: number;
  /** Whether pods of namespaces with sidecars are refused while the webhook is unavailable. */
  readonly webhookFailurePolicy: 'Fail' | 'Ignore';
  /** Whether pods that cannot get a sidecar are refused. */
  readonly uninjectedPodPolicy: 'Admit' | 'Deny';
}

/** Returns the quiet period of a proxy: its own one, or the operator's. */
export function quietMsOf(spec: KafkaProxySpec | undefined, { quietMs }: Pick<Settings, 'quietMs'>): number {
  return spec?.rollout?.quietPeriod === undefined ? quietMs : parseDuration(spec.rollout.quietPeriod);
}

/** Returns the settings for the values of the flags. */
export function settingsOf(values: FlagValues<typeof FLAGS>): Settings {
  return {
    image: values.image,
    quietMs: values['quiet-period'],
    clusterDomain: values['cluster-domain'],
    sidecarWebhook: values['sidecar-webhook'],
    webhookImage: values['webhook-image'],
    webhookNamespace: values['webhook-namespace'],
    webhookReplicas: values['webhook-replicas'],
    webhookFailurePolicy: values['webhook-failure-policy'],
    uninjectedPodPolicy: values['uninjected-pod-policy'],
  };
}

export const DEFAULT_SETTINGS: Settings = settingsOf(flagDefaults(FLAGS));
