// Our definitions refuse every value that those of Contour refuse: an object is as valid in either group.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { ExtensionService } from '../../src/kinds/extension-service.ts';
import { HTTPProxy } from '../../src/kinds/http-proxy.ts';
import { TLSCertificateDelegation } from '../../src/kinds/tls-certificate-delegation.ts';
import { contoursDefinitions, missingContour } from './contour.ts';

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly [keyword: string]: unknown;
}

/** Keywords that refuse a value. A default of theirs is applied when the object is read, and has a test of its own. */
const KEYWORDS =
  'type pattern enum minimum maximum minLength maxLength minItems maxItems required x-kubernetes-validations'.split(
    ' ',
  );

/** Constraints of Contour that ours do not have, each with the reason. */
const LOOSER: Readonly<Record<string, string>> = {
  'HTTPProxy.required': 'the server adds the metadata',
  'TLSCertificateDelegation.required': 'the server adds the metadata',
  'HTTPProxy.spec.virtualhost.required': 'fqdns may stand in place of fqdn',
  'HTTPProxy.spec.virtualhost.fqdn.pattern': '* is every other name',
  'HTTPProxy.spec.virtualhost.jwtProviders[].required': 'localJWKS may stand in place of remoteJWKS',
  'HTTPProxy.spec.routes[].retryPolicy.retryOn[].enum': 'an unknown condition is a warning',
  'ExtensionService.spec.protocol.enum': 'HTTP/1.1 is taken too',
};

/** Ours are stricter there, or have another spelling of the same expression. */
const SAME: Readonly<Record<string, readonly unknown[]>> = {
  pattern: ['^/.*$'],
  maximum: [65535],
};

function differences(theirs: Schema, ours: Schema | undefined, path: string): string[] {
  if (ours === undefined) return [`${path} is not a field of ours`];
  const found = KEYWORDS.flatMap((keyword) => {
    const [want, is] = [inOrder(theirs[keyword]), inOrder(ours[keyword])];
    const isSame = want === undefined || isDeepStrictEqual(want, is) || SAME[keyword]?.includes(is) === true;
    return isSame || `${path}.${keyword}` in LOOSER
      ? []
      : [`${path}.${keyword}: ${show(want)}, and ${show(is)} of ours`];
  });
  const fields = Object.entries(theirs.properties ?? {}).flatMap(([name, schema]) =>
    name === 'status' ? [] : differences(schema, ours.properties?.[name], `${path}.${name}`),
  );
  return [...found, ...fields, ...(theirs.items ? differences(theirs.items, ours.items, `${path}[]`) : [])];
}

const show = (value: unknown) => JSON.stringify(value) ?? 'none';

const inTextOrder = (left: string, right: string) => left.localeCompare(right);

function inOrder(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  return value
    .map((each: unknown) => JSON.stringify(typeof each === 'object' ? (each as { rule?: unknown }).rule : each))
    .toSorted(inTextOrder);
}

suite('the definitions of Contour', { skip: missingContour() }, () => {
  for (const kind of [HTTPProxy, TLSCertificateDelegation, ExtensionService])
    test(`refuse nothing of a ${kind.kind} that ours take, but for the listed values`, () => {
      const theirs = contoursDefinitions().find(({ spec }) => spec.names.kind === kind.kind);
      const schemas = [theirs, kind.crd()].map((each) => each?.spec.versions[0]?.schema?.openAPIV3Schema as Schema);
      const [contours, own] = schemas;
      assert.ok(contours, 'Contour has the kind');
      assert.deepEqual(differences(contours, own, kind.kind), []);
    });
});
