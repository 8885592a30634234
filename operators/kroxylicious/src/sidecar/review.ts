// Answers an AdmissionReview of a pod with a sidecar, with a label that gives the reason why there is none, or with a refusal if the
// administrator asked for it. The code is pure: the server around it holds the configs and the connections.
import { isRecord, type Pod } from '@capstan/kube';
import type { AdmissionResponse } from '@capstan/reconcile/webhook';
import type { KroxyliciousSidecarConfig } from '../kinds/index.ts';
import type { ClusterFeatures } from './cluster-features.ts';
import {
  CONFIG_ANNOTATION,
  GENERATION_ANNOTATION,
  INJECTION_LABEL,
  PROXY_CONFIG_ANNOTATION,
  SIDECAR_CONTAINER,
} from './marks.ts';
import {
  bootstrapPatch,
  injectionPatch,
  type PatchOperation,
  type Sidecar,
  sidecarArguments,
  skippedPatch,
} from './pod-patch.ts';
import { configurationText, proxyConfiguration, sidecarPorts } from './proxy-configuration.ts';
import { sidecarProblems } from './validate.ts';

export interface ReviewOptions {
  /** Returns the configs of a namespace. */
  configsIn(namespace: string): readonly KroxyliciousSidecarConfig[];
  readonly features: ClusterFeatures;
  /** The image of sidecars whose config names none. */
  readonly image: string;
  /** Whether pods that should have a sidecar and cannot get one are refused. */
  readonly denyUninjected: boolean;
}

/** The decision about a pod, for the log. */
export interface Decision {
  readonly namespace: string;
  readonly pod: string;
  readonly outcome: 'injected' | 'already injected' | 'declined' | 'windows' | SkipReason;
  readonly config?: string;
  readonly problem?: string;
}

/** The reasons in the pod label, with the names of the original. */
export type SkipReason =
  | 'container-name-conflict'
  | 'no-KroxyliciousSidecarConfig'
  | 'ambiguous-KroxyliciousSidecarConfig'
  | 'invalid-KroxyliciousSidecarConfig';

export interface Reviewed {
  readonly response: AdmissionResponse;
  readonly decision?: Decision;
}

/** Returns the response to a request. A request that is not about a pod is allowed. */
export function review(request: Readonly<Record<string, unknown>>, options: ReviewOptions): Reviewed {
  const uid = typeof request['uid'] === 'string' ? request['uid'] : '';
  const pod = podOf(request['object']);
  if (pod === undefined) return { response: { uid, allowed: true } };
  const namespace = typeof request['namespace'] === 'string' ? request['namespace'] : (pod.metadata?.namespace ?? '');
  const about = { namespace, pod: pod.metadata?.name ?? pod.metadata?.generateName ?? '' };
  const allowed = (operations: readonly PatchOperation[], warnings: readonly string[] = []): AdmissionResponse => ({
    uid,
    allowed: true,
    ...(operations.length > 0 && {
      patchType: 'JSONPatch',
      patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
    }),
    ...(warnings.length > 0 && { warnings }),
  });

  if (pod.metadata?.labels?.[INJECTION_LABEL] === 'disabled')
    return { response: allowed([]), decision: { ...about, outcome: 'declined' } };
  // The image of the proxy runs on Linux only. Admit a pod for Windows nodes unchanged under every policy, since it cannot run elsewhere.
  if (isForWindows(pod)) return { response: allowed([]), decision: { ...about, outcome: 'windows' } };
  const found = choose(pod, options.configsIn(namespace));
  if ('sidecar' in found) {
    const sidecar: Sidecar = { ...found.sidecar, image: found.sidecar.image || options.image };
    if (!hasContainer(pod)) {
      const patch = injectionPatch(pod, sidecar, options.features);
      return {
        response: allowed(patch, clashes(pod, sidecar)),
        decision: { ...about, outcome: 'injected', config: found.name },
      };
    }
    // The server reviews the pod again after another webhook has changed it. Containers that were added meanwhile get the address.
    if (isInjected(pod, sidecar))
      return {
        response: allowed(bootstrapPatch(pod, sidecar.spec)),
        decision: { ...about, outcome: 'already injected', config: found.name },
      };
  }
  const outcome = hasContainer(pod) || 'sidecar' in found ? 'container-name-conflict' : found.reason;
  const problem = 'sidecar' in found || outcome === 'container-name-conflict' ? CONTAINER_CLASH : found.problem;
  const decision: Decision = { ...about, outcome, problem };
  if (options.denyUninjected && outcome !== 'container-name-conflict') {
    const message = `sidecar injection skipped (${outcome}): ${problem}; pods without a sidecar are not admitted (UNINJECTED_POD_POLICY=Deny)`;
    return { response: { uid, allowed: false, status: { code: 403, reason: 'Forbidden', message } }, decision };
  }
  return { response: allowed(skippedPatch(pod, outcome), [`no Kroxylicious sidecar: ${problem}`]), decision };
}

const CONTAINER_CLASH = `a container of the pod is named ${SIDECAR_CONTAINER}; rename it`;

type Found =
  | { readonly name: string; readonly sidecar: Omit<Sidecar, 'image'> & { readonly image: string } }
  | { readonly reason: SkipReason; readonly problem: string };

/** Returns the config that a pod names, or the only one of its namespace. */
function choose(pod: Pod, configs: readonly KroxyliciousSidecarConfig[]): Found {
  const named = pod.metadata?.annotations?.[CONFIG_ANNOTATION];
  const [config, ...others] = configs.filter(({ metadata }) => named === undefined || metadata.name === named);
  if (config === undefined)
    return {
      reason: 'no-KroxyliciousSidecarConfig',
      problem:
        named === undefined
          ? 'the namespace has no KroxyliciousSidecarConfig; create one'
          : `KroxyliciousSidecarConfig "${named}" is not there; create it, or correct the annotation ${CONFIG_ANNOTATION}`,
    };
  if (others.length > 0)
    return {
      reason: 'ambiguous-KroxyliciousSidecarConfig',
      problem: `the namespace has ${configs.length} KroxyliciousSidecarConfigs; name one of them in the annotation ${CONFIG_ANNOTATION}`,
    };
  const { metadata, spec } = config;
  const name = metadata.name ?? '';
  const problems = sidecarProblems(spec);
  const configuration = proxyConfiguration(spec);
  if (problems.length > 0 || configuration === undefined)
    return {
      reason: 'invalid-KroxyliciousSidecarConfig',
      problem: `KroxyliciousSidecarConfig "${name}": ${problems.join('; ')}`,
    };
  return {
    name,
    sidecar: {
      spec,
      configuration: configurationText(configuration),
      generation: metadata.generation ?? 0,
      image: spec.proxyImage ?? '',
    },
  };
}

const OS_LABEL = 'kubernetes.io/os';

/** Returns whether a pod can run on Windows nodes only: by its `os`, its node selector, or its required node affinity. */
function isForWindows({ spec }: Pod): boolean {
  if (spec?.os !== undefined) return spec.os.name === 'windows';
  if (spec?.nodeSelector?.[OS_LABEL] === 'windows') return true;
  // The terms of an affinity are alternatives: the pod may run on Linux unless every one of them excludes it.
  const terms = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  return (
    terms.length > 0 &&
    terms.every(({ matchExpressions = [] }) =>
      matchExpressions.some(
        ({ key, operator, values = [] }) =>
          key === OS_LABEL && operator === 'In' && values.length > 0 && values.every((value) => value === 'windows'),
      ),
    )
  );
}

const containersOf = ({ spec }: Pod) => [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];

function hasContainer(pod: Pod): boolean {
  return containersOf(pod).some(({ name }) => name === SIDECAR_CONTAINER);
}

/** Returns whether the container of that name is an injected sidecar with the configuration that the pod would get now. */
function isInjected(pod: Pod, { configuration, generation, image }: Sidecar): boolean {
  const { annotations } = pod.metadata ?? {};
  const own = containersOf(pod).filter(({ name }) => name === SIDECAR_CONTAINER);
  return (
    annotations?.[PROXY_CONFIG_ANNOTATION] === configuration &&
    annotations[GENERATION_ANNOTATION] === String(generation) &&
    own.every((one) => one.image === image && one.args?.join(' ') === sidecarArguments().join(' ') && !one.command)
  );
}

/** Returns warnings about ports that two containers of the pod would listen on. */
function clashes(pod: Pod, { spec }: Sidecar): string[] {
  const { management, bootstrap, nodes } = sidecarPorts(spec);
  const isOurs = (port: number) =>
    port === management || port === bootstrap || (port >= nodes.first && port <= nodes.last);
  const warnings = (pod.spec?.containers ?? []).flatMap(({ name, ports = [] }) =>
    ports
      .filter(({ containerPort }) => isOurs(containerPort))
      .map(
        ({ containerPort }) =>
          `container ${name}: port ${containerPort} is also one of the Kroxylicious sidecar; change bootstrapPort or managementPort of its config`,
      ),
  );
  if (pod.spec?.hostNetwork === true)
    warnings.push('the pod uses the network of its node: its Kroxylicious sidecar listens on ports of the node');
  return warnings;
}

function podOf(object: unknown): Pod | undefined {
  return isRecord(object) && object['kind'] === 'Pod' ? (object as unknown as Pod) : undefined;
}
