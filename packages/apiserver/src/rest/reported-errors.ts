import type { FieldError } from '../errors.ts';
import type { Resource } from '../resources/resource.ts';

/**
 * Selects the errors to report. Most kinds report all at once, and only then those of the store. A Service first gets its requested values,
 * and a new budget or event is checked before its metadata.
 */
export function reportedErrors(
  { group, plural, custom }: Resource,
  ofMetadata: readonly FieldError[],
  ofContent: readonly FieldError[],
  ofStore: readonly FieldError[],
  isNew: boolean,
): readonly FieldError[] {
  const isBefore = isNew && (group === 'policy' || (group === '' && plural === 'events'));
  if (!custom && isBefore && ofContent.length > 0) return ofContent;
  if (!custom && group === '' && plural === 'services' && ofStore.length > 0) return ofStore;
  const inOrder = custom ? undefined : ORDERS[group];
  const all = inOrder?.(ofMetadata, ofContent) ?? [...ofMetadata, ...ofContent];
  return all.length > 0 ? all : ofStore;
}

/** The errors of metadata and those of the content, where they are not reported one after the other. By group. */
const ORDERS: Readonly<
  Record<string, (ofMetadata: readonly FieldError[], ofContent: readonly FieldError[]) => FieldError[]>
> = {
  // A definition's name is checked against its content, with all other errors of names.
  'apiextensions.k8s.io': (ofMetadata, ofContent) => {
    const rank = ({ field }: FieldError) => ['metadata.generateName', 'metadata.name'].indexOf(field) + 1 || 3;
    return [...ofMetadata, ...ofContent].toSorted((a, b) => rank(a) - rank(b));
  },
  // Errors of all events are reported first; those of the newer version alone are not.
  'events.k8s.io': (ofMetadata, ofContent) => {
    const isNewer = ({ field, message }: FieldError) =>
      !OF_EVERY_EVENT.has(field) || message.endsWith('field is immutable');
    const place = ofContent.findIndex(isNewer);
    return ofContent.toSpliced(place < 0 ? ofContent.length : place, 0, ...ofMetadata);
  },
};

const OF_EVERY_EVENT: ReadonlySet<string> = new Set([
  'involvedObject.namespace',
  'reportingController',
  'reportingInstance',
  'action',
  'reason',
  'message',
  'namespace',
]);
