import type { FieldError } from '../errors.ts';
import type { Resource } from '../resources/resource.ts';

/**
 * Which of the errors that were found are told. Most kinds tell all at once, and only then what the store has against it; a
 * Service whose address is none tells nothing else, and a budget and an event are looked at before their metadata.
 */
export function toldErrors(
  { group, plural, custom }: Resource,
  ofMetadata: readonly FieldError[],
  ofContent: readonly FieldError[],
  ofStore: readonly FieldError[],
): readonly FieldError[] {
  const isBefore = group === 'policy' || (group === '' && plural === 'events');
  if (!custom && isBefore && ofContent.length > 0) return ofContent;
  if (!custom && group === '' && plural === 'services') {
    const wrong = ofContent.filter(
      ({ field, message }) => field.startsWith('spec.clusterIPs[') && IS_ADDRESS.test(message),
    );
    if (wrong.length > 0) return wrong;
  }
  const all = [...ofMetadata, ...ofContent];
  return all.length > 0 ? all : ofStore;
}

const IS_ADDRESS = /must be a valid IP address/;
