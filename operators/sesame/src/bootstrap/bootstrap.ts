// Envoy's bootstrap: where it gets its listeners and clusters from, and how it trusts that server. Pure; names are those of Envoy's
// proto in JSON.
import { isIP } from 'node:net';
import { dirname } from 'node:path';
import { placeMetadata } from '../xds/listener-place.ts';
import { BootstrapErrors } from './errors.ts';

/** The name of the xDS cluster, and the name that the server's certificate must have. */
export const XDS_CLUSTER = 'sesame';

export interface BootstrapOptions {
  /** Path of the unix socket of the admin interface. */
  readonly adminAddress: string;
  /** Names a statistic only. */
  readonly adminPort: number;
  readonly dnsLookupFamily: 'auto' | 'v4' | 'v6' | 'all';
  /** All three or none. */
  readonly caFile?: string | undefined;
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
  readonly namespace: string;
  /** Bytes; 0 for no limit. */
  readonly overloadMaxHeap: number;
  /** Connections; 0 for no limit. */
  readonly overloadMaxDownstreamConnections: number;
  /** Where files for the rotation of certificates go; without it they are read once. */
  readonly resourcesDir?: string | undefined;
  readonly xdsAddress: string;
  readonly xdsPort: number;
  /** The address that Envoy's listeners bind where pods share one network; default: as configured. */
  readonly bindAddress?: string | undefined;
  /** The ports that Envoy keeps, also when they are changed in the configuration; default: as configured. */
  readonly ports?: DeclaredPorts | undefined;
  /** One stream for each type with whole states, or one aggregated stream with differences. */
  readonly xdsMode: 'sotw' | 'delta-ads';
}

/** Ports that the pod of an Envoy declares. */
export interface DeclaredPorts {
  readonly http?: number | undefined;
  readonly https?: number | undefined;
  readonly metrics?: number | undefined;
  readonly health?: number | undefined;
}

export const BOOTSTRAP_DEFAULTS: BootstrapOptions = {
  adminAddress: '/admin/admin.sock',
  adminPort: 9001,
  dnsLookupFamily: 'auto',
  namespace: 'projectsesame',
  overloadMaxHeap: 0,
  overloadMaxDownstreamConnections: 0,
  xdsAddress: '127.0.0.1',
  xdsPort: 8001,
  xdsMode: 'delta-ads',
};

export interface Bootstrap {
  readonly config: object;
  /** Further files by their path: certificates as file-based SDS. */
  readonly files: ReadonlyMap<string, object>;
}

/** The bootstrap for the options; throws when they contradict each other. */
export function bootstrapOf(given: Partial<BootstrapOptions> = {}): Bootstrap {
  const options = { ...BOOTSTRAP_DEFAULTS, ...given };
  check(options);
  const source = xdsSource(options);
  const { overloadMaxHeap, overloadMaxDownstreamConnections } = options;
  const hasOverload = overloadMaxHeap > 0 || overloadMaxDownstreamConnections > 0;
  const metadata = placeMetadata({ address: options.bindAddress, ports: listenerPorts(options.ports ?? {}) });
  const config = {
    ...(metadata && { node: { metadata } }),
    dynamic_resources: {
      ...(options.xdsMode === 'delta-ads' && { ads_config: apiSource('DELTA_GRPC') }),
      lds_config: source,
      cds_config: source,
    },
    layered_runtime: {
      layers: [
        { name: 'dynamic', rtds_layer: { name: 'dynamic', rtds_config: source } },
        { name: 'admin', admin_layer: {} },
      ],
    },
    static_resources: { clusters: [xdsCluster(options), adminCluster(options)] },
    default_regex_engine: {
      name: 'envoy.regex_engines.google_re2',
      typed_config: { '@type': `${TYPE}.regex_engines.v3.GoogleRE2` },
    },
    ...(hasOverload && { overload_manager: overloadManager(overloadMaxHeap, overloadMaxDownstreamConnections) }),
    admin: {
      access_log: [
        {
          name: 'envoy.access_loggers.file',
          typed_config: { '@type': `${TYPE}.access_loggers.file.v3.FileAccessLog`, path: '/dev/null' },
        },
      ],
      address: pipe(options.adminAddress),
    },
  };
  return { config, files: sdsFiles(options) };
}

/**
 * The ports by the names of listeners. Statistics and readiness are one listener where their ports are equal. If they are separated later,
 * readiness keeps the port, which the probe of the pod names, and statistics move.
 */
function listenerPorts({ http, https, metrics, health }: DeclaredPorts): Record<string, number> {
  const ports = {
    ingress_http: http,
    ingress_https: https,
    ingress_http3: https,
    health,
    'stats-health': health ?? metrics,
    stats: metrics === health ? undefined : metrics,
  };
  return Object.fromEntries(Object.entries(ports).filter((entry): entry is [string, number] => entry[1] !== undefined));
}

const TYPE = 'type.googleapis.com/envoy.extensions';

function check({
  adminAddress,
  caFile,
  certFile,
  keyFile,
  overloadMaxHeap,
  overloadMaxDownstreamConnections,
}: BootstrapOptions): void {
  if (isIP(adminAddress) !== 0 || adminAddress === 'localhost') throw BootstrapErrors.AdminAddress(adminAddress);
  const files = { caFile, certFile, keyFile };
  const missing = Object.entries(files).flatMap(([name, file]) => (file === undefined || file === '' ? [name] : []));
  if (missing.length > 0 && missing.length < 3) throw BootstrapErrors.IncompleteTls(missing);
  if (overloadMaxHeap < 0) throw BootstrapErrors.Negative('--overload-max-heap', overloadMaxHeap);
  if (overloadMaxDownstreamConnections < 0)
    throw BootstrapErrors.Negative('--overload-downstream-max-conn', overloadMaxDownstreamConnections);
}

function apiSource(type: 'GRPC' | 'DELTA_GRPC') {
  const service = { envoy_grpc: { cluster_name: XDS_CLUSTER, authority: XDS_CLUSTER } };
  return { api_type: type, transport_api_version: 'V3', grpc_services: [service] };
}

function xdsSource({ xdsMode }: BootstrapOptions): object {
  return xdsMode === 'delta-ads'
    ? { ads: {}, resource_api_version: 'V3' }
    : { api_config_source: apiSource('GRPC'), resource_api_version: 'V3' };
}

const LIMITS = {
  max_connections: 100_000,
  max_pending_requests: 100_000,
  max_requests: 60_000_000,
  max_retries: 50,
  track_remaining: true,
};

const LOOKUP_FAMILY = { auto: 'AUTO', v4: 'V4_ONLY', v6: 'V6_ONLY', all: 'ALL' } as const;

function xdsCluster(options: BootstrapOptions): object {
  const { namespace, xdsAddress, xdsPort, dnsLookupFamily } = options;
  const isAddress = isIP(xdsAddress) !== 0;
  const transport = transportSocket(options);
  return {
    name: XDS_CLUSTER,
    alt_stat_name: [namespace, XDS_CLUSTER, xdsPort].join('_'),
    type: isAddress ? 'STATIC' : 'STRICT_DNS',
    ...(!isAddress && { dns_lookup_family: LOOKUP_FAMILY[dnsLookupFamily] }),
    connect_timeout: '5s',
    load_assignment: assignment(XDS_CLUSTER, {
      socket_address: { address: xdsAddress, port_value: xdsPort, protocol: 'TCP' },
    }),
    typed_extension_protocol_options: {
      'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': {
        '@type': `${TYPE}.upstreams.http.v3.HttpProtocolOptions`,
        explicit_http_config: { http2_protocol_options: {} },
      },
    },
    circuit_breakers: {
      thresholds: [
        { priority: 'HIGH', ...LIMITS },
        { priority: 'DEFAULT', ...LIMITS },
      ],
    },
    upstream_connection_options: {
      tcp_keepalive: { keepalive_probes: 3, keepalive_time: 30, keepalive_interval: 5 },
    },
    ...(transport !== undefined && { transport_socket: transport }),
  };
}

function adminCluster({ namespace, adminAddress, adminPort }: BootstrapOptions): object {
  return {
    name: 'envoy-admin',
    alt_stat_name: [namespace, 'envoy-admin', adminPort].join('_'),
    type: 'STATIC',
    connect_timeout: '0.250s',
    load_assignment: assignment('envoy-admin', pipe(adminAddress)),
  };
}

function assignment(name: string, address: object): object {
  return { cluster_name: name, endpoints: [{ lb_endpoints: [{ endpoint: { address } }] }] };
}

function pipe(path: string) {
  return { pipe: { path, mode: 0o644 } };
}

/** Envoy's own list, and P-521 besides. */
const SIGNATURE_ALGORITHMS = [
  'ecdsa_secp256r1_sha256',
  'rsa_pss_rsae_sha256',
  'rsa_pkcs1_sha256',
  'ecdsa_secp384r1_sha384',
  'rsa_pss_rsae_sha384',
  'rsa_pkcs1_sha384',
  'rsa_pss_rsae_sha512',
  'rsa_pkcs1_sha512',
  'rsa_pkcs1_sha1',
  'ecdsa_secp521r1_sha512',
];

const CERTIFICATE_SECRET = 'sesame_xds_tls_certificate';
const VALIDATION_SECRET = 'sesame_xds_tls_validation_context';

function transportSocket(options: BootstrapOptions): object | undefined {
  const tls = tlsFiles(options);
  if (tls === undefined) return undefined;
  const { resourcesDir } = options;
  const secret = (name: string, path: string) => ({
    name,
    sds_config: { path_config_source: { path }, resource_api_version: 'V3' },
  });
  const trust =
    resourcesDir === undefined
      ? { tls_certificates: [tls.certificate], validation_context: tls.validation }
      : {
          tls_certificate_sds_secret_configs: [secret(CERTIFICATE_SECRET, certificatePath(resourcesDir))],
          validation_context_sds_secret_config: secret(VALIDATION_SECRET, validationPath(resourcesDir)),
        };
  return {
    name: 'envoy.transport_sockets.tls',
    typed_config: {
      '@type': `${TYPE}.transport_sockets.tls.v3.UpstreamTlsContext`,
      common_tls_context: {
        tls_params: { tls_maximum_protocol_version: 'TLSv1_3', signature_algorithms: SIGNATURE_ALGORITHMS },
        ...trust,
      },
    },
  };
}

function tlsFiles({ caFile, certFile, keyFile, resourcesDir }: BootstrapOptions) {
  if (!caFile || !certFile || !keyFile) return undefined;
  // Kubernetes replaces a link beside the files: only a watch of the folder sees it.
  const watched = (file: string) => resourcesDir !== undefined && { watched_directory: { path: dirname(file) } };
  return {
    certificate: {
      certificate_chain: { filename: certFile },
      private_key: { filename: keyFile },
      ...watched(certFile),
    },
    validation: {
      trusted_ca: { filename: caFile },
      match_typed_subject_alt_names: [{ san_type: 'DNS', matcher: { exact: XDS_CLUSTER } }],
      ...watched(caFile),
    },
  };
}

const certificatePath = (dir: string) => `${dir}/sds/xds-tls-certificate.json`;
const validationPath = (dir: string) => `${dir}/sds/xds-validation-context.json`;

function sdsFiles(options: BootstrapOptions): Map<string, object> {
  const tls = tlsFiles(options);
  const { resourcesDir } = options;
  if (tls === undefined || resourcesDir === undefined) return new Map();
  const response = (secret: object) => ({
    resources: [{ '@type': `${TYPE}.transport_sockets.tls.v3.Secret`, ...secret }],
  });
  return new Map([
    [certificatePath(resourcesDir), response({ name: CERTIFICATE_SECRET, tls_certificate: tls.certificate })],
    [validationPath(resourcesDir), response({ name: VALIDATION_SECRET, validation_context: tls.validation })],
  ]);
}

function overloadManager(maxHeap: number, maxConnections: number): object {
  const HEAP = 'envoy.resource_monitors.fixed_heap';
  const CONNECTIONS = 'envoy.resource_monitors.global_downstream_max_connections';
  const action = (name: string, value: number) => ({ name, triggers: [{ name: HEAP, threshold: { value } }] });
  return {
    refresh_interval: '0.250s',
    resource_monitors: [
      ...(maxHeap > 0
        ? [
            {
              name: HEAP,
              typed_config: {
                '@type': `${TYPE}.resource_monitors.fixed_heap.v3.FixedHeapConfig`,
                max_heap_size_bytes: String(maxHeap),
              },
            },
          ]
        : []),
      ...(maxConnections > 0
        ? [
            {
              name: CONNECTIONS,
              typed_config: {
                '@type': `${TYPE}.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig`,
                max_active_downstream_connections: String(maxConnections),
              },
            },
          ]
        : []),
    ],
    ...(maxHeap > 0 && {
      actions: [
        action('envoy.overload_actions.shrink_heap', 0.95),
        action('envoy.overload_actions.stop_accepting_requests', 0.98),
      ],
    }),
  };
}
