// TLS of a root: its certificate, and how clients are verified.
import type { HTTPProxy, ProxyVirtualHost } from '../../kinds/http-proxy.ts';
import type { Certificate } from '../../model/certificate.ts';
import type { ClientValidation, DownstreamTls, ForwardedCertificate } from '../../model/listener.ts';
import { namesOf, type Reporter } from '../../result.ts';
import { isDelegated, type Lookup, secretReference } from '../lookup.ts';
import type { RoutingSettings } from '../settings.ts';
import {
  CA_CERT,
  CRL,
  caSecretProblem,
  certificateOf,
  crlSecretProblem,
  NO_SECRET,
  tlsSecretProblem,
} from '../upstream/tls-secret.ts';

type TlsSpec = NonNullable<ProxyVirtualHost['tls']>;

export interface TlsTermination extends Omit<DownstreamTls, 'certificates' | 'maximumVersion'> {
  readonly secret: Certificate;
  readonly maximumVersion: string;
  readonly forwardedCertificate: ForwardedCertificate | undefined;
  readonly fallback: Certificate | undefined;
}

/** Undefined after an error was reported. */
export function tlsTermination(
  root: HTTPProxy,
  tls: TlsSpec,
  lookup: Lookup,
  settings: RoutingSettings,
  reporter: Reporter,
): TlsTermination | undefined {
  const { namespace } = namesOf(root);
  const fail = (reason: string, message: string): undefined => {
    reporter.error('TLSError', reason, message);
    return undefined;
  };
  const ref = secretReference(tls.secretName ?? '', namespace);
  const where = `${ref.namespace}/${ref.name}`;
  if (!isDelegated(lookup, ref, namespace))
    return fail(
      'DelegationNotPermitted',
      `spec.virtualhost.tls.secretName: Secret ${where} is not delegated to the namespace ${namespace}; add a TLSCertificateDelegation there`,
    );
  const secret = lookup.secret(ref.namespace, ref.name);
  const problem = secret ? tlsSecretProblem(secret) : NO_SECRET;
  if (!secret || problem !== undefined)
    return fail('SecretNotValid', `spec.virtualhost.tls.secretName: Secret ${where} cannot be used: ${problem ?? ''}`);

  let fallback: Certificate | undefined;
  if (tls.enableFallbackCertificate === true) {
    const found = fallbackCertificate(root, tls, lookup, settings, fail);
    if (!found) return undefined;
    fallback = found;
  }
  const clients = tls.clientValidation && clientValidation(tls.clientValidation, namespace, lookup, fail);
  if (tls.clientValidation && !clients) return undefined;
  const versions = settings.envoy.listener.tls;
  for (const field of ['minimumProtocolVersion', 'maximumProtocolVersion'] as const)
    if (tls[field] && !['1.2', '1.3'].includes(tls[field]))
      reporter.warn(
        'SpecError',
        'IgnoredField',
        `spec.virtualhost.tls.${field}: ${JSON.stringify(tls[field])} is not known, and ${versions[field]} of the SesameConfiguration is used; use 1.2 or 1.3`,
      );
  return {
    secret: certificateOf(secret),
    // A host may only narrow the setting of the configuration.
    minimumVersion: maxVersion(versions.minimumProtocolVersion, tls.minimumProtocolVersion),
    maximumVersion: minVersion(versions.maximumProtocolVersion, tls.maximumProtocolVersion),
    clientValidation: clients,
    requiresClientCertificate:
      tls.clientValidation !== undefined && tls.clientValidation.optionalClientCertificate !== true,
    forwardedCertificate:
      tls.clientValidation?.forwardClientCertificate &&
      forwardedCertificate(tls.clientValidation.forwardClientCertificate),
    fallback,
  };
}

type Fail = (reason: string, message: string) => undefined;

function fallbackCertificate(
  root: HTTPProxy,
  tls: TlsSpec,
  lookup: Lookup,
  settings: RoutingSettings,
  fail: Fail,
): Certificate | undefined {
  if (tls.clientValidation)
    return fail(
      'TLSIncompatibleFeatures',
      'spec.virtualhost.tls.enableFallbackCertificate: it cannot be combined with clientValidation; remove one of them',
    );
  const { name, namespace } = settings.httpproxy.fallbackCertificate ?? {};
  if (!name || !namespace)
    return fail(
      'FallbackNotPresent',
      'spec.virtualhost.tls.enableFallbackCertificate: there is no fallback certificate; set httpproxy.fallbackCertificate in the SesameConfiguration',
    );
  if (!isDelegated(lookup, { name, namespace }, root.metadata.namespace ?? ''))
    return fail(
      'FallbackNotDelegated',
      `spec.virtualhost.tls.enableFallbackCertificate: Secret ${namespace}/${name} is not delegated to the namespace ${root.metadata.namespace ?? ''}; add a TLSCertificateDelegation there`,
    );
  const secret = lookup.secret(namespace, name);
  const problem = secret ? tlsSecretProblem(secret) : NO_SECRET;
  if (!secret || problem !== undefined)
    return fail(
      'FallbackNotValid',
      `spec.virtualhost.tls.enableFallbackCertificate: Secret ${namespace}/${name} cannot be used: ${problem ?? ''}`,
    );
  return certificateOf(secret);
}

function clientValidation(
  spec: NonNullable<TlsSpec['clientValidation']>,
  namespace: string,
  lookup: Lookup,
  fail: Fail,
): ClientValidation | undefined {
  let validation: ClientValidation = { acceptsUntrusted: spec.skipClientCertValidation === true };
  if (spec.caSecret) {
    const ref = secretReference(spec.caSecret, namespace);
    const where = `${ref.namespace}/${ref.name}`;
    if (!isDelegated(lookup, ref, namespace))
      return fail(
        'DelegationNotPermitted',
        `spec.virtualhost.tls.clientValidation.caSecret: Secret ${where} is not delegated to the namespace ${namespace}; add a TLSCertificateDelegation there`,
      );
    const secret = lookup.secret(ref.namespace, ref.name);
    const problem = secret ? caSecretProblem(secret) : NO_SECRET;
    if (!secret || problem !== undefined)
      return fail(
        'ClientValidationInvalid',
        `spec.virtualhost.tls.clientValidation.caSecret: Secret ${where} cannot be used: ${problem ?? ''}`,
      );
    validation = { ...validation, ca: secret.data[CA_CERT] ?? Buffer.alloc(0) };
  } else if (spec.skipClientCertValidation !== true)
    return fail(
      'ClientValidationInvalid',
      'spec.virtualhost.tls.clientValidation.caSecret: it is empty; name a Secret with ca.crt, or set skipClientCertValidation',
    );
  if (spec.crlSecret) {
    const ref = secretReference(spec.crlSecret, namespace);
    const where = `${ref.namespace}/${ref.name}`;
    if (!isDelegated(lookup, ref, namespace))
      return fail(
        'DelegationNotPermitted',
        `spec.virtualhost.tls.clientValidation.crlSecret: Secret ${where} is not delegated to the namespace ${namespace}; add a TLSCertificateDelegation there`,
      );
    const secret = lookup.secret(ref.namespace, ref.name);
    const problem = secret ? crlSecretProblem(secret) : NO_SECRET;
    if (!secret || problem !== undefined)
      return fail(
        'ClientValidationInvalid',
        `spec.virtualhost.tls.clientValidation.crlSecret: Secret ${where} cannot be used: ${problem ?? ''}`,
      );
    validation = {
      ...validation,
      revocations: { list: secret.data[CRL] ?? Buffer.alloc(0), isForLeafOnly: spec.crlOnlyVerifyLeafCert === true },
    };
  }
  return validation;
}

function forwardedCertificate(
  spec: NonNullable<NonNullable<TlsSpec['clientValidation']>['forwardClientCertificate']>,
): ForwardedCertificate {
  return {
    subject: spec.subject === true,
    cert: spec.cert === true,
    chain: spec.chain === true,
    dns: spec.dns === true,
    uri: spec.uri === true,
  };
}

function maxVersion(left: string, right: string | undefined): string {
  return right === '1.3' || left === '1.3' ? '1.3' : left;
}

function minVersion(left: string, right: string | undefined): string {
  return right === '1.2' || left === '1.2' ? '1.2' : left;
}
