import { type UnknownObject, validateDns1123Subdomain, validateQualifiedName } from '@capstan/kube';
import { fieldInvalid, fieldRequired } from '../errors.ts';
import { equalJson } from '../json/copy.ts';
import { toCore } from '../resources/event-faces.ts';
import { type Errors, named } from './rules.ts';

/** An event by its core names. */
interface CoreEvent {
  metadata: { namespace?: string };
  involvedObject?: { namespace?: string };
  eventTime?: string;
  reportingComponent?: string;
  reportingInstance?: string;
  action?: string;
  reason?: string;
  message?: string;
  type?: string;
  firstTimestamp?: string;
  lastTimestamp?: string;
  count?: number;
  source?: { component?: string; host?: string };
  series?: { count?: number; lastObservedTime?: string };
}

const MAX_LENGTH = 128;
const MAX_MESSAGE = 1024;

/** Checks the rules of every event, in either of its forms. */
function common(errors: Errors, event: CoreEvent, reporter: string): void {
  const { namespace = '' } = event.metadata;
  const about = event.involvedObject?.namespace ?? '';
  const refuse = () => errors.push(fieldInvalid('involvedObject.namespace', about, 'does not match event.namespace'));
  if (event.eventTime === undefined) {
    if (about === '' ? namespace !== '' && namespace !== 'default' : namespace !== about) refuse();
  } else {
    if (about === '' && namespace !== 'default' && namespace !== 'kube-system') refuse();
    const { reportingComponent = '', reportingInstance = '', action = '', reason = '', message = '' } = event;
    if (reportingComponent === '') errors.push(fieldRequired(reporter));
    named(errors, reporter, reportingComponent, validateQualifiedName(reportingComponent));
    const limited = (field: string, value: string, limit: number) => {
      if (value.length > limit) errors.push(fieldInvalid(field, '', `can have at most ${limit} characters`));
    };
    for (const [field, value] of Object.entries({ reportingInstance, action, reason })) {
      if (value === '') errors.push(fieldRequired(field));
      limited(field, value, MAX_LENGTH);
    }
    limited('message', message, MAX_MESSAGE);
  }
  named(errors, 'namespace', namespace, validateDns1123Subdomain(namespace));
}

export function coreEvent(errors: Errors, object: UnknownObject): void {
  common(errors, object, 'reportingComponent');
}

/** The one that uses the newer face is held to more. */
export function newEvent(errors: Errors, object: UnknownObject, old: UnknownObject | undefined): void {
  const event = toCore(object) as CoreEvent;
  common(errors, event, 'reportingController');
  if (old) eventUpdate(errors, event, toCore(old));
  else {
    series(errors, event);
    if (event.eventTime === undefined) errors.push(fieldRequired('eventTime'));
    const { type = '' } = event;
    if (type !== 'Normal' && type !== 'Warning') errors.push(fieldInvalid('type', '', `has invalid value: ${type}`));
    const unset = (field: string) => errors.push(fieldInvalid(field, '', 'needs to be unset'));
    if (event.firstTimestamp !== undefined) unset('firstTimestamp');
    if (event.lastTimestamp !== undefined) unset('lastTimestamp');
    if (event.count) unset('count');
    if (event.source?.component || event.source?.host) unset('source');
  }
}

function series(errors: Errors, event: CoreEvent): void {
  if (!event.series) return;
  if ((event.series.count ?? 0) < 2) errors.push(fieldInvalid('series.count', '', 'should be at least 2'));
  if (event.series.lastObservedTime === undefined) errors.push(fieldRequired('series.lastObservedTime'));
}

const FIXED = [
  'involvedObject',
  'reason',
  'message',
  'source',
  'firstTimestamp',
  'lastTimestamp',
  'count',
  'reason',
  'type',
  'eventTime',
  'action',
  'related',
  'reportingComponent',
  'reportingInstance',
];

const TIMES: ReadonlySet<string> = new Set(['eventTime', 'firstTimestamp', 'lastTimestamp']);

/** As Go has it: every field of a reference, under its own name. */
function goValue(field: string, value: unknown): unknown {
  if (field === 'source') {
    const { component = '', host = '' } = (value ?? {}) as { component?: string; host?: string };
    return { Component: component, Host: host };
  }
  if (TIMES.has(field)) return value ?? null;
  if (field !== 'involvedObject' && field !== 'related') return value ?? (field === 'count' ? 0 : '');
  if (field === 'related' && value === undefined) return null;
  const given = (value ?? {}) as Record<string, string | undefined>;
  const names = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'] as const;
  const shown: Readonly<Record<string, string>> = { uid: 'UID', apiVersion: 'APIVersion' };
  return Object.fromEntries(
    names.map((name) => [shown[name] ?? `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`, given[name] ?? '']),
  );
}

const TOLD: Readonly<Record<string, string>> = { reportingComponent: 'reportingController' };

function eventUpdate(errors: Errors, event: CoreEvent, old: CoreEvent): void {
  if (!equalJson(event.series, old.series)) series(errors, event);
  const [after, before] = [event, old] as unknown as Record<string, unknown>[];
  for (const field of FIXED) {
    if (equalJson(after?.[field], before?.[field])) continue;
    errors.push(fieldInvalid(TOLD[field] ?? field, goValue(field, after?.[field]), 'field is immutable'));
  }
}
