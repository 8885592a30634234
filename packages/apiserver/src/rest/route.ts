import { decodePath } from '../decode-path.ts';

/** The parts of a path under /api or /apis. */
export interface ResourcePath {
  group: string;
  version: string;
  namespace: string | undefined;
  plural: string;
  name: string | undefined;
  subresource: string | undefined;
}

/**
 * Reads a resource path, or answers undefined for any other. `namespaces/x` is the namespace itself, and so are its
 * subresources `status` and `finalize`; any other third segment is a resource inside.
 */
export function parseResourcePath(path: string): ResourcePath | undefined {
  const parts = decodePath(path)
    .split('/')
    .filter((part) => part !== '');
  let rest: string[];
  let group: string;
  let version: string;
  if (parts[0] === 'api' && parts.length >= 3) {
    [group, version, rest] = ['', parts[1] ?? '', parts.slice(2)];
  } else if (parts[0] === 'apis' && parts.length >= 4) {
    [group, version, rest] = [parts[1] ?? '', parts[2] ?? '', parts.slice(3)];
  } else return undefined;

  let namespace: string | undefined;
  if (rest[0] === 'namespaces' && rest.length >= 3 && !NAMESPACE_SUBRESOURCES.has(rest[2] ?? '')) {
    namespace = rest[1];
    rest = rest.slice(2);
  }
  if (rest.length > 3) return undefined;
  const [plural, name, subresource] = rest;
  return { group, version, namespace, plural: plural ?? '', name, subresource };
}

const NAMESPACE_SUBRESOURCES = new Set(['status', 'finalize']);
