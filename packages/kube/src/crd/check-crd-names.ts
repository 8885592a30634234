import type { CustomResourceDefinitionNames } from '../builtin/index.ts';
import { DNS_1035_MESSAGE, isDns1035Label } from '../schema/embedded-resource.ts';
import { type FieldError, invalidField } from '../schema/field-error.ts';

/** Returns the errors in the names of a definition, either requested or accepted ones. */
export function checkNames(names: Partial<CustomResourceDefinitionNames>, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const { plural = '', singular = '', kind = '', listKind = '', shortNames = [], categories = [] } = names;
  const labels = (field: string, list: readonly string[]) => {
    for (const [index, value] of list.entries()) {
      if (!isDns1035Label(value)) errors.push(invalidField(`${path}.${field}[${index}]`, value, DNS_1035_MESSAGE));
    }
  };
  for (const [field, value] of Object.entries({ plural, singular })) {
    if (value && !isDns1035Label(value)) errors.push(invalidField(`${path}.${field}`, value, DNS_1035_MESSAGE));
  }
  for (const [field, value] of Object.entries({ kind, listKind })) {
    if (!value || isDns1035Label(value.toLowerCase())) continue;
    const detail = `may have mixed case, but should otherwise match: ${DNS_1035_MESSAGE}`;
    errors.push(invalidField(`${path}.${field}`, value, detail));
  }
  labels('shortNames', shortNames);
  if (kind && kind === listKind) {
    errors.push(invalidField(`${path}.listKind`, listKind, 'kind and listKind may not be the same'));
  }
  labels('categories', categories);
  return errors;
}
