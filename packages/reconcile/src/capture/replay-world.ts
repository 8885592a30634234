// The stand-ins for clusters in a replay.
import type { Client, Kind, KubeObject } from '@capstan/kube/cluster';
import type { World } from '../worlds/index.ts';
import type { WrittenAs } from './history.ts';

/** The world without a server: only the kind under which an object was written is not in its table. */
export function worldOfHistory(world: World, originOf: (kind: Kind, view: KubeObject) => WrittenAs | undefined): World {
  return Object.create(world, {
    originOf: {
      value(kind: Kind, view: KubeObject) {
        const [apiVersion, name] = originOf(kind, view) ?? [];
        const origin = world.originOf(kind, view);
        if (apiVersion === undefined || name === undefined) return origin;
        const aliases = (kind as Kind & { aliases?: readonly { kind: Kind }[] }).aliases ?? [];
        const alias = [kind, ...aliases.map((one) => one.kind)].find(
          (one) => one.apiVersion === apiVersion && one.kind === name,
        );
        return { kind: alias ?? kind, object: { ...view, apiVersion, kind: name } };
      },
    },
  }) as World;
}

/** A client whose requests never end: everything comes from the history. */
export function noServer(): Client {
  const never = () => new Promise<never>(() => {});
  return new Proxy({} as Client, { get: () => never });
}

/** A recorder that records nothing. */
export const SILENT = {
  attach() {},
  tableCreated() {},
  waveBegins() {},
  waveEnded() {},
  entered() {},
  listed() {},
  newcomers() {},
  ran() {},
  disposed() {},
  invalidated() {},
};
