// The built-in kinds and the types of their parts. Each name of a kind is a value (the Kind) and a type (its objects).
export * from './gen/kinds.ts';
export { builtinResources } from './gen/resources.ts';
export type { BuiltinResource, BuiltinSubresource } from './resource.ts';
export { type BuiltinSchema, definitionOf, loadBuiltinSchemas, publishedSchema } from './schemas.ts';
