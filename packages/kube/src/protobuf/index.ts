// The wire format of protobuf, which all codecs of the workspace are built on: Kubernetes' own messages, Envoy's, and those of NAT discovery.
export { writeJson, writeJsonList, writeStruct } from './json-values.ts';
export { withWriter, withWritten } from './lent-writers.ts';
export { WireError, WireReader } from './wire-reader.ts';
export { WireWriter } from './wire-writer.ts';
