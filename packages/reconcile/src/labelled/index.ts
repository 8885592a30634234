export * from './definition.ts';
export { createLabelledChildren, type LabelledChildren, type LabelledChildrenOptions } from './labelled-children.ts';
