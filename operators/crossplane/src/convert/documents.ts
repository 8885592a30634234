// A file of manifests as documents with their places in the text, so that documents that are not converted stay the same byte for byte.
import { isJsonObject, type JsonObject, reasonOf } from '@capstan/kube';
import { type Document, isMap, isSeq, LineCounter, parseAllDocuments, type Tags, type YAMLMap } from 'yaml';
import { ConvertErrors } from './errors.ts';
import { type Manifest, nameOf, roleOf } from './manifest.ts';

export interface ParsedFile {
  readonly documents: readonly ParsedDocument[];
}

export interface ParsedDocument {
  readonly document: Document.Parsed;
  /** The manifests in it: one, or those of a List. */
  readonly objects: readonly ParsedObject[];
  /** Where it is in the text. */
  readonly start: number;
  readonly end: number;
}

export interface ParsedObject extends Manifest {
  readonly node: YAMLMap.Parsed;
}

/** Reads YAML as kubectl does: `yes` and 0644 have their meaning of version 1.1, and times stay texts. */
export const YAML_OPTIONS = { version: '1.1', customTags: withoutTimes, prettyErrors: false } as const;

/** The documents of a text; throws NotYaml. */
export function parseDocuments(text: string, file: string): ParsedDocument[] {
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, { ...YAML_OPTIONS, lineCounter: lines });
  if (!Array.isArray(documents)) return [];
  return documents.map((document): ParsedDocument => {
    const place = (offset: number) => `${file}:${lines.linePos(offset).line}`;
    const [error] = document.errors;
    if (error !== undefined) throw ConvertErrors.NotYaml(place(error.pos[0]), reasonOf(error));
    const [start, , end] = document.range;
    return { document, start, end, objects: objectsIn(document.contents, document, place) };
  });
}

function objectsIn(node: unknown, document: Document, place: (offset: number) => string): ParsedObject[] {
  if (!isMap(node)) return [];
  const map = node as YAMLMap.Parsed;
  let value: unknown;
  try {
    value = map.toJS(document);
  } catch (error) {
    throw ConvertErrors.NotYaml(place(map.range[0]), reasonOf(error));
  }
  if (!isJsonObject(value)) return [];
  const { kind } = value;
  const items = map.get('items', true);
  if (typeof kind === 'string' && kind.endsWith('List') && isSeq(items)) {
    return items.items.flatMap((item) => objectsIn(item, document, place));
  }
  const [field, wanted = ''] = problemOf(value);
  if (field !== undefined) throw ConvertErrors.BadField(place(map.range[0]), String(kind), field, wanted);
  return [{ value, place: place(map.range[0]), node: map }];
}

/** A field that a conversion reads and would lose, because it has the wrong type. */
function problemOf(value: JsonObject): [field?: string, wanted?: string] {
  const role = roleOf(value);
  if (role === undefined) return [];
  const { metadata, spec } = value;
  for (const [field, part] of Object.entries({ metadata, spec }))
    if (part !== undefined && part !== null && !isJsonObject(part)) return [field, 'an object'];
  if (role === 'controllerConfig' && nameOf(value) === '') return ['metadata.name', 'a text'];
  const reference = isJsonObject(spec) ? spec['controllerConfigRef'] : undefined;
  const isReference = isJsonObject(reference) && typeof reference['name'] === 'string';
  if (role !== 'controllerConfig' && reference !== undefined && reference !== null && !isReference)
    return ['spec.controllerConfigRef', 'an object with a name'];
  return [];
}

/** Dates and sexagesimal numbers of YAML 1.1: users do not intend them, and no other Kubernetes tool reads them. */
function withoutTimes(tags: Tags): Tags {
  return tags.filter(
    (tag) =>
      typeof tag === 'string' || (!('format' in tag && tag.format === 'TIME') && !tag.tag.endsWith(':timestamp')),
  );
}
