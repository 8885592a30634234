export { CONVERT_HELP, convertCommand } from './command.ts';
export { type Conversion, type ConvertOptions, convertFiles, type SourceFile } from './convert.ts';
export { type ConversionFinding, findingLine, type RenderedChange } from './finding.ts';
export { type ConvertFiles, type ConvertIo, systemFiles } from './io.ts';
