// A request to test, as the user types it: `GET http://store.test/basket`, and headers as `name: value` lines.

export interface TestedRequest {
  readonly host: string;
  readonly path: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Returns the problem as a sentence for text that is no request. */
export function parseRequest(method: string, url: string, headers: string): TestedRequest | string {
  const text = url.trim();
  if (text === '') return 'Type a URL, such as http://store.test/basket.';
  const parsed = URL.parse(/^[a-z]+:\/\//i.test(text) ? text : `http://${text}`);
  if (parsed === null || parsed.hostname === '') return `${text} is not a URL.`;
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') return 'Only http and https can be tested.';
  const named: Record<string, string> = {};
  for (const line of headers.split('\n')) {
    if (line.trim() === '') continue;
    const colon = line.indexOf(':');
    if (colon <= 0) return `The header ${JSON.stringify(line.trim())} needs a colon after its name.`;
    named[line.slice(0, colon).trim().toLowerCase()] = line.slice(colon + 1).trim();
  }
  return { host: parsed.host, path: `${parsed.pathname}${parsed.search}`, method, headers: named };
}

/** The test in the address: `GET http://store.test/basket`. */
export function splitTest(test: string): readonly [method: string, url: string] {
  const [, method, url] = /^([A-Z]+)\s+(\S*)$/.exec(test.trim()) ?? [];
  return [method ?? 'GET', url ?? test.trim()];
}

/** The command with the same answer. */
export function explainCommandOf({ host, path, method, headers }: TestedRequest): string {
  const parts = Object.entries(headers).map(([name, value]) => `--header ${quote(`${name}: ${value}`)}`);
  return ['sesame explain', quote(`${host}${path}`), `--method ${method}`, ...parts].join(' ');
}

/** The command that sends the request. */
export function curlOf(method: string, url: string, { headers }: TestedRequest): string {
  const parts = Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`);
  return ['curl', ...(method === 'GET' ? [] : ['-X', method]), ...parts, quote(url)].join(' ');
}

/** A quote in an argument is closed, escaped and opened again. */
function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
