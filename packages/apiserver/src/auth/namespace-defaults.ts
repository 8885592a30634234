import type { UnknownObject } from '@capstan/kube';
import type { ObjectOperations } from '../controllers.ts';
import { ADMIN, type Core } from '../core.ts';
import { StatusError } from '../errors.ts';
import { equalJson } from '../json/copy.ts';
import { createObject } from '../rest/create.ts';
import { SERVICE_ACCOUNTS } from './service-account-tokens.ts';

const NAMESPACES = '/namespaces';
const CONFIG_MAPS = '/configmaps';
const ROOT_CA = 'kube-root-ca.crt';
// Kubernetes' own words, for the one that compares.
const DESCRIPTION =
  'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.';

/** Gives every namespace its `default` service account and the certificate by which pods know the server. */
export function startNamespaceDefaults(
  core: Core,
  rootCa: string,
  operations: ObjectOperations,
  run: (work: () => Promise<void>) => void,
): void {
  const make = async (plural: string, namespace: string, object: UnknownObject) => {
    const served = core.registry.find('', 'v1', plural);
    if (!served) return;
    const target = { ...served, namespace, name: '', subresource: '' };
    const options = {
      dryRun: false,
      fieldManager: 'kube-controller-manager',
      fieldValidation: 'Ignore',
      force: false,
    } as const;
    try {
      await createObject(core, target, object, options, { user: ADMIN }, new Set<string>());
    } catch (error) {
      // There already, or the namespace is going.
      if (!(error instanceof StatusError) || error.code >= 500) throw error;
    }
  };
  const ensure = async (namespace: string) => {
    const owner = core.store.get(NAMESPACES, namespace);
    if (!owner || owner.metadata.deletionTimestamp !== undefined) return;
    if (!core.store.get(SERVICE_ACCOUNTS, `${namespace}/default`)) {
      await make('serviceaccounts', namespace, {
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { name: 'default' },
      });
    }
    const data = { 'ca.crt': rootCa };
    const published = core.store.get(CONFIG_MAPS, `${namespace}/${ROOT_CA}`);
    if (published && !equalJson(published['data'], data)) {
      await operations.change(CONFIG_MAPS, `${namespace}/${ROOT_CA}`, (object) => ({ ...object, data }));
    }
    if (!published) {
      const metadata = { name: ROOT_CA, annotations: { 'kubernetes.io/description': DESCRIPTION } };
      await make('configmaps', namespace, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data });
    }
  };
  core.store.subscribe(NAMESPACES, (event) => {
    if (!event.deleted) run(() => ensure(event.key));
  });
  for (const resource of [SERVICE_ACCOUNTS, CONFIG_MAPS]) {
    core.store.subscribe(resource, (event) => {
      const [namespace = '', name] = event.key.split('/');
      if ((event.deleted && name === 'default') || name === ROOT_CA) run(() => ensure(namespace));
    });
  }
  for (const { key } of core.store.list(NAMESPACES, '')) run(() => ensure(key));
}
