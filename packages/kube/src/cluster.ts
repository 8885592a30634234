// The entry point for programs that only talk to clusters: objects and kinds by name, the client, informers. Schemas and the languages of
// their rules (CEL, regular expressions) are half of the code and are not exported here. A program that runs many times on a machine, or a
// command that must start fast, imports this file instead of the whole package.
export * from './builtin/index.ts';
export * from './child-name.ts';
export * from './client/index.ts';
export * from './clock.ts';
export * from './conditions.ts';
export * from './duration.ts';
export * from './errors/trailing.ts';
export * from './errors.ts';
export * from './informer/index.ts';
export * from './json/index.ts';
export * from './kind.ts';
export * from './logger.ts';
export * from './names.ts';
export * from './object.ts';
export * from './quantity.ts';
export * from './resource-version.ts';
export * from './selectors/field-selector.ts';
export * from './selectors/label-selector.ts';
export * from './timestamps.ts';
export * from './workload/index.ts';
export * from './x509/index.ts';
