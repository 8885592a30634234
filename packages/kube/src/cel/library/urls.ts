import { goQuote } from '../../schema/go-text.ts';
import { formatCheck } from '../../schema/validation/formats.ts';
import { CelError } from '../errors.ts';
import { func, method, type Overload } from '../typing/overload.ts';
import { list, mapValue, type Url } from '../values.ts';

const URL_TYPE = 'kubernetes.URL';
const isUrl = formatCheck('uri') as (text: string) => boolean;

/** Parses an absolute URL or an absolute path as Go does. Nothing is decoded, completed or normalised. */
function parseUrl(text: string): Url {
  if (!isUrl(text)) {
    const reason = text === '' ? 'empty url' : 'invalid URI for request';
    throw new CelError(`URL parse error during conversion from string: parse ${goQuote(text)}: ${reason}`);
  }
  const [, scheme = '', authority = '', path = '', query = ''] =
    /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#.*)?$/.exec(text) ?? [];
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  const [, bracketed, plain, port = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d*))?$/.exec(host) ?? [];
  const hostname = bracketed ?? plain ?? '';
  return { kind: 'url', text, scheme: scheme.toLowerCase(), host, hostname, port, path: escapedPath(path), query };
}

// Escapes the characters that Go accepts but that a path may not contain.
function escapedPath(path: string): string {
  return path.replace(/[^A-Za-z0-9\-_.~!$&'()*+,/:;=@%[\]]/gu, (char) => encodeURIComponent(char));
}

function queryOf(query: string): Map<string, string[]> {
  const values = new Map<string, string[]>();
  for (const part of query.split('&')) {
    // Go omits parameters that it cannot decode.
    if (part === '' || part.includes(';')) continue;
    const at = part.indexOf('=');
    try {
      const decode = (text: string): string => decodeURIComponent(text.replaceAll('+', ' '));
      const key = decode(at < 0 ? part : part.slice(0, at));
      const value = decode(at < 0 ? '' : part.slice(at + 1));
      values.set(key, [...(values.get(key) ?? []), value]);
    } catch {
      // Omit a parameter that cannot be decoded.
    }
  }
  return values;
}

export const urls: readonly Overload[] = [
  func('url', `(string) -> ${URL_TYPE}`, 'string_to_url', parseUrl),
  func('isURL', '(string) -> bool', 'is_url_string', (text: string) => isUrl(text)),
  method('getScheme', `(${URL_TYPE}) -> string`, 'url_get_scheme', (url: Url) => url.scheme),
  method('getHost', `(${URL_TYPE}) -> string`, 'url_get_host', (url: Url) => url.host),
  method('getHostname', `(${URL_TYPE}) -> string`, 'url_get_hostname', (url: Url) => url.hostname),
  method('getPort', `(${URL_TYPE}) -> string`, 'url_get_port', (url: Url) => url.port),
  method('getEscapedPath', `(${URL_TYPE}) -> string`, 'url_get_escaped_path', (url: Url) => url.path),
  method('getQuery', `(${URL_TYPE}) -> map(string, list(string))`, 'url_get_query', (url: Url) =>
    mapValue([...queryOf(url.query)].map(([key, values]) => [key, list(values)] as const)),
  ),
];
