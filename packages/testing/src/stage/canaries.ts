/** Shorter values appear by chance: `east`, `admin`, `true`. */
const SHORTEST = 8;
/** Keys whose values are public: certificates, and names of people and places. */
const PUBLIC_KEYS =
  /^(?:id|.*\.crt|.*\.cer|.*\.pub|ca|cert|username|user|auth-url|.*-url|server|project.*|region.*|domain.*|namespace)$/i;
const PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----\s+([\s\S]*?)-----END/g;
/** The fields of a kubeconfig, a clouds.yaml or an .ini file that hold a secret. */
const SECRET_FIELD = /(?:token|password|secret|client-key-data|auth)["']?\s*[:=]\s*["']?([^\s"',}]+)/gi;

/** Returns the parts of a Secret's value that must stay secret, also in base64 where they are a whole value. */
export function canariesOf(key: string, value: string): readonly string[] {
  if (PUBLIC_KEYS.test(key)) return [];
  const isText = value.includes('\n') || /^\s*[{[]/.test(value);
  const keys = [...value.matchAll(PRIVATE_KEY)].flatMap(([, lines = '']) => lines.trim().split(/\s+/));
  const fields = [...value.matchAll(SECRET_FIELD)].map(([, found = '']) => found);
  const whole = isText ? [] : [value, Buffer.from(value).toString('base64').replace(/=+$/, '')];
  return [...new Set([...keys, ...fields, ...whole])].filter((part) => part.length >= SHORTEST && !/�/.test(part));
}
