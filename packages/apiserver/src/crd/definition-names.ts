// Which names a definition gets: those that no other of its group has already. Some may be refused and others accepted.
import type { CustomResourceDefinition, CustomResourceDefinitionNames } from '@capstan/kube';

export interface Naming {
  accepted: CustomResourceDefinitionNames;
  /** Undefined when every name was accepted. */
  conflict: { reason: string; message: string } | undefined;
}

export function namingOf(crd: CustomResourceDefinition, group: readonly CustomResourceDefinition[]): Naming {
  const words = new Set<string>();
  const kinds = new Set<string>();
  for (const one of group) {
    const { plural = '', singular = '', shortNames = [], kind = '', listKind = '' } = acceptedOf(one);
    for (const word of [plural, singular, ...shortNames]) words.add(word);
    for (const name of [kind, listKind]) kinds.add(name);
  }
  const wanted = crd.spec.names;
  const present = acceptedOf(crd);
  const accepted: Partial<CustomResourceDefinitionNames> = { ...present };
  let conflict: Naming['conflict'];
  const inUse = (name: string) => `${JSON.stringify(name)} is already in use`;
  const take = (field: 'plural' | 'singular' | 'kind' | 'listKind', used: ReadonlySet<string>, reason: string) => {
    const name = wanted[field] ?? '';
    if (name !== (present[field] ?? '') && used.has(name)) conflict = { reason, message: inUse(name) };
    else accepted[field] = name;
  };
  take('plural', words, 'PluralConflict');
  take('singular', words, 'SingularConflict');
  const own = new Set(present.shortNames);
  const taken = (wanted.shortNames ?? []).filter((one) => !own.has(one) && words.has(one));
  if (taken.length === 0) accepted.shortNames = wanted.shortNames ?? [];
  else {
    const all = taken.map(inUse);
    conflict = { reason: 'ShortNamesConflict', message: all.length === 1 ? (all[0] ?? '') : `[${all.join(', ')}]` };
  }
  take('kind', kinds, 'KindConflict');
  take('listKind', kinds, 'ListKindConflict');
  accepted.categories = wanted.categories ?? [];
  return { accepted: written(accepted), conflict };
}

export const acceptedOf = ({ status }: CustomResourceDefinition): Partial<CustomResourceDefinitionNames> =>
  status?.acceptedNames ?? {};

/** The names as Go writes them: without empty values, except for required ones. */
export function written(names: Partial<CustomResourceDefinitionNames>): CustomResourceDefinitionNames {
  const { plural = '', kind = '', singular, listKind, shortNames = [], categories = [] } = names;
  return {
    plural,
    ...(singular && { singular }),
    ...(shortNames.length > 0 && { shortNames }),
    kind,
    ...(listKind && { listKind }),
    ...(categories.length > 0 && { categories }),
  };
}
