export { type Attributes, attributesOf, isPath, type ResourceAttributes } from './auth/attributes.ts';
export { ANONYMOUS, type Authenticator, type Credentials, type StaticToken } from './auth/authenticate.ts';
export type { Impersonated } from './auth/impersonation.ts';
export { missingRules, type PolicyRule, ruleAllows } from './auth/policy-rule.ts';
export { serviceAccountUser } from './auth/rbac.ts';
export { type BuiltinTypes, loadBuiltins } from './builtin/builtin.ts';
export { SERVICE_RANGE } from './builtin/service-addresses.ts';
export { writeKubeconfig } from './cluster/kubeconfig.ts';
export {
  type Cluster,
  type ClusterOptions,
  DEFAULT_CLUSTER,
  DEFAULT_PORT,
  type LogicalCluster,
  startCluster,
} from './cluster/start-cluster.ts';
export { ADMIN, type Admission, type AdmissionRequest, type RequestContext, type UserInfo } from './core.ts';
export { type FieldError, type Status, type StatusCause, type StatusDetails, StatusError } from './errors.ts';
export { type HttpServer, type HttpServerOptions, startHttpServer } from './http/http-server.ts';
export { encodeObject } from './protobuf/encode.ts';
export type { LogOptions, ReadLogs } from './rest/pod-subresources.ts';
export { type ApiServer, type ApiServerOptions, createApiServer, type TransportOptions } from './server.ts';
export { type SqliteStorageOptions, sqliteStorage } from './storage-sqlite/sqlite-storage.ts';
export { type Change, memoryStorage, type Storage, type StoredState } from './store/storage.ts';
export type {
  CommandStreams,
  ExecOptions,
  OpenPort,
  PodPlace,
  PodStreams,
  RunCommand,
  TerminalSize,
} from './streams/pod-streams.ts';
