// From a certificate or authorities to Envoy's secret.
import type { Envoy } from '../../envoy/index.ts';
import type { Content, NamedSecret } from '../../model/certificate.ts';
import { createResource, type Resource } from '../../xds/index.ts';
import { originTexts } from './cluster-message.ts';

export function secretMessage(secret: NamedSecret): Envoy.Secret {
  const { name } = secret;
  if (secret.kind === 'authorities')
    return { name, validation_context: { trusted_ca: contentMessage(secret.certificates) } };
  if (secret.kind === 'key') return { name, generic_secret: { secret: contentMessage(secret.content) } };
  const { chain, key } = secret;
  return {
    name,
    tls_certificate: { certificate_chain: contentMessage(chain), private_key: contentMessage(key) },
  };
}

/** The secret as it is served. It is the same one each time that it is asked for. */
export function secretResource(secret: NamedSecret): Resource {
  let found = resources.get(secret);
  if (!found) {
    const { name, origin } = secret;
    found = createResource({ type: 'sds', name, value: secretMessage(secret), origins: originTexts([origin]) });
    resources.set(secret, found);
  }
  return found;
}

const resources = new WeakMap<NamedSecret, Resource>();

function contentMessage(content: Content): Envoy.DataSource {
  return content instanceof Uint8Array ? { inline_bytes: content } : { filename: content.file };
}
