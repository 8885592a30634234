// The proxy's configuration file as types: the part of its schema that can be written here. Unknown fields are errors to
// the proxy, and absent ones have its defaults.
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
  /** Unique; each must be used. */
  name: string;
  type: string;
  config?: JsonObject;
}

export interface VirtualClusterConfig {
  /** A DNS label, unique without regard to case. */
  name: string;
  targetCluster: TargetClusterConfig;
  gateways: readonly GatewayConfig[];
  /** Absent: the default filters. */
  filters?: readonly string[];
  logNetwork?: boolean;
  logFrames?: boolean;
}

export interface TargetClusterConfig {
  bootstrapServers: string;
  bootstrapServerSelection?: { strategy: 'round-robin' | 'random' };
  tls?: TlsConfig;
}

/** Exactly one of the two ways to tell nodes apart; the second needs TLS. */
export interface GatewayConfig {
  name: string;
  portIdentifiesNode?: PortIdentifiesNode;
  sniHostIdentifiesNode?: SniHostIdentifiesNode;
  tls?: TlsConfig;
}

export interface PortIdentifiesNode {
  /** host:port */
  bootstrapAddress: string;
  /** The bootstrap host by default; without port. */
  advertisedBrokerAddressPattern?: string;
  /** The port after the bootstrap port by default. */
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
/** Shared by everything that is distinguished by TLS host name. */
export const SNI_PORT = 9291;
/** Ports that identify nodes are given out from here on. */
export const FIRST_NODE_PORT = 9292;
export const LAST_PORT = 65_535;
