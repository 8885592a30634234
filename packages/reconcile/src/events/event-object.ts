import { createHash } from 'node:crypto';
import { Event, formatMicroTime, type KubeObject } from '@capstan/kube/cluster';

/** The text of an event, in the words of the reporter. */
export interface EventText {
  /** Default Normal. */
  type?: 'Normal' | 'Warning';
  /** One word in CamelCase, from a closed set. */
  reason: string;
  note: string;
  /** The action, in CamelCase; the reason by default. */
  action?: string;
  related?: KubeObject;
  /** Identifies the occurrence, for every process: the Event has one name then. */
  id?: string;
}

/** The component that reports it. */
export interface Reporter {
  /** As `capstan.dev/sesame`. */
  controller: string;
  /** Which process: the name of the pod. */
  instance: string;
}

// The API refuses longer ones; it counts bytes.
const NOTE_BYTES = 1024;
const WORD_BYTES = 128;
const NAME_LENGTH = 253;

/** The Event as it is first written; its name follows from its content, so that writing it twice makes one. */
export function eventObject(regarding: KubeObject, text: EventText, by: Reporter, now: number): Event {
  const { name = '', namespace } = regarding.metadata;
  const eventTime = formatMicroTime(now);
  const content = {
    type: text.type ?? 'Normal',
    reason: clip(text.reason, WORD_BYTES),
    action: clip(text.action ?? text.reason, WORD_BYTES),
    note: clip(text.note, NOTE_BYTES),
    regarding: referenceTo(regarding),
    ...(text.related === undefined ? {} : { related: referenceTo(text.related) }),
    reportingController: by.controller,
    reportingInstance: clip(by.instance, WORD_BYTES),
  };
  const identity = text.id === undefined ? [content, eventTime] : [content.reason, content.regarding, text.id];
  const digest = createHash('sha256').update(JSON.stringify(identity)).digest('hex').slice(0, 16);
  return {
    apiVersion: Event.apiVersion,
    kind: Event.kind,
    // Events on cluster-scoped objects live in the namespace where kubectl searches for them.
    metadata: { name: `${eventPrefix(name, NAME_LENGTH - 17)}.${digest}`, namespace: namespace ?? 'default' },
    eventTime,
    ...content,
  };
}

/** The key of a series: two Events with the same key are one, repeated. The note counts: the API does not let it change. */
export function seriesKey({ type, reason, action, note, regarding, related }: Event, id?: string): string {
  return JSON.stringify([type, reason, action, note, regarding, related, id]);
}

/** The object, whichever version of it: a reference with a resourceVersion would start a new series at each change. */
function referenceTo(object: KubeObject): NonNullable<Event['regarding']> {
  const { apiVersion, kind, metadata } = object;
  const { name, namespace, uid } = metadata;
  return {
    apiVersion,
    kind,
    ...(name === undefined ? {} : { name }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
  };
}

/** Some kinds (roles, …) have names that an Event cannot have. */
function eventPrefix(name: string, length: number): string {
  const legal = name
    .toLowerCase()
    .replace(/[^a-z0-9.-]+/g, '-')
    .slice(0, length)
    .replace(/[.-]*\.[.-]*/g, '.')
    .replace(/^[.-]+|[.-]+$/g, '');
  return legal === '' ? 'object' : legal;
}

/** At most so many bytes of UTF-8, ending in an ellipsis where something is left out. */
export function clip(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  const room = bytes - Buffer.byteLength('…');
  let end = 0;
  let used = 0;
  for (const character of text) {
    used += Buffer.byteLength(character);
    if (used > room) break;
    end += character.length;
  }
  return `${text.slice(0, end)}…`;
}
