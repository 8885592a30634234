// The worlds by role. A set that is not complete answers for the worlds that it has, and makes reads of any other wait: the absence of a
// cluster is confirmed only once all of a role are known.
import type { Engine, Table, Tracker } from '../engine/index.ts';
import { LOCAL, type Role } from '../reconciler.ts';
import type { World } from './world.ts';

export interface WorldSet {
  get(name: string): World | undefined;
  readonly all: ReadonlyMap<string, World>;
  /** The role of a world. */
  roleOf(name: string): Role;
  /** Tracked: the world of a name, in any role. */
  find(tracker: Tracker, name: string): World | undefined;
  /** Tracked: names of the worlds of a role, or of all roles. */
  names(tracker: Tracker, role?: Role): readonly string[];
  add(world: World, role: Role): void;
  remove(name: string): void;
  /** All worlds of the role are there. */
  complete(role: Role): void;
}

/** `roles`: all that are read or written. Those besides `local` are incomplete until they are declared complete. */
export function createWorldSet(engine: Engine, roles: readonly Role[]): WorldSet {
  const worlds = new Map<string, World>();
  const roleOf = new Map<string, Role>();
  const tables = new Map<Role, Table<true>>();
  const tableOf = (role: Role) => {
    const table = tables.get(role) ?? engine.table<true>({ name: `worlds of role ${role}` });
    tables.set(role, table);
    return table;
  };
  tableOf(LOCAL).synced();
  for (const role of roles) tableOf(role);
  return {
    get: (name) => worlds.get(name),
    all: worlds,
    roleOf: (name) => roleOf.get(name) ?? LOCAL,
    find(tracker, name) {
      const known = [...tables.values()].find((table) => tracker.state(table, name) === 'known');
      if (known !== undefined) {
        tracker.get(known, name);
        return worlds.get(name);
      }
      // Waits for the roles that are not complete.
      for (const table of tables.values()) tracker.get(table, name);
      return undefined;
    },
    names(tracker, role) {
      const wanted = role === undefined ? [...tables.values()] : [tableOf(role)];
      return wanted.flatMap((table) => tracker.keys(table)).toSorted();
    },
    add(world, role) {
      worlds.set(world.name, world);
      roleOf.set(world.name, role);
      tableOf(role).put(world.name, true);
      // The only one of its role: there are no others to wait for.
      if (world.name === role) tableOf(role).synced();
    },
    remove(name) {
      worlds.delete(name);
      tableOf(roleOf.get(name) ?? LOCAL).delete(name);
      roleOf.delete(name);
    },
    complete: (role) => tableOf(role).synced(),
  };
}
