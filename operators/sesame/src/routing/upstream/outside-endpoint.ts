// Endpoints outside the cluster that Envoy itself asks, by their address: keys of tokens, and providers of tokens.
import { hexHash } from '../../envoy/index.ts';
import type { Cluster, UpstreamValidation } from '../../model/cluster.ts';
import type { Origin } from '../../model/origin.ts';
import { isDelegated, type Lookup, secretReference } from '../lookup.ts';
import type { RoutingSettings } from '../settings.ts';
import { durationMs, seconds } from '../timeouts.ts';
import { CA_CERT, caSecretProblem, NO_SECRET } from './tls-secret.ts';
import { dnsFamily, upstreamTls } from './upstream.ts';

interface EndpointSpec {
  readonly uri: string;
  readonly validation?: { readonly caSecret: string; readonly subjectName: string } | undefined;
  readonly timeout?: string | undefined;
  readonly dnsLookupFamily?: string | undefined;
}

interface EndpointOptions {
  readonly defaultTimeoutMs?: number;
  /** Envoy sends a secret there: the endpoint must prove its name, by the authorities of Envoy's machine unless others are named. */
  readonly isSecret?: boolean;
}

export interface OutsideEndpoint {
  readonly uri: string;
  readonly cluster: Cluster;
  readonly timeout: string;
}

/** Undefined after `fail` was called, with the end of a reason and a message. */
export function outsideEndpoint(
  spec: EndpointSpec,
  origin: Origin,
  lookup: Lookup,
  settings: RoutingSettings,
  fail: (reason: string, message: string) => undefined,
  { defaultTimeoutMs = 1_000, isSecret = false }: EndpointOptions = {},
): OutsideEndpoint | undefined {
  const { namespace, path: at } = origin;
  let url: URL;
  try {
    url = new URL(spec.uri);
  } catch {
    return /:\d+(\/|$)/.test(spec.uri)
      ? fail('PortInvalid', `${at}.uri: the port of ${JSON.stringify(spec.uri)} is none; use a number from 1 to 65535`)
      : fail(
          'URIInvalid',
          `${at}.uri: ${JSON.stringify(spec.uri)} is no URI; write one such as https://issuer.example.com/keys`,
        );
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return fail(
      'SchemeInvalid',
      `${at}.uri: the scheme of ${JSON.stringify(spec.uri)} is not known; use http or https`,
    );
  const isTls = url.protocol === 'https:';
  if (!isTls && isSecret)
    return fail(
      'SchemeInvalid',
      `${at}.uri: ${JSON.stringify(spec.uri)} is not encrypted, and a secret is sent there; use https`,
    );
  const hostname = url.hostname.replace(/^\[|\]$/g, '');
  let validation: UpstreamValidation | undefined = isSecret
    ? { caName: 'system', ca: 'system', subjectNames: [hostname] }
    : undefined;
  if (spec.validation) {
    if (!isTls)
      return fail(
        'UpstreamValidationInvalid',
        `${at}.validation: there is nothing to verify over http; use https in uri, or remove it`,
      );
    const ref = secretReference(spec.validation.caSecret, namespace);
    if (!isDelegated(lookup, ref, namespace))
      return fail(
        'CACertificateNotDelegated',
        `${at}.validation.caSecret: Secret ${ref.namespace}/${ref.name} is not delegated to the namespace ${namespace}; add a TLSCertificateDelegation there`,
      );
    const secret = lookup.secret(ref.namespace, ref.name);
    const problem = secret ? caSecretProblem(secret) : NO_SECRET;
    if (!secret || problem !== undefined)
      return fail(
        'UpstreamValidationInvalid',
        `${at}.validation.caSecret: Secret ${ref.namespace}/${ref.name} cannot be used: ${problem ?? ''}`,
      );
    validation = {
      caName: `${ref.namespace}/${ref.name}`,
      ca: secret.data[CA_CERT] ?? Buffer.alloc(0),
      subjectNames: [spec.validation.subjectName],
    };
  }
  const timeout = spec.timeout === undefined ? defaultTimeoutMs : durationMs(spec.timeout);
  if (timeout === undefined)
    return fail(
      'TimeoutInvalid',
      `${at}.timeout: ${JSON.stringify(spec.timeout)} is not a duration; write one such as 1s`,
    );
  const family = spec.dnsLookupFamily ? spec.dnsLookupFamily : settings.envoy.cluster.dnsLookupFamily;
  if (!['auto', 'v4', 'v6', 'all'].includes(family))
    return fail(
      'DNSLookupFamilyInvalid',
      `${at}.dnsLookupFamily: ${JSON.stringify(family)} is not known; use auto, all, v4 or v6`,
    );
  const port = url.port === '' ? (isTls ? 443 : 80) : Number(url.port);
  const isStandard = port === (isTls ? 443 : 80);
  // Providers of one address may verify it in different ways.
  const own =
    validation || spec.dnsLookupFamily
      ? `/${hexHash(JSON.stringify([validation?.caName, validation?.subjectNames, family]), 5)}`
      : '';
  const name = `dnsname/${url.protocol.slice(0, -1)}/${hostname}${isStandard ? '' : `/${port}`}${own}`;
  const cluster: Cluster = {
    name,
    statName: undefined,
    service: undefined,
    endpoints: { kind: 'dns', host: hostname, port, family: dnsFamily(family) },
    connectTimeout: '2s',
    balancing: undefined,
    health: undefined,
    circuitBreakers: undefined,
    bufferLimitBytes: undefined,
    protocol: isTls ? 'tls' : '',
    idleTimeout: undefined,
    maxRequestsPerConnection: undefined,
    tls: upstreamTls({ protocol: isTls ? 'tls' : '', validation, sni: hostname }, settings),
    origin,
  };
  return { uri: spec.uri, cluster, timeout: seconds(timeout) };
}
