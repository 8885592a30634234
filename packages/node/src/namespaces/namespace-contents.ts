// The first objects of every namespace: the ServiceAccount `default`, and the ConfigMap `kube-root-ca.crt`, by which pods verify the API
// server.
import { ConfigMap, keyOf, Namespace, ServiceAccount } from '@capstan/kube';
import { type Controller, source } from '../controller/controller.ts';
import type { Toolkit } from '../controller/toolkit.ts';

const ACCOUNT = 'default';
const ROOT_CA = 'kube-root-ca.crt';
const CA_KEY = 'ca.crt';

/** Without a root certificate (PEM) there is no ConfigMap. */
export function namespaceContents(tools: Toolkit, rootCertificate: string | undefined): Controller {
  const { write } = tools;
  const namespaces = tools.cache(Namespace);
  const accounts = tools.cache(ServiceAccount);
  const configMaps = tools.cache(ConfigMap);

  async function publish(namespace: string, certificate: string): Promise<void> {
    const existing = configMaps.get(keyOf({ namespace, name: ROOT_CA }));
    const annotations = {
      'kubernetes.io/description':
        'Holds the certificate of the authority that signed the certificate of this cluster’s API server.',
    };
    if (existing === undefined) {
      const metadata = { namespace, name: ROOT_CA, annotations };
      await write.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { [CA_KEY]: certificate } });
    } else if (existing.data?.[CA_KEY] !== certificate) {
      await write.update(ConfigMap, { ...existing, data: { [CA_KEY]: certificate } });
    }
  }

  return {
    name: 'namespace-contents',
    sources: [
      source(tools, Namespace, ({ metadata }) => [metadata.name ?? '']),
      source(tools, ServiceAccount, ({ metadata }, _, isDeleted) =>
        isDeleted && metadata.name === ACCOUNT ? [metadata.namespace ?? ''] : [],
      ),
      source(tools, ConfigMap, ({ metadata }) => (metadata.name === ROOT_CA ? [metadata.namespace ?? ''] : [])),
    ],
    async reconcile(name) {
      const namespace = namespaces.get(name);
      if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) return undefined;
      if (accounts.get(keyOf({ namespace: name, name: ACCOUNT })) === undefined) {
        const metadata = { namespace: name, name: ACCOUNT };
        await write.create(ServiceAccount, { apiVersion: 'v1', kind: 'ServiceAccount', metadata });
      }
      if (rootCertificate !== undefined) await publish(name, rootCertificate);
      return undefined;
    },
  };
}
