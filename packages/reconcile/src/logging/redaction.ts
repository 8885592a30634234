// The last line of defence against secrets in logs; the first is not to log them. Three nets: names of fields that hold
// secrets, values that a user registered, and shapes that are secret wherever they appear (private keys, bearer tokens,
// passwords in addresses).

export interface Redactor {
  /** From now on this value never prints, in plain, in base64 or URL-encoded, whatever it is part of. Returns how to forget it. */
  redact(value: string): () => void;
  /** Returns the text without the secrets. */
  clean(text: string): string;
}

export const REDACTED = '[redacted]';

export function createRedactor(): Redactor {
  /** How often each form is registered. */
  const forms = new Map<string, number>();
  let pattern: RegExp | undefined;

  function count(value: string, by: number): void {
    for (const form of formsOf(value)) {
      const times = (forms.get(form) ?? 0) + by;
      if (times > 0) forms.set(form, times);
      else forms.delete(form);
    }
    pattern = undefined;
  }

  /** The longest first: a value that contains another must go as a whole. */
  function compile(): RegExp {
    const alternatives = [...forms.keys()].toSorted((a, b) => b.length - a.length).map((form) => RegExp.escape(form));
    return new RegExp(alternatives.join('|'), 'g');
  }

  return {
    redact(value) {
      count(value, 1);
      let isRegistered = true;
      return () => {
        if (isRegistered) count(value, -1);
        isRegistered = false;
      };
    },
    clean(text) {
      const shaped = cleanShapes(text);
      if (forms.size === 0) return shaped;
      pattern ??= compile();
      return shaped.replace(pattern, REDACTED);
    },
  };
}

function formsOf(value: string): Set<string> {
  // Values from files end in a line break that is not sent.
  const plain = [value, value.trim()];
  const forms = plain.flatMap((text) => [
    text,
    Buffer.from(text).toString('base64'),
    Buffer.from(text).toString('base64url'),
    encodeURIComponent(text.toWellFormed()),
  ]);
  return new Set(forms.filter((form) => form !== ''));
}

function cleanShapes(text: string): string {
  return text
    .replace(/-----BEGIN [A-Z ]*PRIVATE KEY-----[^]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, REDACTED)
    .replace(/\b(Bearer|Basic)\s+[A-Za-z0-9._~+/-]{8,}=*/gi, `$1 ${REDACTED}`)
    .replace(/\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*/g, REDACTED)
    .replace(/(\b[a-z][a-z0-9+.-]*:\/\/[^\s:/?#@]*):[^\s/?#@]+@/gi, `$1:${REDACTED}@`);
}

/**
 * Whether a field of this name holds a secret: `password`, `bearerToken`, `client-key-data`, `secretData`. A name that goes on
 * (`secretName`, `tokenFile`, `passwordRef`) shows where one is, and may print. `secret` alone counts as one.
 */
export function isSensitiveName(name: string): boolean {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
  const last = singular(words.at(-1) ?? '');
  if (SECRET_WORDS.has(last)) return true;
  const lastTwo = `${singular(words.at(-2) ?? '')} ${last}`;
  if (SECRET_PAIRS.has(lastTwo)) return true;
  return last === 'data' && words.length > 1 && isSensitiveName(words.slice(0, -1).join('-'));
}

const SECRET_WORDS = new Set([
  'token',
  'password',
  'passwd',
  'passphrase',
  'secret',
  'credential',
  'authorization',
  'cookie',
  'psk',
  'jwt',
  'apikey',
  'privatekey',
]);

const SECRET_PAIRS = new Set([
  'api key',
  'access key',
  'private key',
  'secret key',
  'client key',
  'tls key',
  'shared key',
  'encryption key',
  'string data',
]);

function singular(word: string): string {
  return word.length > 3 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word;
}
