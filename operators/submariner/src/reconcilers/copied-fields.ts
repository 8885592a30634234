// The fields of the copy of an object in another cluster.
import { type KubeObject, type ObjectRef } from '@capstan/kube';
import { type FieldValue } from '@capstan/reconcile';
import { ORIGIN_LABEL } from '../kinds/index.ts';
import { type Content, contentOf } from '../sync/content.ts';

export function copyOf(
  ref: ObjectRef,
  { labels, annotations, spec }: Content,
  origin: string | undefined,
  marks: Record<string, string> = {},
) {
  return {
    metadata: {
      ...ref,
      labels: { ...labels, ...(origin !== undefined && { [ORIGIN_LABEL]: origin }) },
      annotations: { ...annotations, ...marks },
    },
    spec,
  };
}

/** The fields of an object that make its content; labels and annotations that the other side removed go. */
export function fieldsOf(content: Content, origin: string | undefined, existing: KubeObject): FieldValue[] {
  const { labels = {}, annotations = {} } = existing.metadata;
  const before = contentOf(existing);
  const wanted = { ...content.labels, ...(origin !== undefined && { [ORIGIN_LABEL]: origin }) };
  return [
    { path: '/spec', value: content.spec },
    ...mapFields('labels', wanted, labels, before.labels),
    ...mapFields('annotations', content.annotations, annotations, before.annotations),
  ];
}

function mapFields(
  field: 'labels' | 'annotations',
  wanted: Readonly<Record<string, string>>,
  had: Readonly<Record<string, string>>,
  content: Readonly<Record<string, string>>,
): FieldValue[] {
  const at = (key: string) => `/metadata/${field}/${escapePointer(key)}`;
  const set = Object.entries(wanted).filter(([key, value]) => had[key] !== value);
  const gone = Object.keys(content).filter((key) => wanted[key] === undefined);
  return [
    ...set.map(([key, value]) => ({ path: at(key), value })),
    ...gone.map((key) => ({ path: at(key), value: undefined })),
  ];
}

export function annotationFields(annotations: Readonly<Record<string, string>>): FieldValue[] {
  return Object.entries(annotations).map(([key, value]) => ({
    path: `/metadata/annotations/${escapePointer(key)}`,
    value,
  }));
}

function escapePointer(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}
