import { stringify } from 'yaml';

/** Without anchors and folded lines: they are legal, and hard to read. */
export function yamlText(value: object): string {
  return stringify(value, { aliasDuplicateObjects: false, lineWidth: 0 });
}
