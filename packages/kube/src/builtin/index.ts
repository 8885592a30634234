// The built-in kinds: each name is a value (the Kind) and a type (its objects). The types that they are built from are here too.
export * from './gen/kinds.ts';
export { builtinResources } from './gen/resources.ts';
export type { BuiltinResource, BuiltinSubresource } from './resource.ts';
export { type BuiltinSchema, definitionOf, loadBuiltinSchemas, publishedSchema } from './schemas.ts';
