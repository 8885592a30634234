import {
  type Container,
  type ContainerPort,
  canonicalQuantity,
  type EnvVar,
  type PodSpec,
  parseQuantity,
  type TopologySpreadConstraint,
  validateDns1123Label,
} from '@capstan/kube';

/** Returns warnings about allowed values of a pod that are probably mistakes; `path` is the place of its spec. */
export function podWarnings(path: string, spec: PodSpec | undefined): string[] {
  const warnings: string[] = spec ? [...placementWarnings(path, spec), ...repetitions(path, spec)] : [];
  const byPort = new Map<string, { at: string; port: ContainerPort }[]>();
  const byName = new Map<string, string>();
  const lists: [string, readonly Container[] | null | undefined][] = [
    ['initContainers', spec?.initContainers],
    ['containers', spec?.containers],
  ];
  for (const [field, list] of lists) {
    for (const [index, container] of (list ?? []).entries()) {
      warnings.push(...containerWarnings(`${path}.${field}[${index}]`, container));
    }
  }
  const ports = lists.flatMap(([field, list]) =>
    (list ?? []).flatMap((container, index) =>
      (container.ports ?? []).map((port, place) => ({ at: `${path}.${field}[${index}].ports[${place}]`, port })),
    ),
  );
  for (const { at, port } of ports) {
    const id = `${port.containerPort}/${port.protocol ?? ''}`;
    const others = byPort.get(id) ?? [];
    for (const other of others) {
      const isSame = port.hostIP === other.port.hostIP && (port.hostPort ?? 0) === (other.port.hostPort ?? 0);
      if (isSame) warnings.push(`${at}: duplicate port definition with ${other.at}`);
      else if (!port.hostPort || !other.port.hostPort) {
        warnings.push(`${at}: overlapping port definition with ${other.at}`);
      }
    }
    byPort.set(id, [...others, { at, port }]);
  }
  for (const { at, port } of ports) {
    if (!port.name) continue;
    const other = byName.get(port.name);
    if (other === undefined) byName.set(port.name, at);
    else {
      const name = JSON.stringify(port.name);
      warnings.push(
        `${at}: duplicate port name ${name} with ${other}, services and probes that select ports by name will use ${other}`,
      );
    }
  }
  if ((spec?.terminationGracePeriodSeconds ?? 0) < 0) {
    const detail = 'must be >= 0; negative values are invalid and will be treated as 1';
    warnings.push(`${path}.terminationGracePeriodSeconds: ${detail}`);
  }
  return warnings;
}

/** A name that becomes part of hostnames, and cannot be one label of them. */
export function nameWarnings(name: string, use: string): string[] {
  const problems = validateDns1123Label(name);
  if (problems.length === 0) return [];
  const what = `this is used in ${use}, which can result in surprising behavior; a DNS label is recommended`;
  return [`metadata.name: ${what}: [${problems.join(' ')}]`];
}

const DEPRECATED_LABELS: Readonly<Record<string, string>> = {
  'beta.kubernetes.io/arch': 'deprecated since v1.14; use "kubernetes.io/arch" instead',
  'beta.kubernetes.io/os': 'deprecated since v1.14; use "kubernetes.io/os" instead',
  'failure-domain.beta.kubernetes.io/region': 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
  'failure-domain.beta.kubernetes.io/zone': 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  'beta.kubernetes.io/instance-type': 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
  'app.kubernetes.io/created-by': 'deprecated since v1.9',
  'scheduler.alpha.kubernetes.io/preferAvoidPods': 'deprecated since v1.22; use Taints and Tolerations instead',
  'node-role.kubernetes.io/master': 'use "node-role.kubernetes.io/control-plane" instead',
};

const NO_PODS = 'a null labelSelector results in matching no pod';

/** Nodes that are chosen by old labels, and pods that are compared with none. */
function placementWarnings(path: string, spec: PodSpec): string[] {
  const warnings: string[] = [];
  const old = (at: string, key: string) => {
    const problem = DEPRECATED_LABELS[key];
    if (problem !== undefined) warnings.push(`${at}: ${key} is ${problem}`);
  };
  for (const key of Object.keys(spec.nodeSelector ?? {})) {
    const problem = DEPRECATED_LABELS[key];
    if (problem !== undefined) warnings.push(`${path}.nodeSelector[${key}]: ${problem}`);
  }
  const { nodeAffinity, podAffinity, podAntiAffinity } = spec.affinity ?? {};
  const required = nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const preferred = nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  const at = `${path}.affinity.nodeAffinity`;
  const terms = [
    ...required.map((term, index) => ({
      term,
      place: `${at}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[${index}]`,
    })),
    ...preferred.map(({ preference: term }, index) => ({
      term,
      place: `${at}.preferredDuringSchedulingIgnoredDuringExecution[${index}].preference`,
    })),
  ];
  for (const { term, place } of terms) {
    for (const [index, { key }] of (term?.matchExpressions ?? []).entries()) {
      old(`${place}.matchExpressions[${index}].key`, key);
    }
  }
  for (const [index, constraint] of (spec.topologySpreadConstraints ?? []).entries()) {
    const place = `${path}.topologySpreadConstraints[${index}]`;
    const { topologyKey, labelSelector }: TopologySpreadConstraint = constraint;
    old(`${place}.topologyKey`, topologyKey);
    if (!labelSelector) warnings.push(`${place}.labelSelector: ${NO_PODS}`);
  }
  for (const [field, pods] of Object.entries({ podAffinity, podAntiAffinity })) {
    const place = `${path}.affinity.${field}`;
    for (const [index, term] of (pods?.requiredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
      if (term.labelSelector) continue;
      warnings.push(`${place}.requiredDuringSchedulingIgnoredDuringExecution[${index}].labelSelector: ${NO_PODS}`);
    }
    for (const [index, one] of (pods?.preferredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
      if (one.podAffinityTerm?.labelSelector) continue;
      const term = `${place}.preferredDuringSchedulingIgnoredDuringExecution[${index}].podAffinityTerm`;
      warnings.push(`${term}.labelSelector: ${NO_PODS}`);
    }
  }
  return warnings;
}

/** Reports entries that are listed twice, or have no name. */
function repetitions(path: string, { hostAliases, imagePullSecrets }: PodSpec): string[] {
  const warnings: string[] = [];
  const addresses = new Set<string>();
  for (const [index, { ip }] of (hostAliases ?? []).entries()) {
    if (addresses.has(ip)) warnings.push(`${path}.hostAliases[${index}].ip: duplicate ip ${JSON.stringify(ip)}`);
    addresses.add(ip);
  }
  const names = new Set<string>();
  for (const [index, { name = '' }] of (imagePullSecrets ?? []).entries()) {
    const at = `${path}.imagePullSecrets[${index}].name`;
    if (names.has(name)) warnings.push(`${at}: duplicate name ${JSON.stringify(name)}`);
    names.add(name);
    if (name === '') warnings.push(`${at}: invalid empty name ""`);
  }
  return warnings;
}

const BYTES = ['memory', 'ephemeral-storage'];
const NANOS_OF_A_THOUSANDTH = 1_000_000n;

function containerWarnings(at: string, { resources, env }: Container): string[] {
  const warnings: string[] = [];
  for (const name of BYTES) {
    for (const part of ['limits', 'requests'] as const) {
      const quantity = resources?.[part]?.[name];
      // Kubernetes counts in thousandths, rounded up.
      if (quantity === undefined || (parseQuantity(quantity).nanos / NANOS_OF_A_THOUSANDTH) % 1000n === 0n) continue;
      const text = JSON.stringify(canonicalQuantity(quantity));
      warnings.push(`${at}.resources.${part}[${name}]: fractional byte value ${text} is invalid, must be an integer`);
    }
  }
  const seen = new Set<string>();
  for (const [index, variable] of (env ?? []).entries()) {
    if (seen.has(variable.name) && hides(variable)) {
      const name = JSON.stringify(variable.name);
      warnings.push(`${at}.env[${index}]: hides previous definition of ${name}, which may be dropped when using apply`);
    }
    seen.add(variable.name);
  }
  return warnings;
}

/** A second definition may add to the first: `PATH=$(PATH):/more`. */
function hides({ name, value = '', valueFrom }: EnvVar): boolean {
  const reference = `$(${name})`;
  return valueFrom !== undefined || value === reference || !value.includes(reference);
}
