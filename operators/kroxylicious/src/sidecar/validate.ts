// Validates a KroxyliciousSidecarConfig beyond its schema. No pod gets a config that the proxy would refuse: the container would fail again
// and again, and the pod with it.
import { compareQuantities, isRecord, parseQuantity, validateDns1123Subdomain } from '@capstan/kube';
import { LAST_PORT } from '../configuration/schema.ts';
import { validateConfiguration } from '../configuration/validate.ts';
import type { SidecarSpec } from '../kinds/index.ts';
import { configurationText, proxyConfiguration, sidecarPorts } from './proxy-configuration.ts';

/** All annotations of an object may have 256 KiB together, and other programs add some. */
const LONGEST_CONFIGURATION = 192 * 1024;

/** Returns one sentence for each faulty field. The list is empty if the proxy would start. */
export function sidecarProblems(spec: SidecarSpec): readonly string[] {
  const [cluster] = spec.virtualClusters;
  const configuration = proxyConfiguration(spec);
  if (cluster === undefined || configuration === undefined) return ['spec.virtualClusters must have one entry'];
  const problems = [...portProblems(spec), ...nameProblems(spec), ...podProblems(spec), ...resourceProblems(spec)];
  if (problems.length > 0) return problems;
  // Report all other problems that the proxy would find, with fields of the spec.
  const faults = validateConfiguration(configuration).map(({ path, problem }) => `${fieldOf(path)} ${problem}`);
  if (faults.length > 0) return faults;
  const size = Buffer.byteLength(configurationText(configuration));
  if (size > LONGEST_CONFIGURATION)
    return [
      `spec.filterDefinitions give a configuration of ${size} bytes, and pods can carry ${LONGEST_CONFIGURATION}; move long values into a Secret of spec.secretMounts`,
    ];
  return [];
}

function portProblems(spec: SidecarSpec): string[] {
  const { management, bootstrap, nodes } = sidecarPorts(spec);
  const problems: string[] = [];
  const path = 'spec.virtualClusters[0]';
  if (nodes.firstId > nodes.lastId)
    return [
      `${path}.nodeIdRange.startInclusive (${nodes.firstId}) must not exceed endInclusive (${nodes.lastId}); swap them`,
    ];
  if (nodes.last > LAST_PORT)
    problems.push(
      `${path}: the ports of brokers, ${nodes.first} to ${nodes.last}, end after ${LAST_PORT}; lower bootstrapPort or narrow nodeIdRange`,
    );
  if (bootstrap === management)
    problems.push(`${path}.bootstrapPort (${bootstrap}) must not equal spec.managementPort; change one of them`);
  else if (management >= nodes.first && management <= nodes.last)
    problems.push(
      `spec.managementPort (${management}) is one of the ports of brokers, ${nodes.first} to ${nodes.last}; choose one outside`,
    );
  return problems;
}

/** Checks that names of volumes, folders or definitions are unique. */
function nameProblems({ filterDefinitions = [], secretMounts = [], plugins = [] }: SidecarSpec): string[] {
  const lists = { filterDefinitions, secretMounts, plugins };
  return Object.entries(lists).flatMap(([field, items]) => {
    const names = items.map(({ name }) => name);
    const twice = names.find((name, i) => names.indexOf(name) !== i);
    return twice === undefined ? [] : [`spec.${field} has two entries of the name "${twice}"; rename one of them`];
  });
}

/** Returns problems for which the server would refuse the pod, so that no pod of the namespace could be created. */
function podProblems({
  virtualClusters: [cluster],
  proxyImage,
  secretMounts = [],
  plugins = [],
}: SidecarSpec): string[] {
  const problems: string[] = [];
  const trusted = cluster?.targetClusterTls?.trustAnchorSecretRef;
  const path = 'spec.virtualClusters[0].targetClusterTls.trustAnchorSecretRef';
  if (trusted !== undefined && !/^[-._a-zA-Z0-9]+$/.test(trusted.key))
    problems.push(
      `${path}.key (${JSON.stringify(trusted.key)}) is no key of a Secret; use letters, digits, -, _ and .`,
    );
  const secrets: [string, string][] = secretMounts.map(({ secretName }, i) => [
    `spec.secretMounts[${i}].secretName`,
    secretName,
  ]);
  if (trusted !== undefined) secrets.push([`${path}.name`, trusted.name]);
  for (const [field, name] of secrets)
    if (validateDns1123Subdomain(name).length > 0)
      problems.push(`${field} (${JSON.stringify(name)}) is no name of a Secret; correct it`);
  const images: [string, string | undefined][] = [
    ['spec.proxyImage', proxyImage],
    ...plugins.map(({ image }, i): [string, string] => [`spec.plugins[${i}].image.reference`, image.reference]),
  ];
  for (const [field, image] of images)
    if (image !== undefined && !/^\S+$/.test(image))
      problems.push(`${field} (${JSON.stringify(image)}) is no reference of an image; correct it`);
  return problems;
}

function resourceProblems({ resources = {} }: SidecarSpec): string[] {
  const problems: string[] = [];
  const known: Record<string, Readonly<Record<string, string | number>>> = {};
  for (const part of ['requests', 'limits']) {
    const list = resources[part];
    if (list === undefined) continue;
    if (!isRecord(list)) {
      problems.push(`spec.resources.${part} must be an object`);
      continue;
    }
    const wrong = Object.entries(list).filter(([, amount]) => !isQuantity(amount));
    for (const [name, amount] of wrong)
      problems.push(`spec.resources.${part}.${name} (${JSON.stringify(amount)}) is no quantity; write 100m or 256Mi`);
    if (wrong.length === 0) known[part] = list as Record<string, string | number>;
  }
  for (const [name, request] of Object.entries(known['requests'] ?? {})) {
    const limit = known['limits']?.[name];
    if (limit !== undefined && compareQuantities(request, limit) > 0)
      problems.push(`spec.resources.requests.${name} (${request}) exceeds its limit (${limit}); raise the limit`);
  }
  return problems;
}

function isQuantity(amount: unknown): boolean {
  if (typeof amount !== 'string' && typeof amount !== 'number') return false;
  try {
    return parseQuantity(amount).nanos >= 0n;
  } catch {
    return false;
  }
}

/** Converts a path of the configuration to a path of the spec. */
function fieldOf(path: string): string {
  return `spec.${path}`
    .replace(/\.virtualClusters\[0\]\.targetCluster\.bootstrapServers/, '.virtualClusters[0].targetBootstrapServers')
    .replace(/\.virtualClusters\[0\]\.targetCluster\.tls\.trust\.storeFile/, '.virtualClusters[0].targetClusterTls');
}
