import { InvalidValueError, parseFieldSelector, parseLabelSelector, type UnknownObject } from '@capstan/kube';
import { badRequest } from '../errors.ts';
import { textAt, valueAt } from '../json/copy.ts';
import type { Target } from './target.ts';

/** Which objects of a resource a request is about. */
export interface Selection {
  matches(object: UnknownObject): boolean;
  /** Nothing is left out. */
  readonly everything: boolean;
  /** The one name that can match, if there is only one. */
  readonly name: string | undefined;
}

/** Reads both selectors; a field that the kind does not offer is refused. */
export function parseSelection(options: { labelSelector: string; fieldSelector: string }, target: Target): Selection {
  const { labelSelector, fieldSelector } = options;
  const named = target.name === '' ? undefined : target.name;
  if (labelSelector === '' && fieldSelector === '' && named === undefined) return EVERYTHING;
  const { labels, fields } = readSelectors(options);
  for (const { field } of fields.terms) {
    if (field === 'metadata.name' || field === 'metadata.namespace') continue;
    if (!target.version.selectableFields.includes(field)) throw badRequest(unknownField(target, field));
  }
  const hasFields = fields.terms.length > 0;
  const storedField = target.version.storedField ?? ((field: string) => field);
  return {
    everything: false,
    name: named ?? fields.required('metadata.name'),
    matches(object) {
      if (named !== undefined && object.metadata.name !== named) return false;
      if (!labels.matches(object.metadata.labels)) return false;
      return !hasFields || fields.matches((field) => fieldText(object, storedField(field)));
    },
  };
}

function unknownField({ resource, version }: Target, field: string): string {
  if (resource.custom || version.selectableFields.length > 0) return `field label not supported: ${field}`;
  return `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`;
}

/** Whether selectors can be read at all. */
export function checkSelectors(options: { labelSelector: string; fieldSelector: string }): void {
  readSelectors(options);
}

/** Each term costs some nanoseconds for every object; a set of values is one term. */
const MAX_TERMS = 1_000;

function readSelectors({ labelSelector, fieldSelector }: { labelSelector: string; fieldSelector: string }) {
  const labels = reading(() => parseLabelSelector(labelSelector));
  const fields = reading(() => parseFieldSelector(fieldSelector));
  const terms = Math.max(labels.terms.length, fields.terms.length);
  if (terms > MAX_TERMS) throw badRequest(`a selector has ${terms} requirements; at most ${MAX_TERMS} are accepted`);
  return { labels, fields };
}

const EVERYTHING: Selection = { everything: true, name: undefined, matches: () => true };

function reading<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof InvalidValueError) throw badRequest(error.problem);
    throw error;
  }
}

// An unset boolean reads as false, as it does in a Go struct: `spec.unschedulable=false` selects every other node.
function fieldText(object: UnknownObject, field: string): string {
  // The source of an event is the component that reported it, in either field.
  if (field === 'source') return textAt(object, ['source', 'component']) || textAt(object, ['reportingComponent']);
  const value = valueAt(object, field.split('.'));
  if (value === undefined || value === null) return ZERO[field] ?? '';
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

const ZERO: Readonly<Record<string, string>> = { 'spec.unschedulable': 'false', 'spec.hostNetwork': 'false' };
