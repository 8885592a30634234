export * from './definition.ts';
export { createLabelledChildren } from './labelled-children.ts';
export { createStatusReport, type StatusReport, type StatusReportOptions } from './status-report.ts';
