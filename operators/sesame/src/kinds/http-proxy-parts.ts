// Parts of HTTPProxy that its virtual host, its routes and its services share.
import { array, boolean, integer, map, object, optional, schemaOf, string } from '@capstan/kube';
import * as pattern from './patterns.ts';

interface TextLimits {
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
}

export const text = (description?: string, limits: TextLimits = {}) =>
  string({ optional: true, ...limits, ...(description !== undefined && { description }) });
export const nonEmpty = (description?: string) => text(description, { minLength: 1 });
/** One of a few texts. The static type is a text: objects that were stored before may have others, and are reported. */
export const choice = (values: readonly string[], description?: string) =>
  optional(schemaOf<string>({ type: 'string', enum: [...values], ...(description !== undefined && { description }) }));
export const flag = (description?: string) =>
  boolean({ optional: true, ...(description !== undefined && { description }) });
/** A duration, or infinity. */
export const duration = () => text(undefined, { pattern: pattern.DURATION_OR_INFINITY });
export const count = (minimum = 0) => integer({ optional: true, format: 'int64', minimum });
export const texts = (description?: string) =>
  array(string(), { optional: true, ...(description !== undefined && { description }) });

export const headerPolicy = (description: string) =>
  object(
    {
      set: array(object({ name: string({ minLength: 1 }), value: string({ minLength: 1 }) }), { optional: true }),
      remove: texts(),
    },
    { optional: true, description },
  );

export const cookieRewrites = () =>
  array(
    object({
      name: string({ minLength: 1, maxLength: 4096, pattern: pattern.COOKIE_NAME }),
      pathRewrite: object(
        { value: string({ minLength: 1, maxLength: 4096, pattern: pattern.COOKIE_PATH }) },
        { optional: true },
      ),
      domainRewrite: object(
        { value: string({ minLength: 1, maxLength: 4096, pattern: pattern.HOST }) },
        { optional: true },
      ),
      secure: flag('Sets or removes the attribute Secure.'),
      sameSite: choice(['Strict', 'Lax', 'None']),
    }),
    { optional: true, description: 'Rewrites attributes of cookies in responses.' },
  );

export const upstreamValidation = () =>
  object(
    {
      caSecret: string({
        minLength: 1,
        maxLength: 317,
        description: 'Secret with ca.crt; NAMESPACE/NAME needs a delegation.',
      }),
      subjectName: string({ minLength: 1, maxLength: 250, description: 'Name that the certificate must have.' }),
      subjectNames: array(string(), { optional: true, minItems: 1, maxItems: 8 }),
    },
    {
      optional: true,
      description: 'Verifies the certificate of the service.',
      rules: [
        {
          rule: 'has(self.subjectNames) ? self.subjectNames[0] == self.subjectName : true',
          message: 'subjectNames[0] must be subjectName',
        },
      ],
    },
  );

const headerConditionFields = {
  name: string({ minLength: 1 }),
  present: flag(),
  notpresent: flag(),
  contains: text(),
  notcontains: text(),
  exact: text(),
  notexact: text(),
  regex: text(),
  ignoreCase: flag(),
  treatMissingAsEmpty: flag(),
};

export const headerCondition = () => object(headerConditionFields, { optional: true });

export const matchConditions = () =>
  array(
    object({
      prefix: text('The path begins with it.'),
      exact: text('The path is equal to it.'),
      regex: text('The whole path matches it (RE2).'),
      header: headerCondition(),
      queryParameter: object(
        {
          name: string({ minLength: 1 }),
          exact: text(),
          prefix: text(),
          suffix: text(),
          regex: text(),
          contains: text(),
          ignoreCase: flag(),
          present: flag(),
        },
        { optional: true },
      ),
    }),
    { optional: true, description: 'All must hold.' },
  );

const rateLimitEntry = object({
  genericKey: object({ key: text(), value: string({ minLength: 1 }) }, { optional: true }),
  requestHeader: object(
    { headerName: string({ minLength: 1 }), descriptorKey: string({ minLength: 1 }) },
    { optional: true },
  ),
  requestHeaderValueMatch: object(
    {
      headers: array(object(headerConditionFields), { optional: true, minItems: 1 }),
      expectMatch: boolean({ default: true }),
      value: string({ minLength: 1 }),
    },
    { optional: true },
  ),
  remoteAddress: object({}, { optional: true }),
});

export const rateLimitPolicy = () =>
  object(
    {
      local: object(
        {
          requests: integer({ minimum: 1, format: 'int32' }),
          unit: schemaOf<string>({ type: 'string', enum: ['second', 'minute', 'hour'] }),
          burst: count(),
          responseStatusCode: integer({ optional: true, minimum: 400, maximum: 599, format: 'int32' }),
          responseHeadersToAdd: array(object({ name: string({ minLength: 1 }), value: string({ minLength: 1 }) }), {
            optional: true,
          }),
        },
        { optional: true },
      ),
      global: object(
        {
          disabled: flag(),
          descriptors: array(object({ entries: array(rateLimitEntry, { minItems: 1 }) }), {
            optional: true,
            minItems: 1,
          }),
        },
        { optional: true },
      ),
    },
    { optional: true, description: 'Limits requests, in each Envoy (local) or by the rate limit service (global).' },
  );

export const authorizationPolicy = () =>
  object({ disabled: flag(), context: map(string(), { optional: true }) }, { optional: true });

export const ipFilter = (description: string) =>
  array(object({ source: schemaOf<string>({ type: 'string', enum: ['Peer', 'Remote'] }), cidr: string() }), {
    optional: true,
    description,
  });

export const loadBalancerPolicy = () =>
  object(
    {
      strategy: text('Random, RoundRobin, WeightedLeastRequest, Cookie or RequestHash.'),
      requestHashPolicies: array(
        object({
          terminal: flag(),
          headerHashOptions: object({ headerName: string({ minLength: 1 }) }, { optional: true }),
          queryParameterHashOptions: object({ parameterName: string({ minLength: 1 }) }, { optional: true }),
          hashSourceIP: flag(),
        }),
        { optional: true },
      ),
    },
    { optional: true, description: 'How an endpoint is chosen.' },
  );

export const slowStartPolicy = () =>
  object(
    {
      window: string({ pattern: pattern.DURATION, description: 'How long a new endpoint gets less than its share.' }),
      aggression: text('1.0 by default.', { pattern: pattern.DECIMAL }),
      minWeightPercent: integer({ optional: true, minimum: 0, maximum: 100, format: 'int32' }),
    },
    { optional: true },
  );

export const outlierDetection = () =>
  object(
    {
      disabled: flag('Switches off the detection of the SesameConfiguration.'),
      consecutiveServerErrors: integer({ optional: true, minimum: 1, format: 'int64', description: '5 by default.' }),
      splitExternalLocalOriginErrors: flag('Counts failed connections by themselves, not as server errors.'),
      consecutiveLocalOriginFailures: integer({
        optional: true,
        minimum: 1,
        format: 'int64',
        description: 'Failed connections in a row, where they are counted by themselves; 5 by default.',
      }),
      interval: text('10s by default.', { pattern: pattern.DURATION }),
      baseEjectionTime: text('How long an endpoint is left out the first time; 30s by default.', {
        pattern: pattern.DURATION,
      }),
      maxEjectionTime: text('How long an endpoint is left out at most; 300s by default.', {
        pattern: pattern.DURATION,
      }),
      maxEjectionPercent: integer({
        optional: true,
        minimum: 1,
        maximum: 100,
        format: 'int32',
        description: 'Endpoints that are left out at the same time; 50 by default.',
      }),
    },
    { optional: true, description: 'Leaves out endpoints for a while that answer with errors in a row.' },
  );

const service = object({
  name: string({ minLength: 1, description: 'A Service of the same namespace.' }),
  port: integer({ minimum: 1, maximum: 65_535, format: 'int32' }),
  healthPort: integer({ optional: true, minimum: 1, maximum: 65_535, format: 'int32' }),
  protocol: choice(['h2', 'h2c', 'tls']),
  weight: count(),
  validation: upstreamValidation(),
  mirror: flag('Gets a copy of requests; its answers are ignored.'),
  requestHeadersPolicy: headerPolicy('Headers of requests to this service.'),
  responseHeadersPolicy: headerPolicy('Headers of responses of this service.'),
  cookieRewritePolicies: cookieRewrites(),
  slowStartPolicy: slowStartPolicy(),
  outlierDetection: outlierDetection(),
});

export const services = () => array(service, { optional: true });

export const compressionPolicy = () =>
  object(
    { algorithm: schemaOf<string>({ type: 'string', enum: ['gzip', 'brotli', 'zstd', 'disabled'] }) },
    { optional: true, description: 'Compression of answers, in the place of that of the SesameConfiguration.' },
  );

export const timeoutPolicy = () =>
  object(
    { response: duration(), idle: duration(), idleConnection: duration() },
    { optional: true, description: 'Durations, or infinity.' },
  );
