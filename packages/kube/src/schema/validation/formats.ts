// The string formats that kube-apiserver checks. Other formats are documentation. Names are compared without dashes, so `date-time` and
// `datetime` are equal. Each format accepts the same texts as Go's parsers, including their leniencies.

/** The check behind a format, or undefined when the server ignores the format. */
export function formatCheck(format: string): ((text: string) => boolean) | undefined {
  const name = format.replaceAll('-', '');
  return Object.hasOwn(CHECKS, name) ? CHECKS[name] : undefined;
}

const COLOR_PART = '\\s*(0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])\\s*';

const CHECKS: Readonly<Record<string, (text: string) => boolean>> = {
  bsonobjectid: matches(/^[0-9a-f]{24}$/i),
  uri: isRequestUri,
  email: isEmail,
  hostname: isHostname,
  ipv4: isIpv4,
  ipv6: isIpv6,
  cidr: isCidr,
  mac: isMac,
  uuid: matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i),
  uuid3: matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i),
  uuid4: matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i),
  uuid5: matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i),
  isbn: (text) => isIsbn10(text) || isIsbn13(text),
  isbn10: isIsbn10,
  isbn13: isIsbn13,
  creditcard: isCreditCard,
  ssn: (text) => text.length === 11 && /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(text),
  hexcolor: matches(/^#?([0-9a-f]{3}|[0-9a-f]{6})$/i),
  rgbcolor: matches(new RegExp(`^rgb\\(${COLOR_PART},${COLOR_PART},${COLOR_PART}\\)$`)),
  byte: matches(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/),
  password: () => true,
  date: isDate,
  duration: isDuration,
  datetime: isDateTime,
  k8sshortname: (text) => text.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(text),
  k8slongname: (text) =>
    text.length <= 253 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(text),
};

function matches(pattern: RegExp): (text: string) => boolean {
  return (text) => pattern.test(text);
}

// An absolute URI or an absolute path, as in the first line of an HTTP request.
function isRequestUri(text: string): boolean {
  if (text === '' || /[^ -~\u0080-\uffff]/.test(text) || /%(?![0-9a-fA-F]{2})/.test(text.split('?')[0] ?? ''))
    return false;
  if (text.startsWith('/') || text === '*') return true;
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*:/.exec(text)?.[0];
  if (scheme === undefined) return false;
  const rest = text.slice(scheme.length);
  if (!rest.startsWith('//')) return rest !== '' || scheme.length > 1;
  const authority = /^\/\/([^/?#]*)/.exec(rest)?.[1] ?? '';
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  return host.startsWith('[') ? /^\[[0-9a-fA-F:.%\w]+\](:\d*)?$/.test(host) : /^[^\s:[\]<>"]*(:\d*)?$/.test(host);
}

function isEmail(text: string): boolean {
  const address = /<([^<>]+)>\s*$/.exec(text)?.[1] ?? text.trim();
  return /^("[^"]+"|[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+(\.[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+)*)@(\[[^\]]+\]|[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+(\.[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+)*)$/u.test(
    address,
  );
}

const LETTER = '[a-zA-Z0-9\\p{S}\\p{L}]';
const HOSTNAME = new RegExp(
  `^(${LETTER}(-?${LETTER}{0,62})?|(${LETTER}([a-zA-Z0-9\\-\\p{S}\\p{L}]{0,61}${LETTER})?\\.)+[a-zA-Z\\p{L}]{2,63})$`,
  'u',
);

function isHostname(text: string): boolean {
  return text.length <= 255 && HOSTNAME.test(text) && text.split('.').every((label) => label.length <= 63);
}

// Leading zeros are tolerated, as Kubernetes does for old objects. An IPv4 address inside an IPv6 one counts as both.
function isIpv4(text: string): boolean {
  return text.includes('.') && (isDottedQuad(text) || parsesAsIpv6(text));
}

function isIpv6(text: string): boolean {
  return text.includes(':') && parsesAsIpv6(text);
}

function isDottedQuad(text: string): boolean {
  const parts = text.split('.');
  return parts.length === 4 && parts.every((part) => /^\d+$/.test(part) && Number(part) <= 255);
}

function parsesAsIpv6(text: string): boolean {
  if (!/^[0-9a-fA-F:.]+$/.test(text) || !text.includes(':')) return false;
  const halves = text.split('::');
  if (halves.length > 2) return false;
  let groups = 0;
  for (const [index, half] of halves.entries()) {
    if (half === '') continue;
    const parts = half.split(':');
    for (const [at, part] of parts.entries()) {
      const isLast = index === halves.length - 1 && at === parts.length - 1;
      if (isLast && part.includes('.')) {
        if (!isDottedQuad(part)) return false;
        groups += 2;
      } else {
        if (!/^[0-9a-fA-F]{1,4}$/.test(part)) return false;
        groups += 1;
      }
    }
  }
  return halves.length === 2 ? groups < 8 : groups === 8;
}

function isCidr(text: string): boolean {
  const [address = '', length = '', ...more] = text.split('/');
  if (more.length > 0 || !/^\d{1,3}$/.test(length)) return false;
  if (isDottedQuad(address)) return Number(length) <= 32;
  return parsesAsIpv6(address) && Number(length) <= 128;
}

function isMac(text: string): boolean {
  const bytes = /^([0-9a-f]{2})([:-])([0-9a-f]{2}\2)*[0-9a-f]{2}$/i.test(text) ? (text.length + 1) / 3 : 0;
  const words = /^([0-9a-f]{4}\.)+[0-9a-f]{4}$/i.test(text) ? ((text.length + 1) / 5) * 2 : 0;
  return [6, 8, 20].includes(bytes) || [6, 8, 20].includes(words);
}

function isIsbn10(text: string): boolean {
  const digits = text.replace(/[\s-]+/g, '');
  if (!/^(?:\d{9}X|\d{10})$/.test(digits)) return false;
  const sum = Array.from(digits).reduce(
    (total, digit, at) => total + (at + 1) * (digit === 'X' ? 10 : Number(digit)),
    0,
  );
  return sum % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const digits = text.replace(/[\s-]+/g, '');
  if (!/^\d{13}$/.test(digits)) return false;
  const sum = Array.from(digits).reduce((total, digit, at) => total + (at % 2 === 0 ? 1 : 3) * Number(digit), 0);
  return sum % 10 === 0;
}

function isCreditCard(text: string): boolean {
  const digits = text.replace(/[^0-9]+/g, '');
  const known =
    /^(?:4\d{12}(?:\d{3})?|5[1-5]\d{14}|6(?:011|5\d\d)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|(?:2131|1800|35\d{3})\d{11})$/;
  if (!known.test(digits)) return false;
  const sum = Array.from(digits)
    .toReversed()
    .reduce((total, digit, at) => {
      const doubled = at % 2 === 1 ? Number(digit) * 2 : Number(digit);
      return total + (doubled > 9 ? doubled - 9 : doubled);
    }, 0);
  return sum % 10 === 0;
}

function isDate(text: string): boolean {
  const parts = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  if (!parts) return false;
  const [year, month, day] = [Number(parts[1]), Number(parts[2]), Number(parts[3])];
  if (month < 1 || month > 12 || day < 1) return false;
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
  return day <= (days[month - 1] ?? 0);
}

function isDateTime(text: string): boolean {
  const [date = '', time] = text.toLowerCase().split('t');
  if (time === undefined || !isDate(date)) return false;
  const parts = /^(\d{2}):(\d{2}):(\d{2})(.\d+)?(z|([+-]\d{2}:\d{2}))$/.exec(time);
  return parts !== null && Number(parts[1]) <= 23 && Number(parts[2]) <= 59 && Number(parts[3]) <= 59;
}

// Go's durations, or any text in which a number stands before a unit of time.
function isDuration(text: string): boolean {
  if (/^[+-]?(0|((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)$/.test(text)) return true;
  return [...text.matchAll(/\d+\s*([A-Za-zµ]+)/g)].some(([, unit = '']) =>
    /^(ns|nano.*|us|µs|micro.*|ms|milli.*|s|sec.*|m|min.*|h|hr|hour.*|d|day.*|w|wk|week.*)$/i.test(unit),
  );
}
