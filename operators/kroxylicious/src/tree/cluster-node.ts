// The node of a VirtualKafkaCluster, which is leaf and aggregator. It combines its filters, its service and its ingresses, and adds the
// certificates of its own gateways. Its result is the validated fragment of the configuration.
import { type DerivationDefinition, derivation, plainDigest } from '@capstan/reconcile';
import type { VirtualClusterConfig } from '../configuration/schema.ts';
import { validateFilterDefinition, validateVirtualCluster } from '../configuration/validate.ts';
import { combineHashes, type HashedChild } from '../hash/combine-hashes.ts';
import { KafkaProxy, VirtualKafkaCluster } from '../kinds/index.ts';
import { distinctMounts } from '../resolution/mounts.ts';
import { named, notFound, type Problem, problem, type Warning } from '../resolution/problem.ts';
import type { Settings } from '../settings.ts';
import { type ClusterFragment, type ClusterWay, type ServedFragment, served } from './cluster-fragment.ts';
import { type FilterNode, filterNode } from './filter-node.ts';
import { resolveGateways } from './gateways.ts';
import { keyIn, type NamespacedRef, refOfKey, specOf } from './keys.ts';
import { serviceNode } from './service-node.ts';
import { type Snapshot, takeSnapshots, withoutKeys } from './snapshots.ts';

export interface ClusterNode {
  /** The KafkaProxy that the cluster names. */
  readonly proxy: string;
  readonly problems: readonly Problem[];
  /** Problems that do not keep the cluster from being served. */
  readonly warnings: readonly Warning[];
  /** The ingresses by Routes, also while there are problems. Routes must exist before their hosts are known. */
  readonly routes: readonly ClusterWay[];
  /** Absent while there are problems. */
  readonly served?: ServedFragment;
  /** Copies of the content that pods mount for it. Absent unless the proxy requests them. */
  readonly snapshots?: readonly Snapshot[];
}

const onStaleInputOf = ({ spec }: KafkaProxy) => spec?.rollout?.onStaleInput ?? 'Hold';

export type ClusterNodes = DerivationDefinition<ClusterNode | undefined>;

/** Creates the derivation of a cluster's node. It is undefined if the cluster does not exist. */
export function createClusterNode(settings: Pick<Settings, 'clusterDomain'>): ClusterNodes {
  return derivation<ClusterNode | undefined>({
    name: 'VirtualKafkaCluster',
    compute({ key, read, digest }) {
      const ref = refOfKey(key);
      const spec = specOf(read, VirtualKafkaCluster, ref);
      if (spec === undefined) return undefined;
      const proxy = spec.proxyRef.name;
      const problems: Problem[] = [];
      const warnings: Warning[] = [];
      const proxyRef = { namespace: ref.namespace, name: proxy };
      const onStaleInput = read.get(KafkaProxy, proxyRef, onStaleInputOf);
      if (onStaleInput === undefined) problems.push(notFound('spec.proxyRef', 'KafkaProxy', proxyRef));

      const service = usable(
        read.derived(serviceNode, keyIn(ref, spec.targetKafkaServiceRef.name)),
        'KafkaService',
        spec.targetKafkaServiceRef.name,
        'spec.targetKafkaServiceRef',
        ref,
        problems,
      );
      const filters = (spec.filterRefs ?? []).map(({ name }, i) =>
        usable(
          read.derived(filterNode, keyIn(ref, name)),
          'KafkaProtocolFilter',
          name,
          `spec.filterRefs[${i}]`,
          ref,
          problems,
        ),
      );
      const gateways = resolveGateways(spec.ingresses, {
        ref,
        proxy,
        read,
        serviceName: spec.targetKafkaServiceRef.name,
        problems,
        warnings,
        domain: settings.clusterDomain,
      });
      const known = gateways.flatMap(({ config: gateway }) => gateway ?? []);
      const routes = gateways.map(({ way }) => way).filter(({ type }) => type === 'Route');
      const found = { proxy, problems, warnings, routes };
      if (known.length === 0 && problems.length === 0)
        problems.push(
          problem(
            'ReferencedResourceNotReconciled',
            'spec.ingresses',
            `no way in is ready: ${warnings.map(({ message }) => message).join('; ')}`,
          ),
        );
      if (problems.length > 0 || service === undefined) return found;

      const definitions = new Map<string, NonNullable<FilterNode['valid']>>();
      for (const filter of filters) if (filter !== undefined) definitions.set(filter.definition.name, filter);
      const config: VirtualClusterConfig = {
        name: ref.name,
        targetCluster: service.target,
        gateways: known,
        ...(filters.length > 0 ? { filters: filters.flatMap((filter) => filter?.definition.name ?? []) } : {}),
      };
      const faults = [
        ...validateVirtualCluster(config, ''),
        ...[...definitions.values()].flatMap(({ definition }) =>
          validateFilterDefinition(definition, `filter ${definition.name}`),
        ),
      ];
      if (faults.length > 0)
        return {
          ...found,
          problems: faults.map(({ path, problem: wrong }) =>
            path === 'name'
              ? problem(
                  'Invalid',
                  'metadata.name',
                  `${wrong} for the proxy to take it; give the cluster such a name`,
                  'Accepted',
                )
              : problem('Invalid', 'spec', `the proxy would refuse the configuration: ${path} ${wrong}`, 'Accepted'),
          ),
        };

      const ingresses = distinct(gateways.map(({ way, hash }) => ({ name: way.ingress, hash })));
      const children: HashedChild[] = [
        { name: `KafkaService ${spec.targetKafkaServiceRef.name}`, hash: service.hash },
        ...[...definitions.values()].map(({ definition, hash }) => ({ name: definition.name, hash })),
        ...ingresses.map(({ name, hash }) => ({ name: `KafkaProxyIngress ${name}`, hash })),
        // The certificates of its gateways are a leaf of their own.
        { name: 'certificates', hash: digest(gateways.map(({ content }) => content)) },
      ];
      const sources = distinctMounts([
        ...[...definitions.values()].flatMap((filter) => filter.mounts),
        ...service.mounts,
        ...gateways.flatMap((gateway) => gateway.mounts),
      ]);
      const { mounts, snapshots } =
        onStaleInput === 'Snapshot'
          ? takeSnapshots(sources, { ref, read, digest })
          : { mounts: sources.map(withoutKeys), snapshots: [] };
      const fragment: ClusterFragment = {
        proxy,
        config,
        configId: plainDigest(config),
        filterDefinitions: [...definitions.values()].map(({ definition }) => definition),
        mounts,
        ways: gateways.map(({ way }) => way),
        ingresses,
        hash: combineHashes(config, children),
      };
      return { ...found, served: served(fragment), ...(snapshots.length === 0 ? {} : { snapshots }) };
    },
  });
}

/** Returns the valid part of a referent. Its problems are also reported on the cluster. */
function usable<V>(
  node: { problems: readonly Problem[]; valid?: V } | undefined,
  kind: string,
  name: string,
  path: string,
  { namespace }: NamespacedRef,
  problems: Problem[],
): V | undefined {
  const at = { namespace, name };
  if (node === undefined) problems.push(notFound(path, kind, at));
  else if (node.valid === undefined)
    problems.push(
      problem(
        'TransitivelyReferencedResourcesNotFound',
        path,
        `${named(kind, at)} is not valid: ${node.problems.map((one) => `${one.path}: ${one.message}`).join('; ')}`,
      ),
    );
  return node?.valid;
}

function distinct(children: readonly HashedChild[]): HashedChild[] {
  return [...new Map(children.map((child) => [child.name, child])).values()];
}
