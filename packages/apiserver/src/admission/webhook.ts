import {
  type CompiledLabelSelector,
  compileLabelSelector,
  type LabelSelector,
  type MutatingWebhook,
  type RuleWithOperations,
  type UnknownObject,
} from '@capstan/kube';
import type { Store } from '../store/store.ts';
import { type ConditionCompiler, type MatchConditions } from './match-conditions.ts';

export const MUTATING = 'admissionregistration.k8s.io/mutatingwebhookconfigurations';
export const VALIDATING = 'admissionregistration.k8s.io/validatingwebhookconfigurations';

/** Where a webhook listens. */
export interface WebhookClient {
  readonly url?: string;
  readonly service?: {
    readonly namespace: string;
    readonly name: string;
    readonly port: number;
    readonly path: string;
  };
  /** PEM; undefined: the authorities that this machine trusts. */
  readonly ca?: string;
}

/** One webhook of a configuration, ready to be asked. */
export interface Webhook {
  readonly name: string;
  readonly rules: readonly RuleWithOperations[];
  readonly namespaces: CompiledLabelSelector;
  readonly objects: CompiledLabelSelector;
  /** A request in another version of the same resource counts too. */
  readonly matchesEquivalent: boolean;
  readonly conditions: MatchConditions;
  /** A webhook that cannot be called counts as having agreed. */
  readonly failsOpen: boolean;
  readonly timeoutSeconds: number;
  readonly allowsDryRun: boolean;
  /** Asked a second time when a user changed the object after it. */
  readonly isReinvoked: boolean;
  readonly reviewVersion: 'v1' | 'v1beta1';
  readonly client: WebhookClient;
}

/** The webhooks of all configurations of a kind, by the configuration's name and then in its order; kept until one changes. */
export function watchWebhooks(
  store: Store,
  storageKey: string,
  conditions: ConditionCompiler,
): () => readonly Webhook[] {
  let known: readonly Webhook[] | undefined;
  store.subscribe(storageKey, () => {
    known = undefined;
  });
  return () => {
    known ??= store
      .list(storageKey, '')
      .flatMap(({ object }) => webhooksOf(object).map((one) => ready(one, conditions)));
    return known;
  };
}

export function webhooksOf(configuration: UnknownObject): readonly MutatingWebhook[] {
  const { webhooks } = configuration as { webhooks?: MutatingWebhook[] };
  return webhooks ?? [];
}

function ready(given: MutatingWebhook, conditions: ConditionCompiler): Webhook {
  const { clientConfig, sideEffects } = given;
  const { url, service, caBundle } = clientConfig;
  const ca = caBundle === undefined || caBundle === '' ? undefined : Buffer.from(caBundle, 'base64').toString('utf8');
  return {
    name: given.name,
    rules: given.rules ?? [],
    namespaces: selectorOf(given.namespaceSelector),
    objects: selectorOf(given.objectSelector),
    matchesEquivalent: given.matchPolicy !== 'Exact',
    conditions: conditions.compile(given.matchConditions ?? []),
    failsOpen: given.failurePolicy === 'Ignore',
    timeoutSeconds: given.timeoutSeconds ?? 10,
    allowsDryRun: sideEffects === 'None' || sideEffects === 'NoneOnDryRun',
    isReinvoked: given.reinvocationPolicy === 'IfNeeded',
    reviewVersion: given.admissionReviewVersions.find((one) => one === 'v1' || one === 'v1beta1') ?? 'v1',
    client: {
      ...(url !== undefined && { url }),
      ...(service && {
        service: {
          namespace: service.namespace,
          name: service.name,
          port: service.port ?? 443,
          path: service.path ?? '/',
        },
      }),
      ...(ca !== undefined && { ca }),
    },
  };
}

/** Here, other than in most places, no selector selects everything. */
const selectorOf = (selector: LabelSelector | undefined) => compileLabelSelector(selector ?? {});
