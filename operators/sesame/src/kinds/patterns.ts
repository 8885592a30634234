// Patterns of texts in HTTPProxies, as Contour's CRDs demand them: a manifest that one accepts, the other one accepts.

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const NUMBER = String.raw`\d*(\.\d*)?`;
const QUANTITIES = `(${['h', 'm', 's', 'ms', 'us', 'µs', 'ns'].map((unit) => `(${NUMBER}${unit})`).join('|')})+`;
const CONTROL = String.raw`\x7f${Array.from({ length: 32 }, (_, code) => `\\x${code.toString(16).padStart(2, '0')}`).join('')}`;

export const HOST = String.raw`^${LABEL}(\.${LABEL})*$`;
/** A host, with a wildcard as its first label or alone. */
export const FQDN = String.raw`^(\*|(\*\.)?${LABEL}(\.${LABEL})*)$`;
export const DURATION = `^(${QUANTITIES})$`;
export const DURATION_OR_ZERO = `^(${QUANTITIES}|0)$`;
export const DURATION_OR_INFINITY = `^(${QUANTITIES}|infinity|infinite)$`;
export const DECIMAL = '^([0-9]+([.][0-9]+)?|[.][0-9]+)$';
export const ABSOLUTE_PATH = '^/.*$';
/** Names of headers and methods. */
export const TOKEN = "^[a-zA-Z0-9!#$%&'*+.^_`|~-]+$";
export const COOKIE_NAME = String.raw`^[^()<>@,;:\\"\/[\]?={} \t${CONTROL}]+$`;
export const COOKIE_PATH = `^[^;${CONTROL}]+$`;
