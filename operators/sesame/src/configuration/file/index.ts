export { decodeFile } from './decode.ts';
export { completed, type EffectiveFile, effectiveOfFile } from './effective-file.ts';
export { FILE_KEYS, KEY_OF_FIELD, KEYS_BELOW } from './file-keys.ts';
export { type FileProblem, fileProblemText } from './file-problem.ts';
export { type FileContent, type Place, readConfigurationFile } from './read-file.ts';
export { type FileForm, fileFormOf } from './write-file.ts';
