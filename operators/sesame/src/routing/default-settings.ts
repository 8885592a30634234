import type { RoutingSettings } from './settings.ts';

/** The defaults, without TLS to Envoy. */
export function testSettings(change: (settings: Mutable<RoutingSettings>) => void = () => undefined): RoutingSettings {
  const settings: Mutable<RoutingSettings> = {
    xdsServer: { address: '127.0.0.1', port: 0, insecure: true, tls: { caFile: '', certFile: '', keyFile: '' } },
    ingress: {},
    envoy: {
      listener: {
        useProxyProtocol: false,
        disableAllowChunkedLength: false,
        disableMergeSlashes: false,
        serverHeaderTransformation: 'overwrite',
        connectionBalancer: '',
        compression: { algorithm: 'gzip' },
        tls: {
          minimumProtocolVersion: '1.2',
          maximumProtocolVersion: '1.3',
          cipherSuites: ['ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-RSA-AES256-GCM-SHA384'],
        },
      },
      http: { address: '127.0.0.1', port: 8080, accessLog: '/dev/null' },
      https: { address: '127.0.0.1', port: 8443, accessLog: '/dev/null' },
      network: { numTrustedHops: 0, adminPort: 0, stripTrailingHostDot: false },
      logging: { accessLogFormat: 'envoy', accessLogFormatString: '', jsonFields: [], accessLogLevel: 'info' },
      defaultHTTPVersions: ['HTTP/1.1', 'HTTP/2'],
      timeouts: { connectTimeout: '2s' },
      cluster: {
        dnsLookupFamily: 'auto',
        upstreamTLS: { minimumProtocolVersion: '1.2', maximumProtocolVersion: '1.3' },
      },
      metrics: { address: '127.0.0.1', port: 8002 },
      health: { address: '127.0.0.1', port: 8002 },
    },
    httpproxy: { disablePermitInsecure: false },
    enableExternalNameService: false,
    policy: { applyToIngress: false },
  };
  change(settings);
  return settings;
}

export type Mutable<T> = T extends readonly (infer Item)[]
  ? Mutable<Item>[]
  : T extends object
    ? { -readonly [Key in keyof T]: Mutable<T[Key]> }
    : T;
