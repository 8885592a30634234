import type { Resource, ResourceVersion } from './resource.ts';

/** The served resources: built-in ones, and custom ones while their definitions exist. */
export interface Registry {
  find(group: string, version: string, plural: string): ServedResource | undefined;
  /** By kind, in the given version; as owner references and bodies name resources. */
  findKind(apiVersion: string, kind: string): ServedResource | undefined;
  add(resource: Resource): void;
  remove(resource: Resource): void;
  all(): readonly Resource[];
  /** Whether a built-in resource has this group. */
  isOwn(group: string): boolean;
  /** Changes whenever the served resources change. */
  readonly generation: number;
}

export interface ServedResource {
  resource: Resource;
  version: ResourceVersion;
}

export function createRegistry(): Registry {
  const resources = new Map<string, Resource>();
  const paths = new Map<string, ServedResource>();
  const kinds = new Map<string, ServedResource>();
  let generation = 0;

  // Two resources may share their stored objects: the two forms of Events.
  const idOf = ({ group, plural }: Resource) => `${group}/${plural}`;
  const pathOf = (group: string, version: string, plural: string) => `${group}/${version}/${plural}`;
  const kindOf = (group: string, version: string, kind: string) =>
    group === '' ? `${version} ${kind}` : `${group}/${version} ${kind}`;

  const forget = (resource: Resource) => {
    for (const { name } of resource.versions) {
      paths.delete(pathOf(resource.group, name, resource.plural));
      kinds.delete(kindOf(resource.group, name, resource.kind));
    }
  };

  return {
    get generation() {
      return generation;
    },
    find: (group, version, plural) => paths.get(pathOf(group, version, plural)),
    findKind: (apiVersion, kind) => kinds.get(`${apiVersion} ${kind}`),
    add(resource) {
      const id = idOf(resource);
      const before = resources.get(id);
      if (before) forget(before);
      resources.set(id, resource);
      generation += 1;
      for (const version of resource.versions) {
        if (!version.served) continue;
        const served = { resource, version };
        paths.set(pathOf(resource.group, version.name, resource.plural), served);
        kinds.set(kindOf(resource.group, version.name, resource.kind), served);
      }
    },
    remove(resource) {
      forget(resource);
      resources.delete(idOf(resource));
      generation += 1;
    },
    all: () => [...resources.values()],
    isOwn(group) {
      for (const one of resources.values()) {
        if (!one.custom && one.group === group) return true;
      }
      return false;
    },
  };
}
