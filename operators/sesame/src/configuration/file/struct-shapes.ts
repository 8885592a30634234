// Structs of the file whose keys are not those of the resource. Contour's Go structs for them have no names for YAML, so that its decoder
// takes the names of the Go fields in lower case (`ignorecase`), or have names of their own.

/** The type of a value in a struct. */
export type ShapeType = 'string' | 'boolean' | Shape | readonly [Shape];

/** Keys of the file, each with the field of the resource. */
export interface Shape {
  readonly [key: string]: {
    readonly field: string;
    readonly type: ShapeType;
    /** The value of a key that is not there, where the resource has another default. */
    readonly absent?: unknown;
  };
}

const text = (field: string) => ({ field, type: 'string' as const });
const flag = (field: string) => ({ field, type: 'boolean' as const });
const struct = (field: string, shape: Shape) => ({ field, type: shape });
const list = (field: string, shape: Shape) => ({ field, type: [shape] as const });

const allowedHeader: Shape = {
  exact: text('exact'),
  prefix: text('prefix'),
  suffix: text('suffix'),
  contains: text('contains'),
  ignorecase: flag('ignoreCase'),
};

export const HTTP_SETTINGS: Shape = {
  pathprefix: text('pathPrefix'),
  allowedauthorizationheaders: list('allowedAuthorizationHeaders', allowedHeader),
  allowedupstreamheaders: list('allowedUpstreamHeaders', allowedHeader),
};

const headerMatch: Shape = {
  name: text('name'),
  present: flag('present'),
  notpresent: flag('notpresent'),
  contains: text('contains'),
  notcontains: text('notcontains'),
  ignorecase: flag('ignoreCase'),
  exact: text('exact'),
  notexact: text('notexact'),
  regex: text('regex'),
  treatmissingasempty: flag('treatMissingAsEmpty'),
};

export const RATE_LIMIT_POLICY: Shape = {
  disabled: flag('disabled'),
  descriptors: list('descriptors', {
    entries: list('entries', {
      genericKey: struct('genericKey', { key: text('key'), value: text('value') }),
      requestHeader: struct('requestHeader', { headerName: text('headerName'), descriptorKey: text('descriptorKey') }),
      requestHeaderValueMatch: struct('requestHeaderValueMatch', {
        headers: list('headers', headerMatch),
        // The resource has the default true, which Go's decoder of the file does not know.
        expectMatch: { ...flag('expectMatch'), absent: false },
        value: text('value'),
      }),
      remoteAddress: struct('remoteAddress', {}),
    }),
  }),
};

export const CUSTOM_TAG: Shape = {
  tagName: text('tagName'),
  literal: text('literal'),
  requestHeaderName: text('requestHeaderName'),
};

/** From the resource's value back to the file's. */
export function toFileForm(value: unknown, type: ShapeType): unknown {
  if (isList(type)) return Array.isArray(value) ? value.map((item: unknown) => toFileForm(item, type[0])) : value;
  if (typeof type === 'string' || typeof value !== 'object' || value === null) return value;
  const given = value as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    Object.entries(type).flatMap(([key, { field, type: of, absent }]) => {
      const part = given[field] ?? (absent === undefined ? undefined : !absent);
      return part === undefined ? [] : [[key, toFileForm(part, of)]];
    }),
  );
}

export function isList(type: ShapeType): type is readonly [Shape] {
  return Array.isArray(type);
}
