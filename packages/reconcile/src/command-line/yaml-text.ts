// A module of its own, so that it can be loaded when it is needed: the package yaml by itself has no named exports in a bundle.
import { stringify } from 'yaml';

/** Without anchors and folded lines: they are legal, and hard to read. */
export function yamlText(value: object): string {
  return stringify(value, { aliasDuplicateObjects: false, lineWidth: 0 });
}
