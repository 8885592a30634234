// Mutants that no test kills, with the reason. Most of them change no result that can be observed.
export interface Survivor {
  readonly file: string;
  /** As `npm run mutate -- cores` prints it. */
  readonly id: string;
  readonly reason: string;
}

const DIGEST = 'packages/reconcile/src/digest.ts';
const OVERLAY = 'operators/crossplane/src/runtime/render/controller-config.ts';
const DEPLOYMENT = 'operators/crossplane/src/runtime/render/render-deployment.ts';

const FASTER =
  'the result is the same: names that are in order already are not sorted, and values that stay are not copied';
const NEVER = 'the value is always there: the renderer and the condition before it set it';

export const SURVIVORS: readonly Survivor[] = [
  {
    file: DIGEST,
    id: 'for (let at = 1; at < names.length && isSorted; at++) isSorted = (names[at - 1] as string) < (names[at] as string); | 1 -> 1 + 1',
    reason: FASTER,
  },
  {
    file: DIGEST,
    id: 'if (field !== before) changed ??= names.slice(0, at).map((earlier) => [earlier, value[earlier]]); | field !== before -> true',
    reason: FASTER,
  },
  {
    file: DIGEST,
    id: 'let changed: [string, unknown][] | undefined = isSorted ? undefined : []; | isSorted -> false',
    reason: FASTER,
  },
  {
    file: OVERLAY,
    id: 'metadata: podMetadata(template.metadata ?? {}, spec, podLabels(input.revision)), | template.metadata ?? {} -> template.metadata',
    reason: NEVER,
  },
  {
    file: OVERLAY,
    id: 'const template = deployment.spec?.template ?? {}; | deployment.spec?.template ?? {} -> deployment.spec?.template',
    reason: NEVER,
  },
  {
    file: OVERLAY,
    id: '...(isFilled(spec.envFrom) && { envFrom: [...(spec.envFrom ?? [])] }), | spec.envFrom ?? [] -> spec.envFrom',
    reason: NEVER,
  },
  {
    file: OVERLAY,
    id: '...(isFilled(spec.ports) && { ports: [...(spec.ports ?? [])] }), | spec.ports ?? [] -> spec.ports',
    reason: NEVER,
  },
  {
    file: DEPLOYMENT,
    id: 'const { containerPort } = portOf(ports, METRICS_PORT) ?? METRICS_PORT; | portOf(ports, METRICS_PORT) ?? METRICS_PORT -> portOf(ports, METRICS_PORT)',
    reason: NEVER,
  },
  {
    file: DEPLOYMENT,
    id: '...(env.list.length > 0 && { env: [...env.list] }), | > -> >=',
    reason: 'every runtime has variables of its own, so that the list is never empty',
  },
];
