// Checks whether a proxy would start with the present content of the files that a configuration names.
import type { Reader } from '@capstan/reconcile';
import type { Mount } from '../resolution/mounts.ts';
import { named } from '../resolution/problem.ts';
import { inspectCertificate, trustFault } from '../tls/certificates.ts';
import { keysOf } from '../tls/resolve-tls.ts';
import type { ClusterFragment } from './cluster-fragment.ts';

/** Returns the Secrets and ConfigMaps whose content is missing or unusable. Snapshots are skipped, since their content never changes. */
export function brokenFiles(
  { config, filterDefinitions, mounts }: Pick<ClusterFragment, 'config' | 'filterDefinitions' | 'mounts'>,
  read: Reader,
  namespace: string,
): string[] {
  const sources = mounts.filter(({ snapshot }) => snapshot === undefined);
  const contentOf = ({ source, name }: Mount) => keysOf(read, source, { namespace, name });
  const mountOf = (path: string) => sources.find((mount) => path.startsWith(`${mount.path}/`));
  const fileAt = (path: string) => {
    const mount = mountOf(path);
    return mount && contentOf(mount)?.(path.slice(mount.path.length + 1))?.bytes;
  };
  const textAt = (path: string) => fileAt(path)?.toString('utf8') ?? '';
  const unusable = [config.targetCluster.tls, ...config.gateways.map(({ tls }) => tls)].flatMap((tls) => {
    const { key, trust } = tls ?? {};
    const isKeyFaulty =
      key !== undefined &&
      typeof inspectCertificate(textAt(key.certificateFile), textAt(key.privateKeyFile)) === 'string';
    const store = trust && fileAt(trust.storeFile);
    const isTrustFaulty = store !== undefined && trustFault(store, trust?.storeType ?? 'PEM') !== undefined;
    return [...(isKeyFaulty ? [key.certificateFile] : []), ...(isTrustFaulty ? [trust?.storeFile ?? ''] : [])];
  });
  const missing = [...strings(config), ...strings(filterDefinitions)].filter((path) => fileAt(path) === undefined);
  const broken = [
    ...sources.filter((mount) => contentOf(mount) === undefined),
    ...[...missing, ...unusable].flatMap((path) => mountOf(path) ?? []),
  ];
  return [...new Set(broken.map(({ source, name }) => named(source, { name, namespace })))];
}

function strings(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(strings) : [];
}
