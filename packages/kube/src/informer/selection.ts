import type { KubeObject } from '../object.ts';
import { type CompiledFieldSelector, parseFieldSelector } from '../selectors/field-selector.ts';
import { type CompiledLabelSelector, parseLabelSelector } from '../selectors/label-selector.ts';

/** Which objects of a kind an informer copies. */
export interface Selection {
  /** Default: all namespaces. */
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  /** Only the metadata of each object is asked for and kept. Default false. */
  metadataOnly?: boolean;
}

/** Whether an object belongs to a selection; undefined where only the server can decide (fields beyond name and namespace). */
export function selectionOf(selection: Selection): (object: KubeObject) => boolean | undefined {
  const { namespace, labelSelector, fieldSelector } = selection;
  let labels: CompiledLabelSelector;
  let fields: CompiledFieldSelector;
  try {
    labels = parseLabelSelector(labelSelector ?? '');
    fields = parseFieldSelector(fieldSelector ?? '');
  } catch {
    // The server will refuse it, or knows more than we do.
    return () => undefined;
  }
  const isKnown = fields.terms.every(({ field }) => KNOWN_FIELDS.has(field));
  return ({ metadata }) => {
    if (namespace && metadata.namespace !== namespace) return false;
    if (!labels.matches(metadata.labels)) return false;
    if (!isKnown) return undefined;
    return fields.matches((field) => (field === 'metadata.name' ? metadata.name : metadata.namespace));
  };
}

const KNOWN_FIELDS: ReadonlySet<string> = new Set(['metadata.name', 'metadata.namespace']);
