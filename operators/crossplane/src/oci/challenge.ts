// WWW-Authenticate, as registries use it (RFC 9110, section 11): schemes with parameters, several in one header.

export interface Challenge {
  /** In lower case. */
  readonly scheme: string;
  /** Names in lower case. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** The challenges of a header or of several. */
export function parseChallenges(header: string | readonly string[] | undefined): Challenge[] {
  const text = typeof header === 'string' ? header : (header?.join(', ') ?? '');
  const challenges: { scheme: string; parameters: Record<string, string> }[] = [];
  for (const match of text.slice(0, 8192).matchAll(PIECE)) {
    const { name, quoted, plain, scheme } = match.groups ?? {};
    if (scheme !== undefined) challenges.push({ scheme: scheme.toLowerCase(), parameters: {} });
    const last = challenges.at(-1);
    if (name !== undefined && last !== undefined)
      last.parameters[name.toLowerCase()] = quoted?.replace(/\\(.)/g, '$1') ?? plain ?? '';
  }
  return challenges;
}

// A parameter, or else a word that opens a challenge.
const PIECE =
  /(?<name>[A-Za-z0-9_-]+)\s*=\s*(?:"(?<quoted>(?:[^"\\]|\\.)*)"|(?<plain>[^\s,"]+))|(?<scheme>[A-Za-z0-9_-]+)(?=\s|,|$)/g;
