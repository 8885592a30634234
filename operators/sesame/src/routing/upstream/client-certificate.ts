import type { Certificate } from '../../model/certificate.ts';
import type { Reporter } from '../../result.ts';
import type { Lookup } from '../lookup.ts';
import type { RoutingSettings } from '../settings.ts';
import { certificateOf, NO_SECRET, tlsSecretProblem } from './tls-secret.ts';

/**
 * Returns the certificate that Envoy shows to services and ExtensionServices over TLS. A problem with it is reported, and TLS goes on
 * without. The administrator names it in the SesameConfiguration, so that it needs no delegation.
 */
export function clientCertificate(
  { envoy }: RoutingSettings,
  lookup: Lookup,
  reporter: Reporter,
): Certificate | undefined {
  const { name, namespace } = envoy.clientCertificate ?? {};
  if (!name || !namespace) return undefined;
  const secret = lookup.secret(namespace, name);
  const problem = secret ? tlsSecretProblem(secret) : NO_SECRET;
  if (secret && problem === undefined) return certificateOf(secret);
  reporter.warn(
    'TLSError',
    'SecretNotValid',
    `envoy.clientCertificate of the SesameConfiguration: Secret ${namespace}/${name} cannot be used: ${problem ?? ''}`,
  );
  return undefined;
}
