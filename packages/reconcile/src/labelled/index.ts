export * from './definition.ts';
export { createLabelledChildren } from './labelled-children.ts';
