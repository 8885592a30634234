// The Secrets of `sesame certgen`, in the two formats that upstream has.
import { Secret } from '@capstan/kube/cluster';
import type { XdsCertificates } from './issue.ts';

export type SecretsFormat = 'compact' | 'legacy';

export interface SecretOptions {
  readonly namespace: string;
  readonly format: SecretsFormat;
  /** Added to each name. */
  readonly suffix: string;
}

/** compact: two TLS Secrets with ca.crt; legacy: TLS Secrets without it, and `cacert`. */
export function certificateSecrets({ ca, sesame, envoy }: XdsCertificates, options: SecretOptions): Secret[] {
  const { namespace, format, suffix } = options;
  const of = (name: string, type: string, texts: Record<string, string>): Secret => ({
    apiVersion: Secret.apiVersion,
    kind: Secret.kind,
    metadata: { name: `${name}${suffix}`, namespace, labels: { app: 'sesame' } },
    type,
    data: Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
  });
  const pair = (name: string, { certificate, key }: { certificate: string; key: string }) =>
    of(name, 'kubernetes.io/tls', {
      ...(format === 'compact' && { 'ca.crt': ca }),
      'tls.crt': certificate,
      'tls.key': key,
    });
  return [
    ...(format === 'legacy' ? [of('cacert', 'Opaque', { 'cacert.pem': ca })] : []),
    pair('sesamecert', sesame),
    pair('envoycert', envoy),
  ];
}

/** The same as files. */
export function certificateFiles({
  ca,
  sesame,
  envoy,
}: XdsCertificates): [name: string, text: string, isSecret: boolean][] {
  return [
    ['cacert.pem', ca, false],
    ['sesamecert.pem', sesame.certificate, false],
    ['sesamekey.pem', sesame.key, true],
    ['envoycert.pem', envoy.certificate, false],
    ['envoykey.pem', envoy.key, true],
  ];
}
