import { parseAllDocuments } from 'yaml';

export function parseYamlDocuments(text: string): { kind: string; metadata: { name: string } }[] {
  return parseAllDocuments(text).map((document) => document.toJS() as { kind: string; metadata: { name: string } });
}
