export { runDiscover } from './command/discover.ts';
export { type BackendType, flagHelp } from './command/flags.ts';
export type { DiscoverIo } from './command/io.ts';
export { CREATE_NAMESPACES_RULE, LOCAL_RULES, localNamespaceRules, REMOTE_RULES, runRbac } from './command/rbac.ts';
export {
  createDiscoverer,
  DEFAULT_SETTINGS as DISCOVERER_DEFAULTS,
  type Discoverer,
  type DiscovererOptions,
  type DiscovererSettings,
} from './discoverer.ts';
export { DiscoverErrors } from './errors.ts';
export { connectRemote, KUBECONFIG_KEYS } from './kubernetes/connect.ts';
export { createKubernetesSource } from './kubernetes/source.ts';
export { isMirror, MIRROR_ANNOTATION } from './mirror/metadata.ts';
export type { Problem, ProblemType } from './mirror/problem.ts';
export { backendNameProblem } from './names/backend-name.ts';
export { discoveredName, labelValue } from './names/discovered-name.ts';
export { readCloudCredentials } from './openstack/credentials.ts';
export { createCloudSource } from './openstack/remote-cloud.ts';
export { createSession } from './openstack/session.ts';
export { createMetrics } from './report/metrics.ts';
