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
  /** Whether the webhook that injects sidecars is run. */
  readonly sidecarWebhook: boolean;
  /** Of the webhook; it has the program `kroxylicious`. */
  readonly webhookImage: string;
  readonly webhookNamespace: string;
  readonly webhookReplicas: number;
  /** Whether pods of namespaces with sidecars are refused while the webhook does not answer. */
  readonly webhookFailurePolicy: 'Fail' | 'Ignore';
  /** Whether pods that can get no sidecar are refused. */
  readonly uninjectedPodPolicy: 'Admit' | 'Deny';
}

/** The quiet period of a proxy: its own, or the operator's. */
export function quietMsOf(spec: KafkaProxySpec | undefined, { quietMs }: Pick<Settings, 'quietMs'>): number {
  return spec?.rollout?.quietPeriod === undefined ? quietMs : parseDuration(spec.rollout.quietPeriod);
}

/** What the flags ask for. */
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
