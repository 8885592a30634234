export * from './back-off.ts';
export { type RequestObservation } from './caller.ts';
export * from './client.ts';
export {
  type Connection,
  type ConnectOptions,
  connect,
  connectKubeconfig,
  loadKubeconfig,
} from './config/connect.ts';
export { createEdge, type Edge, type Program, type RunProgram } from './config/edge.ts';
export * from './config/kubeconfig.ts';
export { type ClientOptions, createClient } from './create-client.ts';
export { type DiscoveredKind, type Discovery, discover, servedAmong } from './discovery.ts';
export { failureOf } from './failure.ts';
export * from './http/credentials.ts';
export { createHttpTransport, type HttpTransportOptions } from './http/http-transport.ts';
export { isRepeatable, type RetryOptions } from './retry.ts';
export { errorOfResponse, errorOfWatchEvent, isStatus } from './status.ts';
export * from './transport.ts';
