import type { KubeObject } from '../object.ts';
import { type KindAlias, resolveAliases, viewWith } from './aliases.ts';
import type { DefinedKind } from './define-kind.ts';

/** The same kind, read under further names too. The given kind does not change: a program that uses it reads nothing else. */
export function withAliases<T extends KubeObject, In extends KubeObject>(
  kind: DefinedKind<T, In>,
  aliases: readonly KindAlias[],
): DefinedKind<T, In> {
  const more = resolveAliases(kind, aliases);
  const isMore = (object: KubeObject) =>
    more.some((alias) => alias.kind.kind === object.kind && alias.kind.apiVersion === object.apiVersion);
  return {
    ...kind,
    aliases: [...kind.aliases, ...more],
    viewOf: (object) => kind.viewOf(isMore(object) ? viewWith(kind, more, undefined, object) : object),
  };
}
