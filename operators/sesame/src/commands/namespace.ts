import { DEFAULT_NAMESPACE } from '../kinds/group.ts';

/** Where Sesame runs: the flag, the environment, else the default namespace. */
export function sesameNamespace(
  given: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
  podNamespace?: string,
): string {
  const candidates = [given, env['SESAME_NAMESPACE'], env['CONTOUR_NAMESPACE'], podNamespace];
  return candidates.find((candidate) => candidate !== undefined && candidate !== '') ?? DEFAULT_NAMESPACE;
}
