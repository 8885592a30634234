// The types of the proxy's configuration file, for the part of its schema that the operator writes. The proxy refuses unknown fields and
// fills in defaults for absent ones.
import type { JsonObject } from '@capstan/kube';
import type { ClientAuthentication, StoreType } from '../kinds/index.ts';

export interface ProxyConfiguration {
  management?: ManagementConfig;
  filterDefinitions?: readonly FilterDefinition[];
  defaultFilters?: readonly string[];
  virtualClusters: readonly VirtualClusterConfig[];
  micrometer?: readonly { type: string; config?: JsonObject }[];
  useIoUring?: boolean;
  network?: { management?: NettySettings; proxy?: NettySettings };
}

export interface ManagementConfig {
  /** 0.0.0.0 by default. */
  bindAddress?: string;
  /** 9190 by default. */
  port?: number;
  endpoints?: { prometheus?: Record<string, never> };
}

export interface NettySettings {
  workerThreadCount?: number;
  shutdownQuietPeriod?: string;
  shutdownTimeout?: string;
  authenticatedIdleTimeout?: string;
  unauthenticatedIdleTimeout?: string;
}

export interface FilterDefinition {
  /** Unique. The proxy refuses a definition that no cluster uses. */
  name: string;
  type: string;
  config?: JsonObject;
}

export interface VirtualClusterConfig {
  /** A DNS label, unique without regard to case. */
  name: string;
  targetCluster: TargetClusterConfig;
  gateways: readonly GatewayConfig[];
  /** The default filters apply if this is absent. */
  filters?: readonly string[];
  logNetwork?: boolean;
  logFrames?: boolean;
}

export interface TargetClusterConfig {
  bootstrapServers: string;
  bootstrapServerSelection?: { strategy: 'round-robin' | 'random' };
  tls?: TlsConfig;
}

/** A gateway sets exactly one of the two ways to identify nodes. The second one needs TLS. */
export interface GatewayConfig {
  name: string;
  portIdentifiesNode?: PortIdentifiesNode;
  sniHostIdentifiesNode?: SniHostIdentifiesNode;
  tls?: TlsConfig;
}

export interface PortIdentifiesNode {
  /** host:port */
  bootstrapAddress: string;
  /** A host without port. Default: the bootstrap host. */
  advertisedBrokerAddressPattern?: string;
  /** Default: the port after the bootstrap port. */
  nodeStartPort?: number;
  nodeIdRanges?: readonly { name: string; start: number; end: number }[];
}

export interface SniHostIdentifiesNode {
  bootstrapAddress: string;
  advertisedBrokerAddressPattern: string;
}

export interface TlsConfig {
  key?: { privateKeyFile: string; certificateFile: string };
  trust?: { storeFile: string; storeType?: StoreType; trustOptions?: { clientAuth: ClientAuthentication } };
  cipherSuites?: AllowedDenied;
  protocols?: AllowedDenied;
}

export interface AllowedDenied {
  allowed?: readonly string[];
  denied?: readonly string[];
}

export const MANAGEMENT_PORT = 9190;
/** The port that all gateways share that identify nodes by TLS host name. */
export const SNI_PORT = 9291;
/** The first port for gateways that identify nodes by port. */
export const FIRST_NODE_PORT = 9292;
export const LAST_PORT = 65_535;
