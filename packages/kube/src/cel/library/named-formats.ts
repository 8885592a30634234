// format.dns1123Label().validate(text): the formats that Kubernetes names, and its messages for texts that do not match.
import { formatCheck } from '../../schema/validation/formats.ts';
import { func, method, type Overload } from '../typing/overload.ts';
import { list, type NamedFormat, NONE, some } from '../values.ts';

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const FORMAT = 'kubernetes.NamedFormat';

interface Shape {
  readonly pattern: string;
  readonly max: number;
  readonly message: string;
  readonly examples: readonly string[];
}

function shape({ pattern, max, message, examples }: Shape, isPrefix = false): (text: string) => string[] {
  const regExp = new RegExp(`^(?:${pattern})$`);
  const shown = examples.map((example) => `'${example}', `).join(' or ');
  return (text) => {
    // A prefix may end in a dash, because more characters follow it.
    const checked = isPrefix && text.length > 1 && text.endsWith('-') ? `${text.slice(0, -2)}a` : text;
    const problems: string[] = [];
    if (checked.length > max) problems.push(`must be no more than ${max} characters`);
    if (!regExp.test(checked)) {
      problems.push(`${message} (e.g. ${shown}regex used for validation is '${pattern}')`);
    }
    return problems;
  };
}

const label: Shape = {
  pattern: LABEL,
  max: 63,
  message:
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  examples: ['my-name', '123-abc'],
};
const subdomain: Shape = {
  pattern: `${LABEL}(\\.${LABEL})*`,
  max: 253,
  message:
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  examples: ['example.com'],
};
const label1035: Shape = {
  pattern: '[a-z]([-a-z0-9]*[a-z0-9])?',
  max: 63,
  message:
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  examples: ['my-name', 'abc-123'],
};
const namePart: Shape = {
  pattern: '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]',
  max: 63,
  message:
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  examples: ['MyName', 'my.name', '123-abc'],
};
const labelValue: Shape = {
  pattern: '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?',
  max: 63,
  message:
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  examples: ['MyValue', 'my_value', '12345'],
};

function qualifiedName(text: string): string[] {
  const parts = text.split('/');
  if (parts.length > 2) {
    return [
      `a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '${namePart.pattern}') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const name = parts.at(-1) ?? '';
  const problems: string[] = [];
  if (parts.length === 2) {
    const [prefix = ''] = parts;
    if (prefix === '') problems.push('prefix part must be non-empty');
    else problems.push(...shape(subdomain)(prefix).map((problem) => `prefix part ${problem}`));
  }
  if (name === '') problems.push('name part must be non-empty');
  else if (name.length > 63) problems.push('name part must be no more than 63 characters');
  problems.push(...shape({ ...namePart, max: Infinity })(name));
  return problems;
}

const openApi = (format: string, problem: string): ((text: string) => string[]) => {
  const isValid = formatCheck(format) as (text: string) => boolean;
  return (text) => (isValid(text) ? [] : [problem]);
};

const FORMATS: Readonly<Record<string, NamedFormat>> = {
  dns1123Label: named('DNS1123Label', 30, shape(label)),
  dns1123Subdomain: named('DNS1123Subdomain', 60, shape(subdomain)),
  dns1035Label: named('DNS1035Label', 30, shape(label1035)),
  qualifiedName: named('QualifiedName', 60, qualifiedName),
  dns1123LabelPrefix: named('DNS1123LabelPrefix', 30, shape(label, true)),
  dns1123SubdomainPrefix: named('DNS1123SubdomainPrefix', 60, shape(subdomain, true)),
  dns1035LabelPrefix: named('DNS1035LabelPrefix', 30, shape(label1035, true)),
  labelValue: named('LabelValue', 40, shape(labelValue)),
  uri: named('URI', 1200, (text) => {
    return formatCheck('uri')?.(text) ? [] : [`parse ${JSON.stringify(text)}: invalid URI for request`];
  }),
  uuid: named('uuid', 90, openApi('uuid', 'does not match the UUID format')),
  byte: named('byte', 84, openApi('byte', 'invalid base64')),
  date: named('date', 110, openApi('date', 'invalid date')),
  datetime: named('datetime', 110, openApi('datetime', 'invalid datetime')),
};

function named(name: string, regexSize: number, check: (text: string) => string[]): NamedFormat {
  return { kind: 'format', name, regexSize, check };
}

export const namedFormats: readonly Overload[] = [
  ...Object.entries(FORMATS).map(([name, format]) =>
    func(`format.${name}`, `() -> ${FORMAT}`, `format.${name}`, () => format),
  ),
  func('format.named', `(string) -> optional(${FORMAT})`, 'format-named', (name: string) => {
    const format = Object.hasOwn(FORMATS, name) ? FORMATS[name] : undefined;
    return format ? some(format) : NONE;
  }),
  method(
    'validate',
    `(${FORMAT}, string) -> optional(list(string))`,
    'format-validate',
    (format: NamedFormat, text: string) => {
      const problems = format.check(text);
      return problems.length === 0 ? NONE : some(list(problems));
    },
  ),
];
