// Reads the parts of .proto files that a codec needs: messages, fields, oneofs, enums, and the options of fields.

export interface ProtoFile {
  readonly package: string;
  readonly imports: readonly string[];
  readonly messages: ReadonlyMap<string, ProtoMessage>;
  readonly enums: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

export interface ProtoMessage {
  readonly fields: ProtoField[];
  readonly oneofs: Map<string, Options>;
}

export interface ProtoField {
  readonly name: string;
  readonly number: number;
  /** As it is written: a scalar, or the name of a message or enum relative to its place. */
  readonly type: string;
  readonly label: 'one' | 'list' | 'map';
  /** Of a map. */
  readonly keyType?: string;
  readonly oneof?: string;
  readonly options: Options;
}

export type Options = Record<string, OptionValue>;
export type OptionValue = string | number | boolean | OptionValue[] | { [name: string]: OptionValue };

/** Names in the result are full: `envoy.config.route.v3.RouteMatch.PathMatchPolicy`. */
export function parseProto(text: string): ProtoFile {
  const tokens = tokenize(text);
  let at = 0;
  const imports: string[] = [];
  const messages = new Map<string, ProtoMessage>();
  const enums = new Map<string, Map<string, number>>();
  let packageName = '';

  const peek = () => tokens[at] ?? '';
  const next = () => tokens[at++] ?? '';
  const expect = (token: string) => {
    const found = next();
    if (found !== token)
      throw new Error(
        `${packageName}: expected ${token}, found ${found} near ${tokens.slice(at - 6, at + 3).join(' ')}`,
      );
  };
  const skipStatement = () => {
    for (let depth = 0; at < tokens.length; ) {
      const token = next();
      if (token === '{') depth += 1;
      if (token === '}' && --depth === 0) return;
      if (token === ';' && depth === 0) return;
    }
  };

  const optionName = (): string => {
    let name = '';
    while (peek() !== '=' && peek() !== ':' && peek() !== '{') name += next();
    return name;
  };
  const optionValue = (): OptionValue => {
    if (peek() === '{') return aggregate();
    if (peek() === '[') {
      next();
      const values: OptionValue[] = [];
      while (peek() !== ']') {
        values.push(optionValue());
        if (peek() === ',') next();
      }
      next();
      return values;
    }
    let token = next();
    if (token === '-') token += next();
    if (token.startsWith('"')) {
      let value = unquote(token);
      while (peek().startsWith('"')) value += unquote(next());
      return value;
    }
    if (token === 'true' || token === 'false') return token === 'true';
    return /^[-+.\d]/.test(token) ? Number(token) : token;
  };
  const aggregate = (): { [name: string]: OptionValue } => {
    expect('{');
    const values: { [name: string]: OptionValue } = {};
    while (peek() !== '}') {
      const name = optionName();
      if (peek() === ':') next();
      const value = optionValue();
      const before = values[name];
      values[name] = before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value].flat();
      if (peek() === ',' || peek() === ';') next();
    }
    next();
    return values;
  };
  const set = (options: Options, name: string, value: OptionValue) => {
    // `(validate.rules).string.min_len` is the same as an aggregate of that depth.
    const [head, ...path] = name.startsWith('(')
      ? [
          name.slice(0, name.indexOf(')') + 1),
          ...name
            .slice(name.indexOf(')') + 1)
            .split('.')
            .filter(Boolean),
        ]
      : [name];
    let target: { [name: string]: OptionValue } = options;
    for (const [index, part] of [head, ...path].entries()) {
      if (index === path.length) {
        const before = target[part];
        const isBoth = typeof before === 'object' && !Array.isArray(before) && typeof value === 'object';
        target[part] = isBoth && !Array.isArray(value) ? { ...before, ...value } : value;
      } else target = (target[part] ??= {}) as { [name: string]: OptionValue };
    }
  };
  const fieldOptions = (): Options => {
    const options: Options = {};
    if (peek() !== '[') return options;
    next();
    while (peek() !== ']') {
      const name = optionName();
      expect('=');
      set(options, name, optionValue());
      if (peek() === ',') next();
    }
    next();
    return options;
  };
  const optionStatement = (options: Options) => {
    expect('option');
    const name = optionName();
    expect('=');
    set(options, name, optionValue());
    expect(';');
  };

  const field = (oneof?: string): ProtoField => {
    let label: ProtoField['label'] = 'one';
    let keyType: string | undefined;
    if (peek() === 'repeated') {
      label = 'list';
      next();
    } else if (peek() === 'optional' || peek() === 'required') next();
    let type = next();
    if (type === 'map' && peek() === '<') {
      next();
      keyType = next();
      expect(',');
      type = next();
      expect('>');
      label = 'map';
    }
    const name = next();
    expect('=');
    const number = Number(next());
    const options = fieldOptions();
    expect(';');
    return { name, number, type, label, options, ...(keyType && { keyType }), ...(oneof && { oneof }) };
  };

  const message = (prefix: string) => {
    expect('message');
    const name = `${prefix}.${next()}`;
    const fields: ProtoField[] = [];
    const oneofs = new Map<string, Options>();
    messages.set(name, { fields, oneofs });
    expect('{');
    while (peek() !== '}') {
      const token = peek();
      if (token === 'message') message(name);
      else if (token === 'enum') enumeration(name);
      else if (token === 'oneof') {
        next();
        const group = next();
        const options: Options = {};
        oneofs.set(group, options);
        expect('{');
        while (peek() !== '}') {
          if (peek() === 'option') optionStatement(options);
          else fields.push(field(group));
        }
        next();
      } else if (token === ';') next();
      else if (['option', 'reserved', 'extensions', 'extend'].includes(token)) skipStatement();
      else fields.push(field());
    }
    next();
  };
  const enumeration = (prefix: string) => {
    expect('enum');
    const values = new Map<string, number>();
    enums.set(`${prefix}.${next()}`, values);
    expect('{');
    while (peek() !== '}') {
      if (peek() === 'option' || peek() === 'reserved') {
        skipStatement();
        continue;
      }
      const name = next();
      expect('=');
      const sign = peek() === '-' ? next() : '';
      values.set(name, Number(sign + next()));
      fieldOptions();
      expect(';');
    }
    next();
  };

  while (at < tokens.length) {
    const token = peek();
    if (token === 'package') {
      next();
      packageName = next();
      expect(';');
    } else if (token === 'import') {
      next();
      if (!peek().startsWith('"')) next();
      imports.push(unquote(next()));
      expect(';');
    } else if (token === 'message') message(packageName);
    else if (token === 'enum') enumeration(packageName);
    else skipStatement();
  }
  return { package: packageName, imports, messages, enums };
}

const TOKEN =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[A-Za-z_][\w.]*|\.?\d[\w.+]*|\.[A-Za-z_][\w.]*|\S/g;

function tokenize(text: string): string[] {
  return (text.match(TOKEN) ?? [])
    .filter((token) => !token.startsWith('//') && !token.startsWith('/*'))
    .map((token) => (token.startsWith("'") ? JSON.stringify(token.slice(1, -1)) : token));
}

function unquote(token: string): string {
  return token
    .slice(1, -1)
    .replace(/\\(?:x([\da-fA-F]{2})|([0-7]{3})|(.))/g, (_, hex: string, octal: string, other: string) => {
      if (hex) return String.fromCharCode(Number.parseInt(hex, 16));
      if (octal) return String.fromCharCode(Number.parseInt(octal, 8));
      return ({ n: '\n', t: '\t', r: '\r' } as Record<string, string>)[other] ?? other;
    });
}
