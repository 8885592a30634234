// The served kinds, in the two forms that clients request: one document for each group and version, or everything at once (aggregated).
// Rebuilt only when the served kinds have changed.
import type { ApiRequest, ApiResponse } from '@capstan/kube';
import { compareVersions } from '../crd/version-order.ts';
import type { Registry } from '../resources/registry.ts';
import type { Resource, ResourceVersion } from '../resources/resource.ts';

/** Answers discovery requests; undefined for any other path. */
export type Discovery = (request: ApiRequest) => ApiResponse | undefined;

export function createDiscovery(registry: Registry): Discovery {
  let made = -1;
  let groups: readonly Group[] = [];
  const current = () => {
    if (made !== registry.generation) {
      groups = groupsOf(registry.all());
      made = registry.generation;
    }
    return groups;
  };

  return ({ path, accept = '', headers = {} }) => {
    const parts = path.split('/').filter((part) => part !== '');
    if (parts[0] !== 'api' && parts[0] !== 'apis') return undefined;
    const isCore = parts[0] === 'api';
    if (parts.length === 1) {
      const wanted = aggregatedVersion(accept === '' ? (headers['accept'] ?? '') : accept);
      const chosen = current().filter(({ name }) => (name === '') === isCore);
      if (wanted !== undefined) return aggregated(chosen, wanted);
      return json(isCore ? CORE_VERSIONS : { kind: 'APIGroupList', apiVersion: 'v1', groups: chosen.map(apiGroup) });
    }
    const group = current().find(({ name }) => name === (isCore ? '' : parts[1]));
    const [version] = isCore ? parts.slice(1) : parts.slice(2);
    if (!group || parts.length > (isCore ? 2 : 3)) return undefined;
    if (version === undefined)
      return isCore ? undefined : json({ kind: 'APIGroup', apiVersion: 'v1', ...apiGroup(group) });
    const served = group.versions.find(({ name }) => name === version);
    return served && json(resourceList(group.name, served));
  };
}

interface Group {
  name: string;
  versions: GroupVersion[];
}

interface GroupVersion {
  name: string;
  resources: { resource: Resource; version: ResourceVersion }[];
}

const CORE_VERSIONS = { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] };

function groupsOf(resources: readonly Resource[]): Group[] {
  const groups = new Map<string, Map<string, GroupVersion>>();
  for (const resource of resources) {
    for (const version of resource.versions) {
      if (!version.served) continue;
      const versions = groups.get(resource.group) ?? new Map<string, GroupVersion>();
      groups.set(resource.group, versions);
      const one = versions.get(version.name) ?? { name: version.name, resources: [] };
      versions.set(version.name, one);
      one.resources.push({ resource, version });
    }
  }
  return [...groups].map(([name, versions]) => ({
    name,
    versions: [...versions.values()].sort((a, b) => compareVersions(a.name, b.name)),
  }));
}

const groupVersion = (group: string, version: string) => (group === '' ? version : `${group}/${version}`);

function apiGroup({ name, versions }: Group) {
  const all = versions.map((version) => ({ groupVersion: groupVersion(name, version.name), version: version.name }));
  return { name, versions: all, preferredVersion: all[0] };
}

function resourceList(group: string, { name, resources }: GroupVersion) {
  const rows = resources.flatMap(({ resource, version }) => [
    {
      name: resource.plural,
      singularName: resource.singular,
      namespaced: resource.namespaced,
      kind: resource.kind,
      verbs: resource.verbs,
      ...(resource.shortNames.length > 0 && { shortNames: resource.shortNames }),
      ...(resource.categories.length > 0 && { categories: resource.categories }),
    },
    ...version.subresources.map((one) => ({
      name: `${resource.plural}/${one.name}`,
      singularName: '',
      namespaced: resource.namespaced,
      ...(one.group !== group && { group: one.group }),
      ...((one.group !== group || one.version !== name) && { version: one.version }),
      kind: one.kind,
      verbs: one.verbs,
    })),
  ]);
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: groupVersion(group, name), resources: rows };
}

function aggregated(groups: readonly Group[], version: string): ApiResponse {
  const items = groups.map((group) => ({
    metadata: group.name === '' ? {} : { name: group.name },
    versions: group.versions.map(({ name, resources }) => ({
      version: name,
      freshness: 'Current',
      resources: resources.map(({ resource, version: served }) => ({
        resource: resource.plural,
        responseKind: { group: resource.group, version: name, kind: resource.kind },
        scope: resource.namespaced ? 'Namespaced' : 'Cluster',
        singularResource: resource.singular,
        verbs: resource.verbs,
        ...(resource.shortNames.length > 0 && { shortNames: resource.shortNames }),
        ...(resource.categories.length > 0 && { categories: resource.categories }),
        ...(served.subresources.length > 0 && {
          subresources: served.subresources.map((one) => ({
            subresource: one.name,
            responseKind: { group: one.group, version: one.version, kind: one.kind },
            verbs: one.verbs,
          })),
        }),
      })),
    })),
  }));
  return {
    status: 200,
    headers: { 'content-type': `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList` },
    body: { kind: 'APIGroupDiscoveryList', apiVersion: `apidiscovery.k8s.io/${version}`, metadata: {}, items },
  };
}

/** The version of the aggregated form that is accepted before the plain one, if any. */
function aggregatedVersion(accept: string): string | undefined {
  for (const form of accept.split(',')) {
    if (form.includes('as=APIGroupDiscoveryList')) {
      const version = /;v=(v2(?:beta1)?)\b/.exec(form)?.[1];
      if (version !== undefined) return version;
    } else if (form.includes('json') || form.includes('*/*')) return undefined;
  }
  return undefined;
}

function json(body: unknown): ApiResponse {
  return { status: 200, headers: { 'content-type': 'application/json' }, body };
}
