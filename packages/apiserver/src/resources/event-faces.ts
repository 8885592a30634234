// Events have two forms: core/v1, which most clients read, and events.k8s.io/v1, which recorders write. They are the same objects under
// other field names, and the first form is stored.
import type { UnknownObject } from '@capstan/kube';
import type { Printer } from '../table/printer.ts';
import type { ResourceVersion } from './resource.ts';

const CORE = 'v1';
const EVENTS = 'events.k8s.io/v1';

/** The core name, then that of the other form; other fields have the same name in both. */
const NAMES: readonly (readonly [core: string, other: string])[] = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['reportingComponent', 'reportingController'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
];

const TO_EVENTS = new Map(NAMES);
const TO_CORE = new Map(NAMES.map(([core, other]) => [other, core]));

/** Names that core writes even when they are empty are left out of the other face. */
function toEvents(object: UnknownObject): UnknownObject {
  const named = renamed(object, EVENTS, TO_EVENTS);
  const hollow = ['reportingController', 'reportingInstance'].filter((field) => named[field] === '');
  if (hollow.length === 0) return named;
  const kept = { ...named };
  for (const field of hollow) delete kept[field];
  return kept;
}

export function toCore(object: UnknownObject): UnknownObject {
  const named = renamed(object, CORE, TO_CORE);
  return named === object ? object : { reportingComponent: '', reportingInstance: '', ...named };
}

function renamed(object: UnknownObject, apiVersion: string, names: ReadonlyMap<string, string>): UnknownObject {
  if (object.apiVersion === apiVersion) return object;
  const parts = Object.entries(object).map(([name, value]): [string, unknown] => [names.get(name) ?? name, value]);
  return { ...Object.fromEntries(parts), apiVersion, kind: object.kind, metadata: object.metadata };
}

/** The version of events.k8s.io, based on the stored form of core/v1; `printer` is that of core events. */
export function eventsFace(version: ResourceVersion, printer: Printer): ResourceVersion {
  return {
    ...version,
    convert: toEvents,
    toStored: toCore,
    storedField(field) {
      const [first = '', ...rest] = field.split('.');
      return [TO_CORE.get(first) ?? first, ...rest].join('.');
    },
    printer: { ...printer, cells: (object, now) => printer.cells(toCore(object), now) },
  };
}
