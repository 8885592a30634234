export { askReport, askReportAfter, type ReportBody } from './ask-report.ts';
export { type Report, type ReportContext, type ReportDefinition, report, withReports } from './report.ts';
