// The folders whose constants are checked, and the constants that are no limits of input, each with its reason.
import { KUBE, SERVER, XPKG } from './limit-table.ts';

/** Folders whose constants named MAX or LIMIT are in the table, or here with the reason. */
export const CHECKED_FOLDERS: readonly string[] = [
  ...['admission', 'body', 'crd', 'fairness', 'http', 'json', 'rest', 'store', 'streams', 'watch'].map(
    (folder) => `${SERVER}/${folder}`,
  ),
  ...['cel', 'client', 'json', 'protobuf', 'regexp', 'selectors'].map((folder) => `${KUBE}/${folder}`),
  ...['oci', 'xpkg', 'cosign'].map((folder) => `${XPKG}/${folder}`),
  'operators/sesame/src/xds',
  'operators/submariner/src/drivers',
  'operators/submariner/src/gateway/nat',
  'operators/gimbal/src/discover/openstack',
];

/** By file and name. */
export const OTHER_CONSTANTS: Readonly<Record<string, string>> = {
  [`${SERVER}/crd/custom-resource.ts MAX_INT32`]: 'a type of Go',
  [`${SERVER}/rest/options.ts MAX_UINT64`]: 'a type of Go',
  [`${SERVER}/fairness/large-steps.ts MAX_GAP_MS`]: 'a pause of our own work',
  [`${KUBE}/cel/check-rules.ts MAX_NUMBER`]: 'a type of Go',
  [`${KUBE}/cel/schema-type.ts MAX_NAME`]: 'what a name of Kubernetes may have',
  [`${KUBE}/cel/static-cost.ts MAX`]: 'a type of Go',
  [`${KUBE}/cel/syntax/parser.ts MAX_INT`]: 'a type of CEL',
  [`${KUBE}/cel/library/arithmetic.ts MAX_INT`]: 'a type of CEL',
  [`${KUBE}/cel/library/arithmetic.ts MAX_UINT`]: 'a type of CEL',
  [`${KUBE}/cel/library/arithmetic.ts MAX_TIMESTAMP`]: 'a type of CEL',
  [`${KUBE}/cel/library/quantities.ts MAX_INT`]: 'a type of CEL',
  [`${KUBE}/cel/library/strings.ts MAX_LENGTH`]: 'a text within one evaluation, whose cost is bounded',
  [`${KUBE}/cel/library/lists.ts MAX_RANGE`]: 'a list within one evaluation, whose cost is bounded',
  [`${KUBE}/cel/library/format-text.ts MAX_PRECISION`]: 'digits of a number',
  [`${KUBE}/client/config/file-source.ts MAX_AGE_MS`]: 'when a file is read again',
  [`${KUBE}/protobuf/wire-reader.ts MAX_FIELD`]: 'a type of protobuf',
  [`${KUBE}/protobuf/lent-writers.ts MAX_KEPT`]: 'buffers of our own',
  [`${KUBE}/regexp/charset.ts MAX_CODE_POINT`]: 'the last character',
  [`${XPKG}/xpkg/cache.ts MAX_HEADER`]: 'files of our own',
  [`${XPKG}/xpkg/archive/tar-writer.ts MAX_OCTAL`]: 'a field of tar',
  'operators/sesame/src/xds/refusals/isolation.ts MAX_KEPT': 'a memory of our own',
  'operators/sesame/src/xds/refusals/isolation.ts MAX_KNOWN': 'a memory of our own',
  'operators/sesame/src/xds/refusals/refused-resources.ts MAX_KNOWN': 'a memory of our own',
};
